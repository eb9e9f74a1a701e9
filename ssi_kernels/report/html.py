"""What all pages share: one HTML file with figures, tables, configuration and provenance inside."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import pandas as pd
import yaml

from ssi_kernels.report.labels import number
from ssi_kernels.store.atomic import write_bytes

MOST_ROWS = 60
LARGEST_SVG = 300_000
_TITLES = {
    "package_version": "ssi-kernels",
    "device": "device",
    "xla_flags": "XLA flags",
    "commit": "commit",
    "python": "Python",
    "finished_at": "runs finished at (UTC)",
    "kernel_seconds": "time in the kernels, all workers (s)",
}


@dataclass(frozen=True)
class Figure:
    """A figure inside the page; `source` is a data URI."""

    name: str
    title: str
    caption: str
    source: str


@dataclass(frozen=True)
class Table:
    """The first rows of a table as text, and how many rows it has."""

    name: str
    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]
    is_text: list[bool]
    length: int


@dataclass(frozen=True)
class Page:
    """What is particular to a page; sentences may be HTML that is safe."""

    name: str
    title: str
    description: str
    headlines: Sequence[str]
    warnings: Sequence[str]
    figures: list[Figure]
    subset: str
    tables: list[Table]
    tables_note: str
    configuration: Mapping
    attributes: Mapping[str, object]


def write_page(page: Page, out: str | Path) -> Path:
    """Writes a page to `out`, whole or not at all, and returns its path."""
    text = _template().render(
        name=page.name,
        title=page.title,
        description=page.description,
        headlines=page.headlines,
        warnings=page.warnings,
        figures=page.figures,
        subset=page.subset,
        tables=page.tables,
        tables_note=page.tables_note,
        configuration=yaml.safe_dump(page.configuration, sort_keys=False, allow_unicode=True),
        provenance=provenance_rows(page.attributes),
    )
    write_bytes(Path(out), text.encode())
    return Path(out)


def figures_of(folder: Path, captions: Mapping[str, tuple[str, str]], names: Iterable[str]) -> list[Figure]:
    """The drawn figures among `names`, in the order of the captions."""
    names = set(names)
    return [Figure(name, *text, _data_uri(folder / name)) for name, text in captions.items() if name in names]


def tables_of(tables: Mapping[str, pd.DataFrame], notes: Mapping[str, tuple[str, str]]) -> list[Table]:
    """The tables in the order of their notes."""
    return [_table(name, *text, tables[name]) for name, text in notes.items() if name in tables]


def provenance_rows(attributes: Mapping[str, object]) -> list[tuple[str, str]]:
    """Names and values of the dataset's attributes; those known come first, under their title."""
    known = [(title, str(attributes[key]) or "none") for key, title in _TITLES.items() if key in attributes]
    others = [(key, str(value) or "none") for key, value in sorted(attributes.items()) if key not in _TITLES]
    return known + others


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssi_kernels.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.j2")


def _data_uri(stem: Path) -> str:
    """The figure as SVG, or as PNG where the SVG is large."""
    svg = stem.with_name(f"{stem.name}.svg")
    small = svg.stat().st_size <= LARGEST_SVG
    path, kind = (svg, "svg+xml") if small else (stem.with_name(f"{stem.name}.png"), "png")
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _table(name: str, title: str, note: str, table: pd.DataFrame) -> Table:
    shown = table.head(MOST_ROWS)
    rows = [[_cell(value) for value in row] for row in shown.itertuples(index=False)]
    is_text = [not pd.api.types.is_numeric_dtype(table[column]) for column in table.columns]
    return Table(name, title, note, list(table.columns), rows, is_text, len(table))


def _cell(value: object) -> str:
    return value if isinstance(value, str) else number(value)
