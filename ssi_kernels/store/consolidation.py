"""From the store to the datasets of one sweep: built beside, then put in place of the earlier ones."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import Status, StoreError
from ssi_kernels.store.atomic import (
    cannot_write,
    exchange,
    is_temporary,
    remove,
    remove_stale,
    temporary_beside,
)
from ssi_kernels.store.claims import reading
from ssi_kernels.store.dataset import DatasetWriter, recovery_writer, trajectories_writer
from ssi_kernels.store.gather import BlockValues, coverages_of, gather
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.layout import Block, Layout, layout_of
from ssi_kernels.store.location import location
from ssi_kernels.store.marker import MARKER, fingerprint, write_marker
from ssi_kernels.store.missing import missing
from ssi_kernels.store.origin import Origins
from ssi_kernels.store.reuse import EarlierBlocks, KeptBlock, block_key
from ssi_kernels.sweep import effective

if TYPE_CHECKING:
    from ssi_kernels.store.coverage import Coverage
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
    blocks: int
    reused: int


def consolidate(
    sweep: Sweep,
    grid: Grid,
    store_root: str | Path,
    out_dir: str | Path,
    failures: Mapping[str, str] | None = None,
) -> Consolidated:
    """Builds `trajectories.zarr` and `recovery.zarr` in `out_dir` from the segments in `store_root`.

    `failures` maps the `point_id` of points that failed to the reason. Memory is bounded by one block, one
    (d, length) of the grid; blocks that did not change since the last time are kept as they are. Interrupted at any
    moment, it leaves the earlier datasets whole, and the next call removes what it left behind; other files in
    `out_dir` are not touched. The marker `consolidated.json`, written last, holds the fingerprint, the size of every
    file, and what each block was made from. Raises StoreError when it cannot write.
    """
    out_dir, failures = Path(out_dir), failures or {}
    with reading(location(store_root), f"the consolidation of {out_dir} (pid {os.getpid()} on {platform.node()})"):
        index = SegmentIndex(store_root)
        damaged = index.refresh()
        blocks = _Blocks(layout_of(grid), index, failures, EarlierBlocks(out_dir))
        try:
            out_dir.mkdir(parents=True, exist_ok=True)
            _remove_dead_builds(out_dir)
            _build_and_place(blocks, {"configuration": _configuration(sweep, out_dir.name)}, out_dir)
        except OSError as error:
            raise cannot_write(out_dir, error) from error
        content = fingerprint(grid, missing(grid.points, index), failures)
    write_marker(out_dir, content, (TRAJECTORIES, RECOVERY), blocks.kept)
    statuses = {status.name.lower(): blocks.statuses[status] for status in Status}
    return Consolidated(
        out_dir / TRAJECTORIES,
        out_dir / RECOVERY,
        content,
        **statuses,
        damaged=(*damaged, *blocks.damaged),
        blocks=len(blocks.kept),
        reused=blocks.reused,
    )


class _Blocks:
    """The blocks of a sweep on their way from the store into the datasets, and what was met on the way."""

    def __init__(self, layout: Layout, index: SegmentIndex, failures: Mapping[str, str], earlier: EarlierBlocks):
        self.layout, self._index, self._failures, self._earlier = layout, index, failures, earlier
        self.origins, self.damaged, self.statuses, self.reused = Origins(), [], Counter(), 0
        self.kept: dict[str, dict] = {}

    def write(self, trajectories: DatasetWriter, recovery: DatasetWriter) -> None:
        """Writes every block, or takes it from the earlier datasets."""
        for block in self.layout.blocks():
            coverages = coverages_of(block, self._index)
            key = self._key(block, coverages)
            targets = [writer.path / name for writer in (trajectories, recovery) for name in writer.files(block)]
            note = self._earlier.take(key, targets)
            if note is not None:
                self.reused += 1
            else:
                values = gather(block, self.layout, self._index, self._failures, coverages)
                trajectories.write(block, values.trajectories)
                recovery.write(block, values.recovery)
                note = _note(values)
                if values.damaged:
                    self.damaged += values.damaged
                    key = self._key(block, coverages_of(block, self._index))
            self._enter(note)
            files = [f"{TRAJECTORIES}/{name}" for name in trajectories.files(block)]
            files += [f"{RECOVERY}/{name}" for name in recovery.files(block)]
            self.kept[key] = KeptBlock(tuple(files), note).as_json()

    def _key(self, block: Block, coverages: list[Coverage]) -> str:
        return block_key(block, self.layout, self._index, coverages, self._failures)

    def _enter(self, note: dict) -> None:
        self.origins.add_note(note["origins"])
        self.statuses.update({Status[name]: count for name, count in note["statuses"].items()})


def _note(values: BlockValues) -> dict:
    """What is remembered of a block: where its numbers come from, and how many points are in which status.

    A point is complete when all its replicas are, and failed when the others failed.
    """
    status, origins = values.recovery["status"], Origins()
    origins.add(values.provenance)
    complete = (status == Status.COMPLETE).all(axis=-1)
    failed = (status == Status.FAILED).any(axis=-1)
    counts = {Status.COMPLETE: complete, Status.FAILED: failed, Status.MISSING: ~complete & ~failed}
    return {"origins": origins.note(), "statuses": {key.name: int(flags.sum()) for key, flags in counts.items()}}


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
