"""The pipeline on all cores: `snakemake` on a sweep of ten billion lane-steps, from its start to its last report."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OMEGAS, REPLICAS, STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 256, 5_000_000
CONFIG = f"""
sweeps:
  pipeline:
    model: {{target: {{family: positional-semantic}}, student: {{kind: attention}}, encoding: opposite-pair}}
    grid: {{d: 1000, length: 2, omega: {list(OMEGAS)}, a: 1.0}}
    sgd: {{learning_rate: 0.3, steps: {STEPS}, start: {{m: 0.0, e: 0.0}}, replicas: {REPLICAS}}}
"""


def measure(yardstick: Callable[[], object], steps: int, cores: set[int]) -> dict:
    """Wall time of the whole command, and its ratio to the PyTorch loop timed before and after on one core."""
    before = [_speed(yardstick, steps) for _ in range(3)]
    seconds = _run(cores)
    speeds = before + [_speed(yardstick, steps) for _ in range(3)]
    lane_steps = len(OMEGAS) * REPLICAS * STEPS
    return {
        "cores": len(cores),
        "points": len(OMEGAS),
        "replicas": REPLICAS,
        "lane_steps": lane_steps,
        "seconds": round(seconds, 1),
        "lane_steps_per_second": round(lane_steps / seconds),
        "pytorch_steps_per_second": round(statistics.median(speeds)),
        "ratio_to_pytorch": round(lane_steps / seconds / statistics.median(speeds), 1),
    }


def _speed(work: Callable[[], object], steps: int) -> float:
    began = time.perf_counter()
    work()
    return steps / (time.perf_counter() - began)


def _run(cores: set[int]) -> float:
    """Seconds of one `snakemake` from a bare results folder, free to use all `cores`."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(CONFIG)
        command = [sys.executable, "-m", "snakemake", "--cores", str(len(cores)), "--directory", folder]
        clean = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
        command += ["--configfile", str(config), "--snakefile", str(ROOT / "Snakefile"), "--quiet"]
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)  # children inherit it
        try:
            began = time.perf_counter()
            subprocess.run(command, check=True, env=clean | {"PATH": path})
            return time.perf_counter() - began
        finally:
            os.sched_setaffinity(0, before)
