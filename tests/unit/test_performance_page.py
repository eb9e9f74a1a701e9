"""docs/performance.md is what the stored measurements make, and the measurements are what was asked for."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def performance():
    spec = importlib.util.spec_from_file_location("performance", ROOT / "benchmarks" / "performance.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(performance):
    gpu = json.loads(performance.GPU.read_text()) if performance.GPU.exists() else None
    page = performance.page(json.loads(performance.KERNELS.read_text()), gpu)
    assert performance.PAGE.read_text() == page, "run `python benchmarks/performance.py`"


def test_what_was_measured_is_what_was_asked_for(performance):
    data = json.loads(performance.KERNELS.read_text())
    for name, target in performance.TARGETS.items():
        assert data["results"][name]["ratio_to_pytorch"] >= target, name
    assert data["pipeline"]["ratio_to_pytorch"] >= 25_000
    by_d = [row["median"] for name, row in data["results"].items() if name.startswith("d = ")]
    assert max(by_d) / min(by_d) < 1.1


def test_a_page_with_gpu_numbers(performance):
    speeds = [{"program": "pallas", "lanes": 128, "median": 10**9}, {"program": "xla", "lanes": 128, "error": "no"}]
    about = {"model": "m", "versions": {"device": "gpu"}, "date": "d", "correctness": {"a": {"right": True}}}
    gpu = about | {"speeds": speeds}
    assert "| pallas | 128 | 1,000,000,000 |" in performance._gpu(gpu)
