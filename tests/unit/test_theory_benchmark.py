"""The benchmark of theory: a quick run has everything, boundaries are converged, and docs/theory.md has its numbers."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "theory.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_theory", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(benchmark):
    return json.loads(benchmark.DATA.read_text())


@pytest.mark.slow
def test_a_quick_run_measures_everything(benchmark, stored, tmp_path):
    out = tmp_path / "theory.json"
    done = subprocess.run([sys.executable, SCRIPT, "--quick", "--out", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    quick = json.loads(out.read_text())
    assert quick.keys() == stored.keys()
    assert quick["product_rule"].keys() == stored["product_rule"].keys()
    assert quick["diagrams"]["paper"].keys() == stored["diagrams"]["paper"].keys()
    assert converged(quick["boundaries"])
    for part in ("risk", "flow", "sie"):
        assert quick[part].keys() <= stored[part].keys() and quick[part]
    for measured, known in zip(quick["verdicts"], stored["verdicts"], strict=True):
        assert measured | {"reason": ""} == known | {"reason": ""}


def converged(found):
    """Whether no change of a resolution moves a boundary by 1e-8, while a coarse table does."""
    changes = [row["change"] for row in found["changes"]]
    return changes and max(changes) < 1e-8 < found["coarse"]["change"]


def test_what_was_measured_is_what_is_claimed(benchmark, stored):
    """Without times: those depend on the machine."""
    found = stored["boundaries"]
    assert converged(found) and [row["changed"] for row in found["changes"]] == list(benchmark.RESOLUTIONS)
    assert found["found"] == pytest.approx(benchmark.lines(), abs=1e-10)
    assert [round(row["gain"], 2) for row in stored["gains"]] == [1.86, 3.54, 7.02]
    assert 1e-6 < stored["product_rule"]["errors"]["median"] < stored["product_rule"]["errors"]["max"] < 1e-3
    assert {row["verdict"] for row in stored["verdicts"]} == {"learns", "blind", "shrinks"}


def test_a_resolution_is_changed_and_set_back(benchmark):
    before = benchmark.lines()
    with benchmark.resolution(**benchmark.COARSE):
        assert benchmark.lines() != before
    assert benchmark.lines() == before


def test_the_page_is_up_to_date(benchmark, stored):
    text = benchmark.PAGE.read_text(encoding="utf-8")
    assert benchmark.page(text, stored) == text, "run `python benchmarks/theory.py --page`"


def test_a_page_without_its_markers_is_refused(benchmark, stored):
    with pytest.raises(ValueError, match="markers of errors"):
        benchmark.page("", stored)


@pytest.mark.parametrize(
    ("seconds", "words"), [(2e-5, "20 µs"), (0.0123, "12 ms"), (5.0, "5 s"), (90.0, "1.5 min"), (2e5, "2.3 days")]
)
def test_durations(benchmark, seconds, words):
    assert benchmark.duration(seconds) == words
