"""What a sweep will cost, before anything runs: a rough guess from a few measured rates.

A lane-step is one SGD step of one replica. The rates are for one CPU core; see docs/architecture.md for the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ssi_kernels.schedule import Schedule
from ssi_kernels.sweep.point import Point

SECONDS_PER_STEP, SECONDS_PER_NORMAL, SECONDS_PER_ENTRY = 4e-9, 2.2e-9, 1e-9
"""Of the reduced kernel on one core: a step draws normals, and attention has length^2 entries."""

SECONDS_PER_COORDINATE = {"full": 3.3e-9, "one-noise": 4.9e-9}
"""Of the kernels that keep the weights: `full` draws length * d coordinates a step, `one-noise` d of them."""

SECONDS_PER_POINT = 1e-3
"""Packing, writing and indexing one point."""

BYTES_PER_REPLICA = 64
"""Recovery, divergence and stop steps, stop values and the state of one replica."""

BYTES_PER_POINT = 2048
"""Identity and coordinates of one point."""


@dataclass(frozen=True)
class Estimate:
    """Lane-steps, wall seconds, and bytes in the store before compression."""

    lane_steps: int
    seconds: float
    bytes: int


def estimate(work: Iterable[tuple[Point, int, int]], cores: int = 1) -> Estimate:
    """The cost of `work`, a list of (point, replicas to run, steps to run), on `cores` cores. Imports no JAX."""
    lane_steps, seconds, size = 0, 0.0, 0
    for point, replicas, steps in work:
        lane_steps += replicas * steps
        seconds += SECONDS_PER_POINT + replicas * steps / lane_steps_per_second(point)
        size += BYTES_PER_POINT + replicas * (BYTES_PER_REPLICA + _recorded_bytes(point, steps))
    return Estimate(lane_steps, seconds / cores, size)


def lane_steps_per_second(point: Point) -> float:
    """The speed of one core at one point, from the numbers that one step draws."""
    return 1 / _seconds_per_step(point)


def _seconds_per_step(point: Point) -> float:
    length, sees_sum = point.length, point.model.student.sees_sum
    if point.kernel != "reduced":
        coordinates = point.d * (length if point.kernel == "full" else 1)
        return coordinates * SECONDS_PER_COORDINATE[point.kernel]
    normals, entries = (length + 1, 0) if sees_sum else (2 * length, length**2)
    return SECONDS_PER_STEP + normals * SECONDS_PER_NORMAL + entries * SECONDS_PER_ENTRY


def _recorded_bytes(point: Point, steps: int) -> int:
    values = 1 + point.model.rank(point.length) + (point.length if point.model.student.is_untied else 0)
    return _recordings(point.schedule, steps) * values * (4 if point.dtype == "float32" else 8)


@lru_cache(maxsize=4096)
def _recordings(schedule: Schedule, steps: int) -> int:
    return len(schedule.steps(steps))
