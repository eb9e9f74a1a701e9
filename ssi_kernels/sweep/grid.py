"""From a sweep to its points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model
from ssi_kernels.schedule import Schedule
from ssi_kernels.sweep import thresholds
from ssi_kernels.sweep.agreement import FAMILY_AXES, PIECES
from ssi_kernels.sweep.cell import Cell, CellKey, resolve_cell
from ssi_kernels.sweep.identity import digest
from ssi_kernels.sweep.point import Point
from ssi_kernels.sweep.spec import Sweep

AXES = ("d", "length", *FAMILY_AXES, "learning_rate", *PIECES)
MAX_POINTS = 1_000_000


@dataclass(frozen=True)
class Grid:
    """The points of a sweep, in the order of its axes (the last varies fastest).

    `axes` maps each axis, in canonical order, to its sorted values. `thresholds` are the labels of the threshold
    dimension, and `decided` is what classifies ends. Two points have one `point_id` where two names of a swept
    target, student or encoding stand for the same thing.
    """

    axes: dict[str, tuple]
    points: tuple[Point, ...]
    thresholds: tuple[thresholds.Label, ...]
    decided: float

    @property
    def max_steps(self) -> int:
        """The longest horizon."""
        return max(point.steps for point in self.points)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what the sweep's datasets must hold: ids, coordinates, horizons, replicas, thresholds."""
        rows = sorted([p.point_id, list(p.coords.items()), p.replicas, p.steps] for p in self.points)
        return digest([rows, self.thresholds, self.decided])

    def threshold_order(self, point: Point) -> tuple[int, ...]:
        """For each label of `thresholds`, where its value stands in `point.thresholds`."""
        values = thresholds.resolve(self.thresholds, point.d, point.length)
        return tuple(point.thresholds.index(values[label]) for label in self.thresholds)


def expand(sweep: Sweep) -> Grid:
    """All points of a sweep, each checked. Raises ConfigError with the key path inside the sweep."""
    axes = _axes(sweep)
    cells = {key: resolve_cell(sweep, key) for key in _cell_keys(axes)}
    common = _common(sweep)
    coordinates = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
    points = tuple(_point(coords, cells[_cell_key(coords)], common) for coords in coordinates)
    return Grid(axes, points, thresholds.labels(sweep.recovery.threshold), sweep.recovery.decided)


def check(sweep: Sweep) -> None:
    """All the checks of `expand`, without its points. Raises ConfigError with the key path inside the sweep."""
    for key in _cell_keys(_axes(sweep)):
        resolve_cell(sweep, key)


def _axes(sweep: Sweep) -> dict[str, tuple]:
    axes = {}
    for axis in AXES:
        values = getattr(sweep.grid, axis)
        if values is not None:
            axes[axis] = tuple(sorted(entry.name for entry in values)) if axis in PIECES else values
    sizes = {axis: len(values) for axis, values in axes.items()}
    count = math.prod(sizes.values())
    if count > MAX_POINTS:
        raise ConfigError("grid", sizes, f"has {count} points; the most one sweep may have is {MAX_POINTS}")
    return axes


def _cell_keys(axes: dict[str, tuple]) -> Iterator[CellKey]:
    return map(CellKey._make, itertools.product(*(axes.get(axis, (None,)) for axis in CellKey._fields)))


def _cell_key(coords: dict) -> CellKey:
    return CellKey._make(map(coords.get, CellKey._fields))


def _common(sweep: Sweep) -> dict:
    """What all points of a sweep share."""
    record = sweep.record
    every = record.every is not None
    return {
        "seed": sweep.sgd.seed,
        "dtype": sweep.sgd.dtype,
        "schedule": Schedule("every", record.every) if every else Schedule("per_decade", record.per_decade),
        "decided": sweep.recovery.decided,
        "stop": sweep.sgd.stop,
        "replicas": sweep.sgd.replicas,
        "shared": _shared(sweep),
    }


def _shared(sweep: Sweep) -> tuple[str, ...]:
    """What the streams of a sweep with common random numbers do not depend on.

    A learning rate that is no axis may follow the dimension or the model, and then goes with them.
    """
    axes = sweep.sgd.common_random_numbers
    follows = sweep.grid.learning_rate is None and {"d", "sie", *PIECES} & set(axes)
    return tuple(sorted({*axes, *(["learning_rate"] if follows else [])}))


def _point(coords: dict, cell: Cell, common: dict) -> Point:
    return Point(
        coords=coords,
        model=_with_parameters(cell.model, coords),
        pattern=cell.pattern,
        start=cell.start,
        kernel=cell.kernel,
        d=coords["d"],
        length=coords["length"],
        learning_rate=coords.get("learning_rate", cell.learning_rate),
        thresholds=cell.thresholds,
        steps=cell.steps,
        **common,
    )


def _with_parameters(model: Model, coords: dict) -> Model:
    if "omega" not in coords:
        return model
    target = replace(model.target, omega=coords["omega"], a=coords["a"])
    return Model(target, model.student, model.encoding, model.loss)
