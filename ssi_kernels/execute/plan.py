"""What a run would do, why, and what it would cost; and which single point a user means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.request import PlacedSweep, lacking_points
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.sweep import estimate
from ssi_kernels.sweep.quantities import read_number

if TYPE_CHECKING:
    from ssi_kernels.sweep import Grid, Point


@dataclass(frozen=True)
class Plan:
    """The missing work of a sweep. `steps` counts lane-steps, `estimated_seconds` those of one CPU core."""

    points: int
    missing: int
    steps: int
    estimated_seconds: float
    estimated_bytes: int
    reasons: list[dict]


def plan_sweep(placed: PlacedSweep, index: SegmentIndex) -> Plan:
    """What the store lacks according to `index`, each missing piece with its reason."""
    work = placed.missing(index)
    pieces = {(item.point.point_id, item.replicas, item.steps): item for item in work}.values()
    cost = estimate((item.point, _span(item.replicas), _span(item.steps)) for item in pieces)
    return Plan(
        points=len(placed.grid.points),
        missing=lacking_points(placed, work),
        steps=cost.lane_steps,
        estimated_seconds=cost.seconds,
        estimated_bytes=cost.bytes,
        reasons=[{"coords": dict(item.point.coords), "reason": item.reason} for item in work],
    )


def _span(bounds: tuple[int, int]) -> int:
    return bounds[1] - bounds[0]


def choose_point(grid: Grid, wanted: Mapping[str, str]) -> Point:
    """The one point of a grid at the coordinates `wanted`, written as text.

    Axes with one value need not be named. Raises ConfigError that lists the axes, or the values of one.
    """
    found = choose_points(grid, {axis: [text] for axis, text in wanted.items()})
    if len(found) > 1:
        axes = _axes(grid)
        raise ConfigError("--point", dict(wanted), f"matches {len(found)} points; give a value for every axis: {axes}")
    return found[0]


def choose_points(grid: Grid, wanted: Mapping[str, Iterable[str]]) -> list[Point]:
    """All points of a grid at any of the coordinates `wanted` along each axis, written as text.

    Axes that are not named match with all their values. Raises ConfigError that lists the axes, or the values of one.
    """
    for axis, texts in wanted.items():
        if axis not in grid.axes:
            raise ConfigError("--point", axis, f"is not an axis of this sweep; its axes are {_axes(grid)}")
        for text in texts:
            if _value(axis, text, grid) not in grid.axes[axis]:
                listed = _listed(grid.axes[axis])
                raise ConfigError("--point", f"{axis}={text}", f"is not on the grid; {axis} is {listed}")
    chosen = {axis: {_value(axis, text, grid) for text in texts} for axis, texts in wanted.items()}
    return [point for point in grid.points if all(point.coords[axis] in values for axis, values in chosen.items())]


def _axes(grid: Grid) -> str:
    return "; ".join(f"{axis}: {_listed(values)}" for axis, values in grid.axes.items())


def _value(axis: str, text: str, grid: Grid) -> int | float | str:
    if isinstance(grid.axes[axis][0], str):
        return text
    try:
        return read_number(text)
    except ConfigError as error:
        raise error.within(f"--point {axis}") from None


def _listed(values: tuple) -> str:
    shown = [str(value) for value in values]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], "...", *shown[-3:]])
