"""The GPU benchmark, as far as it goes without a GPU: a quick run with the kernel interpreted, and a refusal."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


def run(*arguments):
    """What the command says on a machine whose only device is the CPU."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, env=environment)


def test_a_quick_run_compares_and_measures(tmp_path):
    done = run("--quick", "--out", str(tmp_path / "gpu.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert report["versions"]["device"].startswith("cpu")
    for row in report["checks"].values():
        assert row["largest_difference"] < 1e-5 and row["p_value"] > 1e-4
    assert len(report["results"]) == 3
    assert all(row["median"] > 0 for row in report["results"].values())


def test_without_a_gpu_it_says_so_in_one_line():
    done = run()
    assert done.returncode == 2
    assert (done.stdout + done.stderr).count("\n") == 1 and "no GPU" in done.stdout + done.stderr


def test_the_reference_is_small():
    assert SCRIPT.with_name("gpu_reference.npz").stat().st_size < 200_000
