"""The page: self-contained, escaped, complete."""

import re
from html.parser import HTMLParser

import pytest

from ssi_kernels.reduce import figure_names
from ssi_kernels.report import write_report
from ssi_kernels.report.html import provenance_rows

from .conftest import ODD_NAME, SWEEPS

VOID = {"meta", "img"}


class Page(HTMLParser):
    """Collects what a page refers to, its identifiers and its text, and checks that its elements nest."""

    def __init__(self, text):
        super().__init__()
        self.references, self.ids, self.text, self._open = [], [], "", []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.references += [found[key] for key in ("src", "href", "srcset", "data") if key in found]
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def report(drawn, tmp_path):
    def make(name):
        sweep, _ = drawn(name)
        folders = sweep.folder / "tables", sweep.folder / "figures"
        return write_report(name, sweep.recovery, *folders, sweep.analyses, tmp_path / "report.html").read_text()

    return make


@pytest.mark.parametrize("name", SWEEPS)
def test_it_makes_no_request_and_has_every_part(report, name):
    text = report(name)
    page = Page(text)
    assert all(reference.startswith("data:image/") for reference in page.references)
    assert "url(" not in text and "@import" not in text and "<script" not in text
    assert page.ids == [i for i in page.ids if i.startswith("figure-")]
    assert set(page.ids) == {f"figure-{figure}" for figure in figure_names(SWEEPS[name][2])}
    for part in (f"Sweep {name}", "Tables", "Configuration", "Provenance", "ssi-kernels", "XLA flags", "commit"):
        assert part in page.text
    assert len(text) < 3_000_000
    assert 'name="viewport"' in text and "prefers-color-scheme: dark" in text
    assert not re.search(r"\b(nan|NaN|None)\b", page.text)


def test_names_are_escaped(report):
    text = report("odd names")
    assert ODD_NAME not in text
    assert ODD_NAME in Page(text).text


def test_the_results_come_before_the_figures(report):
    text = report("everything")
    assert text.index("half of the decided runs") < text.index("<figure") < text.index("<table")


def test_figures_come_from_the_drawn_files(drawn, report):
    _, files = drawn("one point")
    assert report("one point").count("data:image/svg+xml;base64,") == len(files)


def test_an_unwritable_place_is_named(drawn, tmp_path):
    from ssi_kernels.errors import StoreError

    sweep, _ = drawn("one point")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        folders = sweep.folder / "tables", sweep.folder / "figures"
        write_report("x", sweep.recovery, *folders, sweep.analyses, tmp_path / "file" / "report.html")


def test_when_the_runs_were_made():
    told = dict(provenance_rows({"finished_at": "2026-01-01T10:00:00Z", "kernel_seconds": "12.5"}))
    assert told["runs finished at (UTC)"] == "2026-01-01T10:00:00Z"
    assert told["time in the kernels, all workers (s)"] == "12.5"
