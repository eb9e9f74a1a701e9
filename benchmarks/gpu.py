"""The GPU kernel on a GPU: right numbers first, then speed: `python benchmarks/gpu.py` (under 5 minutes).

Trajectories of the CPU are stored beside this file (`--make-reference`, on a CPU). For every model: equal to the bit,
or by how much not, and a Kolmogorov-Smirnov test of the overlaps of 4,096 other lanes. Then lane-steps per second at
10^2 to 10^6 lanes, of the XLA program and of `full` for comparison. Everything goes to benchmarks/gpu.json.
`--quick` does a little of all of it, in Pallas' interpreter where there is no GPU: a test of this script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import jax
import numpy as np
from scipy.stats import ks_2samp

import ssi_kernels as ssi
from ssi_kernels.kernels import pallas
from ssi_kernels.kernels.assemble import fresh_lanes
from ssi_kernels.kernels.lanes import _intervals
from ssi_kernels.kernels.program import program
from ssi_kernels.kernels.shape import shape_of
from ssi_kernels.provenance import provenance

REFERENCE = Path(__file__).with_name("gpu_reference.npz")
STREAM = "5eed" * 16
LEVEL = 1e-4
LANES, MANY = 32, 4096
PIECES = [(0, 0, True), (0, 20, True), (20, 80, True), (100, 300, True)]
PAIR = ssi.encodings.opposite_pair()
SQUARES = ssi.targets.expression("sum(He2(z))/sqrt(2)")
MODELS = {
    "attention, opposite pair": (
        ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), PAIR),
        2,
    ),
    "attention trace": (ssi.Model(SQUARES, ssi.students.attention("trace")), 4),
    "tied ReLU": (ssi.Model(SQUARES, ssi.students.tied("relu")), 8),
    "untied ReLU, joint": (ssi.Model(SQUARES, ssi.students.untied("relu")), 8),
    "untied ReLU, row": (ssi.Model(SQUARES, ssi.students.untied("relu", norm="row")), 3),
}


def prepared(model, length: int, lanes: int, *, kernel: str = "reduced", d: int = 1000, first: int = 0):
    """Shape, and the arguments of a program but its intervals, for replicas first..first+lanes-1."""
    shape = shape_of(model, d=d, length=length, kernel=kernel, dtype="float32", thresholds=1, stop="horizon")
    batch = fresh_lanes(
        shape, model, ssi.starts.random(), d=d, learning_rate=0.3, thresholds=(0.5,), decided=0.7, stream_id=STREAM,
        replicas=(first, first + lanes),
    )  # fmt: skip
    return shape, (batch.data, batch.keys, batch.state, np.ones(lanes, bool))


def numbers(run, arguments, pieces=PIECES) -> np.ndarray:
    """Scalar overlaps m at the recorded steps, (S, W)."""
    _, _, records = run(*arguments, _intervals(pieces))
    return np.asarray(records["m"])[: len(pieces)]


def make_reference() -> None:
    """Stores the CPU program's trajectories, and its overlaps after the last piece for many lanes."""
    stored = {}
    for name, (model, length) in MODELS.items():
        shape, arguments = prepared(model, length, LANES)
        stored[f"{name}/m"] = numbers(program(shape), arguments)
        shape, arguments = prepared(model, length, MANY, first=10_000)
        stored[f"{name}/law"] = numbers(program(shape), arguments)[-1]
    np.savez_compressed(REFERENCE, **stored)


def check(quick: bool, interpret: bool) -> dict:
    """Per model: bitwise equality, the largest difference, and the p-value of other lanes' overlaps."""
    stored, found = np.load(REFERENCE), {}
    block = 16 if interpret else pallas.BLOCK
    for name in list(MODELS)[: 1 if quick else None]:
        model, length = MODELS[name]
        shape, arguments = prepared(model, length, max(LANES, block))
        ours = numbers(pallas.program(shape, block, interpret), arguments)[:, :LANES]
        theirs = stored[f"{name}/m"]
        shape, arguments = prepared(model, length, 256 if quick else MANY, first=20_000)
        law = numbers(pallas.program(shape, block, interpret), arguments)[-1]
        found[name] = {
            "bitwise": bool(np.array_equal(ours, theirs)),
            "largest_difference": float(np.max(np.abs(ours - theirs))),
            "p_value": float(ks_2samp(law, stored[f"{name}/law"]).pvalue),
        }
    return found


def speed(run, arguments, lanes: int, steps: int, rounds: int) -> float:
    """Median lane-steps per second; the first call compiles."""
    jax.block_until_ready(run(*arguments, _intervals([(0, 1, True)])))
    seconds = []
    for turn in range(rounds):
        began = time.perf_counter()
        jax.block_until_ready(run(*arguments, _intervals([(turn * steps, steps, True)])))
        seconds.append(time.perf_counter() - began)
    return lanes * steps / statistics.median(seconds)


def timed(run, arguments, lanes: int, quick: bool) -> dict:
    """Speed at a number of steps that takes about two seconds."""
    steps, rounds = (8, 1) if quick else (1000, 3)
    if not quick:
        steps = max(100, min(2**28, int(2.0 * speed(run, arguments, lanes, steps, 1) / lanes)))
    return {"median": round(speed(run, arguments, lanes, steps, rounds)), "lanes": lanes, "steps": steps}


def measure(quick: bool, interpret: bool) -> dict:
    """Lane-steps per second of every contestant."""
    model, length = MODELS["attention, opposite pair"]
    block, found = (16 if interpret else pallas.BLOCK), {}
    for exponent in (2,) if quick else (2, 3, 4, 5, 6):
        lanes = -(-(10**exponent) // block) * block
        shape, arguments = prepared(model, length, lanes)
        arguments = jax.device_put(arguments)
        found[f"reduced, 10^{exponent} lanes"] = timed(pallas.program(shape, block, interpret), arguments, lanes, quick)
    for kernel, lanes in (("reduced", 128), ("full", 128)) if quick else (("reduced", 10**5), ("full", 10**4)):
        shape, arguments = prepared(model, length, lanes, kernel=kernel, d=10 if quick else 1000)
        found[f"{kernel}, XLA program, {lanes} lanes"] = timed(program(shape), jax.device_put(arguments), lanes, quick)
    return found


def verdict(checks: dict) -> str:
    """One sentence on the correctness checks."""
    wrong = [name for name, row in checks.items() if row["p_value"] < LEVEL / len(checks)]
    same = sum(row["bitwise"] for row in checks.values())
    worst = max(row["largest_difference"] for row in checks.values())
    law = f"another law for {', '.join(wrong)}" if wrong else "the same law for all"
    return f"{same} of {len(checks)} models equal the CPU to the bit, the largest difference is {worst:.1e}; {law}."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--make-reference", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("gpu.json"))
    arguments = parser.parse_args()
    if arguments.make_reference:
        make_reference()
        return 0
    on_gpu = jax.default_backend() == "gpu"
    if not on_gpu and not arguments.quick:
        print("benchmarks/gpu.py: JAX sees no GPU here: install jax[cuda12] on a machine with one, or use --quick")
        return 2
    checks = check(arguments.quick, not on_gpu)
    result = {
        "device": jax.devices()[0].device_kind,
        "versions": provenance(),
        "date": time.strftime("%Y-%m-%d"),
        "checks": checks,
        "verdict": verdict(checks),
        "results": measure(arguments.quick, not on_gpu),
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(result["verdict"])
    for name, row in result["results"].items():
        print(f"{name:40s} {row['median']:>16,} lane-steps/s")
    return int("another law" in result["verdict"])


if __name__ == "__main__":
    sys.exit(main())
