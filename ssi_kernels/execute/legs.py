"""Long runs in legs, so that what is done can be stored on the way. The bits do not depend on where a leg ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ssi_kernels.kernels.lanes import Lanes, Result, run
from ssi_kernels.kernels.shape import Shape

LEGS = 8
"""Legs between two checkpoints, about: how well the time between them is kept."""

FIRST = 256
"""The first leg is that part of a checkpoint's time, by an estimate that may be wrong by orders of magnitude."""

_GROWTH = 4.0


@dataclass
class Stretch:
    """Steps from+1..to of all lanes, for `steps` = (from, to): the recorded steps, and what the kernel did."""

    steps: tuple[int, int]
    recorded: np.ndarray
    result: Result
    seconds: float


@dataclass
class Pace:
    """How many steps to do at once, learned on the way.

    `every`: seconds between checkpoints, None for none. `estimate`: seconds that one step of all lanes should take.
    """

    every: float | None
    estimate: float
    _steps: float = field(init=False, default=0.0)

    def next(self, left: int) -> int:
        """The length of the next leg, of the `left` steps that there are."""
        if self.every is None:
            return left
        if not self._steps:
            self._steps = self.every / FIRST / self.estimate
        return max(1, min(left, int(self._steps)))

    def is_over(self, seconds: float) -> bool:
        """Whether it is time for a checkpoint after `seconds`."""
        return self.every is not None and seconds >= self.every

    def learn(self, steps: int, seconds: float) -> None:
        """Takes note of a leg's time: the first one includes compilation, hence the bounded growth."""
        if self.every is not None:
            fitting = steps * self.every / LEGS / max(seconds, 1e-9)
            self._steps = min(fitting, steps * _GROWTH)


def stretches(
    shape: Shape,
    lanes: Lanes,
    steps: tuple[int, int],
    recorded: np.ndarray,
    pace: Pace,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Stretch]:
    """Runs lanes over `steps` = (from, to]; yields a stretch whenever `pace.every` seconds have passed, and at the end.

    `recorded` as for `lanes.run`. Together the stretches are what one run gives, to the bit.
    """
    at, end = steps
    began, parts, first = clock(), [], at
    while True:
        start = clock()
        to = at + pace.next(end - at) if lanes.running.size else end
        parts.append(run(shape, lanes, (at, to), _within(recorded, at, to)))
        pace.learn(to - at, clock() - start)
        at, lanes = to, parts[-1].lanes
        if at < end and not pace.is_over(clock() - began):
            continue
        yield Stretch((first, at), _within(recorded, first, at), _joined(parts), clock() - began)
        if at >= end:
            return
        began, parts, first = clock(), [], at


def _within(recorded: np.ndarray, start: int, end: int) -> np.ndarray:
    """The recorded steps in (start, end], with step 0 where it starts there."""
    return recorded[((recorded > start) | (start == 0)) & (recorded <= end)]


def _joined(parts: list[Result]) -> Result:
    """One result of consecutive ones; final values are those of the last part in which a lane ran."""
    if len(parts) == 1:
        return parts[0]
    records = {name: np.concatenate([part.records[name] for part in parts]) for name in parts[0].records}
    final = dict(parts[0].final)
    for part in parts[1:]:
        final = {name: np.where(np.isnan(x), final[name], x) for name, x in part.final.items()}
    return Result(records, final, parts[-1].lanes)
