"""The benchmark of scale: a quick run has everything, what was measured keeps the limits, and docs/scale.md has it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "scale.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_scale", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(benchmark):
    return json.loads(benchmark.DATA.read_text())


@pytest.mark.slow
@pytest.mark.ray
def test_a_quick_run_measures_everything(stored, tmp_path):
    out = tmp_path / "scale.json"
    done = subprocess.run([sys.executable, SCRIPT, "--quick", "--out", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (quick,) = json.loads(out.read_text())["runs"]
    assert quick.keys() == stored["runs"][0].keys() and quick["points"] == 64


def test_what_was_measured_is_a_map_of_40_000_points_in_few_files(stored):
    """Without times: those depend on the machine."""
    largest = stored["runs"][-1]
    assert largest["points"] == 40_000
    assert largest["files"] <= 2_000
    assert max(stage["gigabytes"] for stage in largest["stages"].values()) < 4


def test_the_page_is_up_to_date(benchmark, stored):
    text = benchmark.PAGE.read_text(encoding="utf-8")
    assert benchmark.page(text, stored) == text, "run `python benchmarks/scale.py --page`"


def test_a_page_without_its_markers_is_refused(benchmark, stored):
    with pytest.raises(ValueError, match="markers of stages"):
        benchmark.page("", stored)
