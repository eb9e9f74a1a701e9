"""The shape of a sweep's consolidated datasets: axes, coordinates, and how they are cut into blocks."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import StoreError

if TYPE_CHECKING:
    from ssi_kernels.schedule import Schedule
    from ssi_kernels.sweep import Grid, Point

INTEGER_AXES = ("d", "length", "sie")
LABEL_AXES = ("target", "student", "encoding")
BLOCK_BYTES = 2**28
"""The most that one variable of one block may take in memory, as long as a block has more than one point."""

CHUNK_BYTES = 2**16
"""Points of less than that share a chunk."""


@dataclass(frozen=True)
class Block:
    """A box of the grid that is written at once: a slice per grid axis, and its points with their place in it."""

    slices: tuple[slice, ...]
    points: tuple[Point, ...]
    places: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(s.stop - s.start for s in self.slices)


@dataclass(frozen=True)
class Layout:
    """Sizes and coordinates shared by `trajectories.zarr` and `recovery.zarr`.

    `steps` (int64): every step that some point records. `components` and `positions`: the largest rank of an
    encoding, and the largest length of an untied student; 0 where there is none. `dtype`: of the trajectories.
    """

    grid: Grid
    replicas: int
    steps: np.ndarray
    components: int
    positions: int
    dtype: np.dtype

    @property
    def axes(self) -> dict[str, tuple]:
        """Grid axis -> its sorted values."""
        return self.grid.axes

    @property
    def points(self) -> tuple[Point, ...]:
        """The points of the grid."""
        return self.grid.points

    @property
    def thresholds(self) -> int:
        """Number of weak-recovery thresholds."""
        return len(self.grid.thresholds)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the grid axes."""
        return tuple(map(len, self.axes.values()))

    @cached_property
    def block_shape(self) -> tuple[int, ...]:
        """How many values of each grid axis one block holds: one d, one length, all of the others.

        A block whose trajectories would exceed `BLOCK_BYTES` is halved along its longest axis until they do not.
        """
        per_point = self.replicas * len(self.steps) * max(1, self.components, self.positions) * self.dtype.itemsize
        shape = [1 if name in ("d", "length") else n for name, n in zip(self.axes, self.shape, strict=True)]
        while math.prod(shape) > 1 and math.prod(shape) * per_point > BLOCK_BYTES:
            longest = shape.index(max(shape))
            shape[longest] = -(-shape[longest] // 2)
        return tuple(shape)

    def chunk_shape(self, point_bytes: int) -> tuple[int, ...]:
        """How many values of each grid axis one chunk holds: one point, or neighbours up to `CHUNK_BYTES` together.

        It divides `block_shape`. A chunk costs about half a millisecond, whatever it holds.
        """
        shape = [1] * len(self.block_shape)
        for axis in reversed(range(len(shape))):
            most = CHUNK_BYTES // (point_bytes * math.prod(shape))
            shape[axis] = max(
                n for n in range(1, self.block_shape[axis] + 1) if n <= max(1, most) and not self.block_shape[axis] % n
            )
            if shape[axis] < self.block_shape[axis]:
                break
        return tuple(shape)

    def blocks(self) -> Iterator[Block]:
        """The blocks, which together cover the grid."""
        members = defaultdict(list)
        for point, place in zip(self.points, self.places, strict=True):
            members[tuple(place // self.block_shape)].append((point, place))
        counts = [-(-n // size) for n, size in zip(self.shape, self.block_shape, strict=True)]
        for corner in itertools.product(*map(range, counts)):
            yield self._block(corner, members.get(corner, []))

    def _block(self, corner: tuple[int, ...], members: list[tuple[Point, np.ndarray]]) -> Block:
        starts = [i * size for i, size in zip(corner, self.block_shape, strict=True)]
        stops = [min(a + size, n) for a, size, n in zip(starts, self.block_shape, self.shape, strict=True)]
        slices = tuple(slice(a, b) for a, b in zip(starts, stops, strict=True))
        places = np.array([place for _, place in members], np.int64).reshape(len(members), len(starts))
        return Block(slices, tuple(point for point, _ in members), places - starts)

    @cached_property
    def places(self) -> np.ndarray:
        """Index of every point along every grid axis, (point, axis)."""
        positions = {name: {value: i for i, value in enumerate(values)} for name, values in self.axes.items()}
        rows = [[positions[name][point.coords[name]] for name in self.axes] for point in self.points]
        return np.array(rows, np.int64).reshape(len(self.points), len(self.axes))

    def threshold_order(self, point: Point) -> list[int]:
        """For each label of the threshold dimension, which of the point's own thresholds it is."""
        key = point.d, point.length
        if key not in self._orders:
            self._orders[key] = list(self.grid.threshold_order(point))
        return self._orders[key]

    @cached_property
    def _orders(self) -> dict[tuple[int, int], list[int]]:
        return {}

    def over_grid(self, values: list, dtype: type, trailing: tuple[int, ...] = ()) -> np.ndarray:
        """One value (or row of values) per point, laid out over the grid axes."""
        array = np.zeros((*self.shape, *trailing), dtype)
        array[tuple(self.places.T)] = values
        return array

    def coordinates(self) -> dict[str, np.ndarray]:
        """Coordinates of the grid axes and of the replicas: int64, float64 at 12 digits, or text."""
        grid = {name: _coordinate(name, values) for name, values in self.axes.items()}
        return {**grid, "replica": np.arange(self.replicas)}

    def threshold_coordinate(self) -> np.ndarray:
        """The thresholds as configured: float64, or text where one follows d or L."""
        labels = self.grid.thresholds
        if any(isinstance(label, str) for label in labels):
            return _text(labels)
        return np.array(labels, float)


def layout_of(grid: Grid) -> Layout:
    """The layout of a sweep. Raises StoreError if its points are not of one dtype."""
    dtypes = sorted({point.dtype for point in grid.points})
    if len(dtypes) != 1:
        raise StoreError(
            f"a dataset holds points of one dtype, not of {' and '.join(dtypes) or 'none'}: split the sweep"
        )
    return Layout(
        grid=grid,
        replicas=max(point.replicas for point in grid.points),
        steps=_recorded(grid.points),
        components=max(rank_of(point) for point in grid.points),
        positions=max(positions_of(point) for point in grid.points),
        dtype=np.dtype(dtypes[0]),
    )


def rank_of(point: Point) -> int:
    """Number of positional overlaps e_k of a point."""
    return point.model.rank(point.length)


def positions_of(point: Point) -> int:
    """Number of per-position overlaps m_i of a point; 0 for tied students."""
    return point.length if point.model.student.is_untied else 0


def _recorded(points: tuple[Point, ...]) -> np.ndarray:
    """Every step that some point records, increasing."""
    horizons: dict[Schedule, int] = {}
    for point in points:
        horizons[point.schedule] = max(horizons.get(point.schedule, 0), point.steps)
    return np.unique(np.concatenate([schedule.steps(horizon) for schedule, horizon in horizons.items()]))


def _coordinate(name: str, values: tuple) -> np.ndarray:
    if name in LABEL_AXES:
        return _text(values)
    if name in INTEGER_AXES:
        return np.array(values, np.int64)
    return np.array([float(f"{value:.12g}") for value in values])


def _text(labels: Iterable) -> np.ndarray:
    """Text as the one type that Zarr 3 stores without a warning."""
    return np.array([str(label) for label in labels], dtype=np.dtypes.StringDType())
