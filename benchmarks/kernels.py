"""How fast the kernels are, as ratios to a plain PyTorch loop: `python benchmarks/kernels.py`.

One process, one core, all contestants in turn, several rounds; medians and ratios go to a JSON file together with the
machine and the versions. PyTorch is needed: pip install '.[benchmark]'.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

CORE = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})  # before any library starts its threads

import torch  # noqa: E402
import torch_loop  # noqa: E402

import ssi_kernels as ssi  # noqa: E402
from ssi_kernels.provenance import provenance  # noqa: E402

YARDSTICK = "PyTorch loop, attention, d = 1000"


def contestants() -> dict[str, tuple[Callable[[], object], int]]:
    """Name -> (what to run, its number of lane-steps)."""
    pair = ssi.encodings.opposite_pair()
    attention = ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), pair)
    scalar = ssi.targets.expression("sum(He2(z))/sqrt(2)")
    tied, untied = (ssi.Model(scalar, student) for student in (ssi.students.tied("relu"), ssi.students.untied("relu")))
    trace = ssi.Model(scalar, ssi.students.attention("trace"))
    return {
        YARDSTICK: (lambda: torch_loop.run(2000), 2000),
        **{f"reduced, attention L = 2, d = {d:.0e}": _ours(attention, d, 2, 64, 50_000) for d in (1e2, 1e3, 1e6)},
        "reduced, attention L = 2, d = 1e+03, 16 lanes": _ours(attention, 1000, 2, 16, 50_000),
        "reduced, attention trace L = 8, d = 1e+03": _ours(trace, 1000, 8, 64, 10_000),
        "reduced, tied ReLU L = 8, d = 1e+03": _ours(tied, 1000, 8, 64, 20_000),
        "reduced, untied ReLU L = 8, joint, d = 1e+03": _ours(untied, 1000, 8, 64, 20_000),
        "full, attention L = 2, d = 1e+03": _ours(attention, 1000, 2, 16, 1000, kernel="full"),
    }


def _ours(model, d: float, length: int, replicas: int, steps: int, kernel: str = "reduced"):
    options = dict(d=int(d), length=length, learning_rate=0.3, steps=steps, replicas=replicas, kernel=kernel)
    return lambda: ssi.simulate(model, **options), replicas * steps


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


def report(speeds: dict[str, list[float]]) -> dict:
    """Medians, extremes and ratios to the yardstick, with machine and versions."""
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    return {
        "unit": "lane-steps per second on one core",
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {**provenance(), "torch": torch.__version__},
        "date": time.strftime("%Y-%m-%d"),
        "results": {
            name: {
                "median": round(medians[name]),
                "min": round(min(values)),
                "max": round(max(values)),
                "rounds": len(values),
                "ratio_to_pytorch": round(medians[name] / medians[YARDSTICK], 1),
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
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("kernels.json"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result = report(measure(arguments.rounds))
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, row in result["results"].items():
        print(f"{name:48s} {row['median']:>12,}  {row['ratio_to_pytorch']:>10,.1f} x")


if __name__ == "__main__":
    main()
