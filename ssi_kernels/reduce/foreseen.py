"""What theory warns of before a sweep runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssi_kernels.reduce.subset import spread_out
from ssi_kernels.reduce.theory_points import told

if TYPE_CHECKING:
    from ssi_kernels.sweep import Grid, Point

MOST = 8
"""How many models at a dimension are all looked at; each takes up to a second."""

NOISE = "noise-dominated"


@dataclass(frozen=True)
class Warned:
    """One point at which a run is lost or doubtful: `kind` is blind, shrinks or noise-dominated."""

    coords: dict
    kind: str
    reason: str
    remedy: str

    @property
    def words(self) -> str:
        """One line."""
        return f"{self.kind}: {self.reason}" + (f"; {self.remedy}" if self.remedy else "")


def foreseen(grid: Grid) -> list[Warned]:
    """The points whose student cannot learn (`learnability`), or whose learning rate is above the noise bound.

    Points of one model, dimension and start are judged together. Where a sweep has more than MOST of these, such as a
    map over omega and a, one in the middle of each (d, length, student, encoding, family of targets) is judged, the
    first MOST of them.
    """
    chosen = _groups(grid.points, lambda point: point.model, MOST)
    if chosen is None:
        alike = _groups(grid.points, lambda point: id(point.pattern))
        chosen = spread_out([points[len(points) // 2 :][:1] for points in alike], MOST)
    return [warned for points in chosen for warned in _warnings(points)]


def _groups(
    points: Iterable[Point], model: Callable[[Point], Hashable], most: float = math.inf
) -> list[list[Point]] | None:
    """Points that one judgement is true of, in their order; None as soon as there are more than `most` groups."""
    groups: dict[tuple, list[Point]] = {}
    for point in points:
        groups.setdefault((point.length, point.d, model(point), point.start), []).append(point)
        if len(groups) > most:
            return None
    return list(groups.values())


def _warnings(points: list[Point]) -> list[Warned]:
    found = told(points[0])
    if found.get("verdict") in ("blind", "shrinks"):
        return [Warned(dict(p.coords), found["verdict"], found["why"], found["remedy"]) for p in points]
    bound = found["noise_bound"]
    return [_too_fast(p, bound) for p in points if p.learning_rate > bound]


def _too_fast(point: Point, bound: float) -> Warned:
    reason = f"the learning rate {point.learning_rate:.3g} is above the noise bound {bound:.3g}"
    return Warned(dict(point.coords), NOISE, reason, f"use at most {bound:.2g}; 0.3 of the bound is the default")
