"""How fast the kernels are, as ratios to a plain PyTorch loop: `python benchmarks/kernels.py`.

One process on one core, all contestants in turn, several rounds; then the pipeline, `snakemake --cores 2`, as a process
of its own with the PyTorch loop before and after it. Medians and ratios go to benchmarks/kernels.json together with
the machine and the versions, and docs/performance.md is written from it. PyTorch is needed: pip install '.[benchmark]'.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

ALL_CORES = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(ALL_CORES)})  # before any library starts its threads

import limits  # noqa: E402
import performance  # noqa: E402
import pipeline  # noqa: E402
import torch  # noqa: E402
import torch_loop  # noqa: E402
from own_model import MODEL as OWN  # noqa: E402

import ssi_kernels as ssi  # noqa: E402
from ssi_kernels.provenance import provenance  # noqa: E402

YARDSTICK = "PyTorch loop, attention L = 2, d = 1000"
PAIR = ssi.encodings.opposite_pair()
ATTENTION = ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), PAIR)
SQUARES = ssi.targets.expression("sum(He2(z))/sqrt(2)")


def squares(student) -> ssi.Model:
    """The target sum_i He2(z_i) / sqrt(2) with a student."""
    return ssi.Model(SQUARES, student)


def contestants() -> dict[str, tuple[Callable[[], object], int]]:
    """Name -> (what to run, its number of lane-steps)."""
    tied, untied = squares(ssi.students.tied("relu")), squares(ssi.students.untied("relu"))
    return {
        YARDSTICK: (lambda: torch_loop.run(2000), 2000),
        "reduced, attention L = 2": _ours(ATTENTION, 1000, 2, 64, 200_000),
        "reduced, attention L = 2, 16 lanes": _ours(ATTENTION, 1000, 2, 16, 200_000),
        "reduced, tied ReLU L = 8": _ours(tied, 1000, 8, 64, 100_000),
        "reduced, untied ReLU L = 8, joint norm": _ours(untied, 1000, 8, 64, 100_000),
        "reduced, attention trace L = 8": _ours(squares(ssi.students.attention("trace")), 1000, 8, 64, 30_000),
        "full, one noise vector, attention L = 2": _ours(ATTENTION, 1000, 2, 16, 3000, "one-noise"),
        "full, attention L = 2": _ours(ATTENTION, 1000, 2, 16, 2000, "full"),
        **{f"d = {d:.0e}": _ours(ATTENTION, d, 2, 64, 200_000) for d in (1e2, 1e4, 1e6, 1e8)},
        **{f"tied ReLU L = {n}": _ours(tied, 1000, n, 64, 50_000) for n in (1, 2, 4, 16, 32, 64)},
        **{
            f"attention trace L = {n}": _ours(squares(ssi.students.attention("trace")), 1000, n, 16, 2000)
            for n in (16, 32, 64)
        },
        "float64, attention L = 2": _ours(ATTENTION, 1000, 2, 64, 50_000, dtype="float64"),
        "own model of docs/extending.md": _ours(OWN, 1000, 2, 64, 200_000),
    }


def _ours(model, d: float, length: int, replicas: int, steps: int, kernel: str = "reduced", dtype: str = "float32"):
    options = dict(d=int(d), length=length, learning_rate=0.3, steps=steps, replicas=replicas, kernel=kernel)
    return lambda: ssi.simulate(model, **options, dtype=dtype), replicas * steps


def measure(rounds: int) -> dict[str, list[float]]:
    """Lane-steps per second of every contestant in every round; one round before the first compiles."""
    works = contestants()
    speeds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, (work, lane_steps) in works.items():
            began = time.perf_counter()
            work()
            if turn:
                speeds[name].append(lane_steps / (time.perf_counter() - began))
    return speeds


def memory() -> dict[str, float]:
    """Peak resident megabytes after a run of 10^5 steps, and after one of 10^7 with as many recordings."""
    found = {}
    for steps in (10**5, 10**7):
        ssi.simulate(
            ATTENTION, d=1000, length=2, learning_rate=0.3, steps=steps, replicas=16, record={"every": steps // 10}
        )
        found[f"{steps:.0e} steps"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return found


def report(speeds: dict[str, list[float]]) -> dict:
    """Medians, extremes and ratios to the yardstick, with machine and versions."""
    yardstick = statistics.median(speeds[YARDSTICK])
    return {
        "unit": "lane-steps per second on one core",
        "yardstick": YARDSTICK,
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {**provenance(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
        "results": {
            name: {
                "median": round(statistics.median(values)),
                "min": round(min(values)),
                "max": round(max(values)),
                "rounds": len(values),
                "ratio_to_pytorch": round(statistics.median(values) / yardstick, 1),
            }
            for name, values in speeds.items()
        },
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-pipeline", action="store_true", help="leave the pipeline's two minutes out")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("kernels.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    extra = {"peak_memory_megabytes": memory(), "limits": limits.measure(ATTENTION, arguments.rounds)}
    if not arguments.no_pipeline:
        extra["pipeline"] = pipeline.measure(lambda: torch_loop.run(2000), 2000, ALL_CORES)
    result = report(measure(arguments.rounds)) | extra
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, row in result["results"].items():
        print(f"{name:48s} {row['median']:>12,}  {row['ratio_to_pytorch']:>10,.1f} x")
    print(json.dumps({key: result[key] for key in ("limits", "pipeline") if key in result}, indent=1))
    if arguments.out == performance.KERNELS:
        performance.write()


if __name__ == "__main__":
    main()
