"""Whether the GPU kernel is right and how fast it is: `python benchmarks/gpu.py`, under five minutes on one GPU.

1. Trajectories of a few models against those of the CPU program, stored in gpu_reference.npz: equal to the bit, or by
   how much not; and the laws of the overlaps at the end, of other replicas, by Kolmogorov-Smirnov tests.
2. Lane-steps per second over the number of lanes: the Pallas kernel, the XLA program of the same model, and the `full`
   kernel. Compilation and the first run are not counted.

`--quick` does a little of everything, on a CPU with the kernel interpreted. `--make-reference` writes the trajectories
of the CPU program. Exit status 1 where the numbers are wrong, 2 where there is no GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from scipy import stats

import ssi_kernels as ssi
from ssi_kernels.kernels import assemble, pallas, streams
from ssi_kernels.kernels.lanes import _intervals
from ssi_kernels.kernels.program import program
from ssi_kernels.kernels.shape import Shape, shape_of
from ssi_kernels.model import starts
from ssi_kernels.provenance import provenance

FOLDER = Path(__file__).parent
REFERENCE = FOLDER / "gpu_reference.npz"
COMPARED, SAMPLED = 32, 4096  # lanes of a trajectory, and of a law
STRETCHES = (0, 1, 9, 90, 200, 700)  # steps between two recordings; the first 100 reach a high word of 1 from _EDGE
CLOSE = 1e-3  # rounding moves an overlap by less within the horizon
MOSTLY = 0.9  # of the lanes are close; rounding may stop one a step later, or find a kink's other side
FALSE_ALARM = 1e-4  # of one comparison of laws
_EDGE = 2**32 - 100
_LONGEST = 2**30


@dataclass(frozen=True)
class Case:
    """A model at d = 100 whose trajectories are compared."""

    model: ssi.Model
    length: int
    stop: str = "horizon"
    first: int = 0

    @property
    def intervals(self):
        """Of all recordings, as the programs take them."""
        at = self.first + np.concatenate([[0], np.cumsum(STRETCHES)])
        return _intervals([(int(a), n, True) for a, n in zip(at, STRETCHES, strict=False)])

    def lanes(self, first: int, last: int):
        """Shape and arguments of the programs, but the intervals, for replicas first..last-1."""
        return prepared(self.model, self.length, (first, last), d=100, stop=self.stop)


def cases() -> dict[str, Case]:
    """What is compared, by name: every student, a stop rule, and a step beyond 32 bits."""
    squares = ssi.targets.expression("sum(He2(z))/sqrt(2)")
    return {
        "attention": Case(attention(), 2),
        "attention, decided": Case(attention(), 2, stop="decided"),
        "attention trace, beyond 32 bits": Case(ssi.Model(squares, ssi.students.attention("trace")), 3, first=_EDGE),
        "tied": Case(ssi.Model(squares, ssi.students.tied("relu")), 4),
        "untied joint": Case(ssi.Model(ssi.targets.hermite(1), ssi.students.untied("relu")), 2),
        "untied row": Case(ssi.Model(ssi.targets.hermite(1), ssi.students.untied("relu", norm="row")), 2),
    }


def attention() -> ssi.Model:
    """The model whose speed is measured."""
    pair = ssi.encodings.opposite_pair()
    return ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), pair)


def prepared(model: ssi.Model, length: int, replicas: tuple[int, int], *, d: int, kernel="reduced", stop="horizon"):
    """Shape and arguments of a program, but the intervals, of lanes at step 0."""
    shape = shape_of(model, d=d, length=length, kernel=kernel, dtype="float32", thresholds=1, stop=stop)
    batch = assemble.fresh_lanes(
        shape, model, starts.random(), d=d, learning_rate=0.3, thresholds=(0.2,), decided=0.25,
        stream_id=_stream(), replicas=replicas,
    )  # fmt: skip
    return shape, (batch.data, batch.keys, batch.state, np.ones(batch.count, bool))


def _stream() -> str:
    return hashlib.sha256(b"benchmarks/gpu.py").hexdigest()


# Whether it is right


def follow(run: Callable, case: Case, replicas: tuple[int, int]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Overlaps (S, rows, N) and marks of some replicas of a case; `run` makes a program of a shape."""
    shape, arguments = case.lanes(*replicas)
    _, _, records = jax.device_get(run(shape)(*arguments, case.intervals))
    records = {name: x[: len(STRETCHES)] for name, x in records.items()}
    overlaps = [records["m"][:, None], records["e"], *([records["m_position"]] if "m_position" in records else [])]
    return np.concatenate(overlaps, axis=1), {name: records[name] for name in ("recovery", "diverged", "stop")}


def make_reference(path: Path) -> None:
    """Trajectories and laws of the CPU program."""
    stored = {"versions": np.array(json.dumps(provenance()))}
    for name, case in cases().items():
        overlaps, marks = follow(program, case, (0, COMPARED))
        law, _ = follow(program, case, (0, SAMPLED))
        stored |= {f"{name}/overlaps": overlaps, f"{name}/law": law[-1]}
        stored |= {f"{name}/{mark}": x for mark, x in marks.items()}
    np.savez_compressed(path, **stored)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def compare(kernel: Callable, chosen: dict[str, Case], sampled: int) -> dict[str, dict]:
    """Every case against the reference."""
    with np.load(REFERENCE) as stored:
        return {name: _or_error(_compared, kernel, case, name, stored, sampled) for name, case in chosen.items()}


def _or_error(function: Callable, *arguments) -> dict:
    """The row that `function` makes, or why it made none: time on a GPU is dear, and the other rows are of use."""
    try:
        return function(*arguments)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"}


def _compared(kernel, case: Case, name: str, stored, sampled: int) -> dict:
    overlaps, marks = follow(kernel, case, (0, pallas.BLOCK))
    overlaps = overlaps[..., :COMPARED]
    expected = stored[f"{name}/overlaps"]
    same_marks = [np.mean(x[..., :COMPARED] == stored[f"{name}/{mark}"]) for mark, x in marks.items()]
    law, _ = follow(kernel, case, (SAMPLED, SAMPLED + sampled))
    tests = [stats.ks_2samp(ours, theirs) for ours, theirs in zip(law[-1], stored[f"{name}/law"], strict=True)]
    worst = min(tests, key=lambda t: t.pvalue)
    difference = np.abs(overlaps - expected).max(axis=1)  # (S, N)
    close = np.mean((difference < CLOSE).all(axis=0))
    return {
        "bitwise": bool(np.array_equal(overlaps, expected) and min(same_marks) == 1),
        "difference": [float(x) for x in difference.max(axis=1)],
        "lanes_close": float(close),
        "marks_equal": float(min(same_marks)),
        "ks_distance": float(worst.statistic),
        "ks_p": float(worst.pvalue),
        "ks_lanes": sampled,
        "right": bool(close >= MOSTLY and worst.pvalue > FALSE_ALARM),
    }


# How fast it is


@dataclass(frozen=True)
class Effort:
    """How much is measured, and how long each time (seconds)."""

    lanes: tuple[int, ...]
    full_lanes: tuple[int, ...]
    sampled: int
    seconds: float
    rounds: int
    budget: float
    cases: int | None


WHOLE = Effort((10**2, 10**3, 10**4, 10**5, 10**6), (10**2, 10**3, 10**4), SAMPLED, 2.0, 3, 255, None)
QUICK = Effort((10**2,), (10**2,), 256, 0.1, 1, 60, 1)


def measure(kernel: Callable, effort: Effort, deadline: float) -> list[dict]:
    """Rows of lane-steps per second: Pallas first, the slower ones as far as the time goes."""
    contestants = [("pallas", kernel, "reduced", effort.lanes), ("xla", program, "reduced", effort.lanes),
                   ("xla full", program, "full", effort.full_lanes)]  # fmt: skip
    return [
        _row(name, run, which, -(-count // pallas.BLOCK) * pallas.BLOCK, effort, deadline)
        for name, run, which, counts in contestants
        for count in counts
    ]


def _row(name: str, run: Callable, which: str, count: int, effort: Effort, deadline: float) -> dict:
    row = {"program": name, "lanes": count}
    if time.monotonic() > deadline:
        return row | {"error": "out of time"}
    return row | _or_error(_speed, run, which, count, effort)


def _speed(run: Callable, which: str, count: int, effort: Effort) -> dict:
    shape, arguments = many(count, which)
    steps, times = timed(run(shape), jax.device_put(arguments), effort)
    speeds = [count * steps / t for t in times]
    spread = {"median": statistics.median(speeds), "min": min(speeds), "max": max(speeds)}
    return {"steps": steps, "seconds": statistics.median(times), **{k: round(x) for k, x in spread.items()}}


def many(count: int, kernel: str) -> tuple[Shape, tuple]:
    """Lanes at d = 1000: the numbers of one block again and again, every lane with its own key."""
    shape, (data, _, state, _) = prepared(attention(), 2, (0, pallas.BLOCK), d=1000, kernel=kernel)
    wide = lambda tree: {name: np.tile(x, count // pallas.BLOCK) for name, x in tree.items()}  # noqa: E731
    return shape, (wide(data), streams.replica_keys(_stream(), 0, count), wide(state), np.ones(count, bool))


def timed(advance: Callable, arguments: tuple, effort: Effort) -> tuple[int, list[float]]:
    """Steps that take about `effort.seconds`, and how long they took each time."""

    def once(steps: int) -> float:
        began = time.perf_counter()
        jax.block_until_ready(advance(*arguments, _intervals([(0, steps, True)])))
        return time.perf_counter() - began

    steps = 16
    once(steps)
    while (took := once(steps)) < effort.seconds / 8 and steps < _LONGEST:
        steps = min(8 * steps, _LONGEST)
    steps = max(1, min(round(steps * effort.seconds / took), _LONGEST))
    return steps, [once(steps) for _ in range(effort.rounds)]


# The command


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file (default: benchmarks/gpu.json; none with --quick)")
    parser.add_argument("--quick", action="store_true", help="a little of everything, also on a CPU")
    parser.add_argument("--make-reference", action="store_true", help=f"write {REFERENCE.name} with the CPU program")
    options = parser.parse_args(arguments)
    if options.make_reference:
        if jax.default_backend() != "cpu":
            print("the reference is made on a CPU: set JAX_PLATFORMS=cpu", file=sys.stderr)
            return 2
        make_reference(REFERENCE)
        return 0
    has_gpu = jax.default_backend() == "gpu"
    if not has_gpu and not options.quick:
        print(f"no GPU: JAX computes on {jax.default_backend()} here; --quick runs without one", file=sys.stderr)
        return 2
    out = options.out or (None if options.quick else FOLDER / "gpu.json")
    return benchmark(QUICK if options.quick else WHOLE, interpret=not has_gpu, out=out)


def benchmark(effort: Effort, *, interpret: bool, out: Path | None) -> int:
    """All comparisons and measurements, printed and written; 0 where all comparisons hold."""
    began = time.monotonic()
    kernel = lambda shape: pallas.program(shape, pallas.BLOCK, interpret)  # noqa: E731
    compared = compare(kernel, dict(list(cases().items())[: effort.cases]), effort.sampled)
    for name, row in compared.items():
        print(_verdict(name, row), flush=True)
    speeds = measure(kernel, effort, began + effort.budget)
    for row in speeds:
        print(f"{row['program']:10s}{row['lanes']:>10,} lanes  {row.get('error') or format(row['median'], ',')}")
    report = {
        "unit": "lane-steps per second",
        "model": "attention L = 2, positional-semantic, d = 1000",
        "interpreted": interpret,
        "date": time.strftime("%Y-%m-%d"),
        "versions": provenance(),
        "seconds": round(time.monotonic() - began),
        "correctness": compared,
        "speeds": speeds,
    }
    if out:
        out.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(row.get("right") for row in compared.values()) else 1


def _verdict(name: str, row: dict) -> str:
    if "error" in row:
        return f"WRONG {name:34s}{row['error']}"
    bits = "same bits" if row["bitwise"] else f"differs by {max(row['difference']):.1e}"
    law = f"KS distance {row['ks_distance']:.3f} (p = {row['ks_p']:.2g})"
    return f"{'ok   ' if row['right'] else 'WRONG'} {name:34s}{bits:22s}{law}"


if __name__ == "__main__":
    sys.exit(main())
