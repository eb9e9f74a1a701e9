"""From the store to the datasets of one sweep: built beside, then put in place of the earlier ones."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import Status, StoreError
from ssi_kernels.store.atomic import (
    cannot_write,
    exchange,
    is_temporary,
    remove,
    remove_stale,
    temporary_beside,
)
from ssi_kernels.store.dataset import DatasetWriter, recovery_writer, trajectories_writer
from ssi_kernels.store.gather import gather
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.layout import Layout, layout_of
from ssi_kernels.store.marker import MARKER, fingerprint, write_marker
from ssi_kernels.store.missing import missing
from ssi_kernels.store.origin import Origins
from ssi_kernels.sweep import effective

if TYPE_CHECKING:
    from ssi_kernels.sweep import Grid, Sweep

TRAJECTORIES, RECOVERY = "trajectories.zarr", "recovery.zarr"


@dataclass(frozen=True)
class Consolidated:
    """What was built: the two datasets, the fingerprint of their content, and how many points are in which status.

    A point counts as complete when all its replicas are. `damaged` has one line for each segment that could
    not be read; it was set aside, and what it held is missing.
    """

    trajectories: Path
    recovery: Path
    fingerprint: str
    complete: int
    missing: int
    failed: int
    damaged: tuple[str, ...]


def consolidate(
    sweep: Sweep,
    grid: Grid,
    store_root: str | Path,
    out_dir: str | Path,
    failures: Mapping[str, str] | None = None,
) -> Consolidated:
    """Builds `trajectories.zarr` and `recovery.zarr` in `out_dir` from the segments in `store_root`.

    `failures` maps the `point_id` of points that failed to the reason. Memory is bounded by one block, one
    (d, length) of the grid. Interrupted at any moment, it leaves the earlier datasets whole, and the next call
    removes what it left behind; other files in `out_dir` are not touched. The marker `consolidated.json`,
    written last, holds the fingerprint and the size of every file. Raises StoreError when it cannot write.
    """
    out_dir, failures = Path(out_dir), failures or {}
    index = SegmentIndex(store_root)
    damaged = index.refresh()
    blocks = _Blocks(layout_of(grid), index, failures)
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        _remove_dead_builds(out_dir)
        _build_and_place(blocks, {"configuration": _configuration(sweep, out_dir.name)}, out_dir)
    except OSError as error:
        raise cannot_write(out_dir, error) from error
    content = fingerprint(grid, missing(grid.points, index), failures)
    write_marker(out_dir, content, (TRAJECTORIES, RECOVERY))
    statuses = {status.name.lower(): blocks.statuses[status] for status in Status}
    return Consolidated(
        out_dir / TRAJECTORIES, out_dir / RECOVERY, content, **statuses, damaged=(*damaged, *blocks.damaged)
    )


class _Blocks:
    """The blocks of a sweep on their way from the store into the datasets, and what was met on the way."""

    def __init__(self, layout: Layout, index: SegmentIndex, failures: Mapping[str, str]):
        self.layout, self._index, self._failures = layout, index, failures
        self.origins, self.damaged, self.statuses = Origins(), [], Counter()

    def write(self, trajectories: DatasetWriter, recovery: DatasetWriter) -> None:
        for block in self.layout.blocks():
            values = gather(block, self.layout, self._index, self._failures)
            trajectories.write(block, values.trajectories)
            recovery.write(block, values.recovery)
            self.origins.add(values.provenance)
            self.damaged += values.damaged
            self._count(values.recovery["status"])

    def _count(self, status: np.ndarray) -> None:
        """A point is complete when all its replicas are, and failed when the others failed."""
        complete = (status == Status.COMPLETE).all(axis=-1)
        failed = (status == Status.FAILED).any(axis=-1)
        self.statuses[Status.COMPLETE] += int(complete.sum())
        self.statuses[Status.FAILED] += int(failed.sum())
        self.statuses[Status.MISSING] += int((~complete & ~failed).sum())


def _build_and_place(blocks: _Blocks, attributes: dict, out_dir: Path) -> None:
    places = [out_dir / TRAJECTORIES, out_dir / RECOVERY]
    for place in places:
        if place.exists() and not place.is_dir():
            raise StoreError(f"{place}: is not a folder, and stands where a dataset goes: move it away")
    builds = [temporary_beside(place) for place in places]
    try:
        writers = trajectories_writer(builds[0], blocks.layout), recovery_writer(builds[1], blocks.layout)
        blocks.write(*writers)
        for writer in writers:
            writer.finish({**attributes, **blocks.origins.attributes()})
        (out_dir / MARKER).unlink(missing_ok=True)
        for build, place in zip(builds, places, strict=True):
            _place(build, place)
    finally:
        for build in builds:
            remove(build)


def _configuration(sweep: Sweep, name: str) -> str:
    """The whole configuration of the sweep as the JSON text of a configuration file."""
    return json.dumps({"sweeps": {name: effective(sweep)}})


def _place(build: Path, place: Path) -> None:
    """Puts a finished dataset in its place and removes the earlier one; files a user put into it are kept."""
    if place.exists():
        for entry in os.scandir(place):
            if entry.is_file() and entry.name != "zarr.json":
                shutil.copy2(entry.path, build / entry.name)
    if (earlier := exchange(build, place)) is not None:
        remove(earlier)


def _remove_dead_builds(out_dir: Path) -> None:
    for entry in os.scandir(out_dir):
        if is_temporary(entry.name):
            remove_stale(Path(entry.path))
