"""Writing the consolidated datasets with Zarr: which variables, how chunked, block by block."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zarr

from ssi_kernels.errors import End, Outcome, Status
from ssi_kernels.store.attributes import COORDINATES, VARIABLES
from ssi_kernels.store.layout import Block, Layout, positions_of, rank_of

_NAN = float("nan")


@dataclass(frozen=True)
class Variable:
    """A variable over the grid axes and then `dims`, whose missing chunks read as `fill`.

    `sharded`: one chunk a point, or a few small ones, and one shard a block; otherwise one chunk a block.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtype: np.dtype | type
    fill: object
    sharded: bool = False


@dataclass
class DatasetWriter:
    """A Zarr group under construction: create it, write every block, finish it."""

    path: Path
    layout: Layout
    variables: dict[str, Variable]
    coordinates: dict[str, np.ndarray]
    over_grid: dict[str, np.ndarray]
    _group: zarr.Group = field(init=False)

    def __post_init__(self) -> None:
        self._group = zarr.create_group(self.path, zarr_format=3)
        for name, values in self.coordinates.items():
            self._whole(name, (name,), values, COORDINATES[name])
        for name, values in self.over_grid.items():
            dims = (*self.layout.axes, "threshold")[: values.ndim]
            self._whole(name, dims, values, VARIABLES[name])
        for name, variable in self.variables.items():
            self._by_blocks(name, variable)

    def write(self, block: Block, values: dict[str, np.ndarray]) -> None:
        """Writes the values of one block; each variable is one file."""
        for name, array in values.items():
            self._group[name][block.slices] = array

    def files(self, block: Block) -> list[str]:
        """The names, relative to the dataset, of the files of a block, one for each variable."""
        corner = [part.start // size for part, size in zip(block.slices, self.layout.block_shape, strict=True)]
        return [
            "/".join([name, "c", *map(str, [*corner, *(0 for _ in variable.sizes)])])
            for name, variable in self.variables.items()
        ]

    def finish(self, attributes: dict) -> None:
        """Sets the attributes of the dataset and consolidates its metadata."""
        self._group.update_attributes(attributes)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
            zarr.consolidate_metadata(self.path)

    def _whole(self, name: str, dims: tuple[str, ...], values: np.ndarray, attributes: dict) -> None:
        self._group.create_array(name, data=values, chunks=values.shape, dimension_names=dims, attributes=attributes)

    def _by_blocks(self, name: str, variable: Variable) -> None:
        block = (*self.layout.block_shape, *variable.sizes)
        point_bytes = math.prod(variable.sizes) * np.dtype(variable.dtype).itemsize
        chunk = (*self.layout.chunk_shape(point_bytes), *variable.sizes)
        self._group.create_array(
            name,
            shape=(*self.layout.shape, *variable.sizes),
            dtype=variable.dtype,
            fill_value=variable.fill,
            chunks=chunk if variable.sharded else block,
            shards=block if variable.sharded else None,
            dimension_names=(*self.layout.axes, *variable.dims),
            attributes=VARIABLES[name],
        )


def trajectories_writer(path: Path, layout: Layout) -> DatasetWriter:
    """Begins `trajectories.zarr` at `path`."""
    coordinates = {**layout.coordinates(), "step": layout.steps}
    over_grid = _grid_variables(layout)
    if layout.components:
        over_grid["components"] = layout.over_grid([rank_of(point) for point in layout.points], np.int64)
    if layout.positions:
        over_grid["positions"] = layout.over_grid([positions_of(point) for point in layout.points], np.int64)
    return DatasetWriter(path, layout, dict(_trajectories(layout)), coordinates, over_grid)


def recovery_writer(path: Path, layout: Layout) -> DatasetWriter:
    """Begins `recovery.zarr` at `path`."""
    coordinates = {**layout.coordinates(), "threshold": layout.threshold_coordinate()}
    over_grid = _grid_variables(layout)
    values = [[point.thresholds[i] for i in layout.threshold_order(point)] for point in layout.points]
    over_grid["threshold_value"] = layout.over_grid(values, float, (layout.thresholds,))
    if layout.components:
        over_grid["components"] = layout.over_grid([rank_of(point) for point in layout.points], np.int64)
    return DatasetWriter(path, layout, dict(_recovery(layout)), coordinates, over_grid)


def _grid_variables(layout: Layout) -> dict[str, np.ndarray]:
    """What is one number a point: its horizon, and its learning rate where that is not an axis."""
    variables = {"horizon": layout.over_grid([point.steps for point in layout.points], np.int64)}
    if "learning_rate" not in layout.axes:
        variables["learning_rate"] = layout.over_grid([point.learning_rate for point in layout.points], float)
    return variables


def _trajectories(layout: Layout) -> Iterator[tuple[str, Variable]]:
    replicas, steps, dtype = layout.replicas, len(layout.steps), layout.dtype
    scalar = Variable(("replica", "step"), (replicas, steps), dtype, _NAN, sharded=True)
    yield "m", scalar
    yield "norm", scalar
    for name, axis, size in (("e", "component", layout.components), ("m_position", "position", layout.positions)):
        if size:
            yield name, Variable(("replica", "step", axis), (replicas, steps, size), dtype, _NAN, sharded=True)
    yield "status", Variable(("replica",), (replicas,), np.int8, int(Status.MISSING))


def _recovery(layout: Layout) -> Iterator[tuple[str, Variable]]:
    replica, threshold = ("replica",), ("replica", "threshold")
    one, each = (layout.replicas,), (layout.replicas, layout.thresholds)
    yield "recovery_step", Variable(threshold, each, np.float64, _NAN)
    yield "outcome", Variable(threshold, each, np.int8, int(Outcome.NOT_RUN))
    yield "end", Variable(replica, one, np.int8, int(End.NOT_RUN))
    yield "final_m", Variable(replica, one, layout.dtype, _NAN)
    if layout.components:
        component = (layout.replicas, layout.components)
        yield "final_e", Variable(("replica", "component"), component, layout.dtype, _NAN)
    yield "final_step", Variable(replica, one, np.float64, _NAN)
    yield "observed_until", Variable(replica, one, np.float64, _NAN)
    yield "status", Variable(replica, one, np.int8, int(Status.MISSING))
