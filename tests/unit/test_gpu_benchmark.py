"""The GPU benchmark, as far as it goes without a GPU: a quick run with the kernel interpreted, and a refusal."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ssi_kernels.kernels.program import NEVER

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


def run(*arguments):
    """What the command says on a machine whose only device is the CPU."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_gpu", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.slow
def test_a_quick_run_compares_and_measures(tmp_path):
    done = run("--quick", "--out", str(tmp_path / "gpu.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert report["interpreted"] and report["versions"]["device"].startswith("cpu")
    assert all(row["right"] for row in report["correctness"].values())
    assert [row["program"] for row in report["speeds"]] == ["pallas", "xla", "xla full"]
    assert all(row["median"] > 0 and row["lanes"] % 128 == 0 for row in report["speeds"])


def test_without_a_gpu_it_says_so_in_one_line():
    done = run()
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.count("\n") == 1 and "no GPU" in done.stderr


def test_wrong_numbers_are_noticed(benchmark):
    def faster(shape):
        right = benchmark.pallas.program(shape, benchmark.pallas.BLOCK, True)
        return lambda data, *rest: right(data | {"inverse_h": data["inverse_h"] / 2}, *rest)

    name = "untied joint"
    row = benchmark.compare(faster, {name: benchmark.cases()[name]}, 256)[name]
    assert not row["right"] and not row["bitwise"] and row["lanes_close"] < 0.5 and row["ks_p"] < 1e-10


def test_the_reference_covers_every_case_and_stops(benchmark):
    assert benchmark.REFERENCE.stat().st_size < 200_000
    with np.load(benchmark.REFERENCE) as stored:
        for name in benchmark.cases():
            assert stored[f"{name}/overlaps"].shape[::2] == (len(benchmark.STRETCHES), benchmark.COMPARED)
            assert stored[f"{name}/law"].shape[-1] == benchmark.SAMPLED
        stopped = (stored["attention, decided/stop"] != NEVER).any(axis=0)
    assert 0.1 < stopped.mean() < 0.9


def test_rows_that_fail_or_come_too_late_leave_the_others(benchmark):
    def fails(shape):
        raise MemoryError("RESOURCE_EXHAUSTED: out of memory\nand a long trace")

    assert "right" not in benchmark.compare(fails, {"tied": benchmark.cases()["tied"]}, 256)["tied"]
    row = benchmark._row("pallas", fails, "reduced", 128, benchmark.QUICK, float("inf"))
    assert row["error"] == "MemoryError: RESOURCE_EXHAUSTED: out of memory"
    assert benchmark._row("pallas", fails, "reduced", 128, benchmark.QUICK, 0.0)["error"] == "out of time"
