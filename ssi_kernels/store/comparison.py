"""Whether the datasets of a sweep hold what the store holds, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import zarr
from zarr.storage import MemoryStore

from ssi_kernels.errors import Status
from ssi_kernels.store.consolidation import RECOVERY, TRAJECTORIES
from ssi_kernels.store.dataset import DatasetWriter, recovery_writer, trajectories_writer
from ssi_kernels.store.gather import gather
from ssi_kernels.store.layout import Block, layout_of
from ssi_kernels.store.marker import changed_files, fingerprint, read_marker
from ssi_kernels.store.missing import missing

if TYPE_CHECKING:
    from ssi_kernels.store.index import SegmentIndex
    from ssi_kernels.sweep import Grid

EQUAL, ABSENT, OTHER, DIFFERENT = "equal", "never built", "built from other points", "different"


def state_of(folder: Path, grid: Grid, index: SegmentIndex, failures: Mapping[str, str]) -> str:
    """EQUAL where there are datasets of this grid, made from what is stored now or from all of it; else why not."""
    marker = read_marker(folder)
    if marker is None:
        return ABSENT
    expected = fingerprint(grid, missing(grid.points, index), failures), fingerprint(grid, [], {})
    return EQUAL if marker["fingerprint"] in expected else OTHER


def differences(folder: Path, grid: Grid, index: SegmentIndex, failures: Mapping[str, str]) -> Iterator[str]:
    """One line for each file that is lost, and each variable of a block, coordinate or number that is not as stored.

    Replicas that the store does not hold (any more) are not compared. Memory is bounded by two blocks.
    """
    for name in changed_files(folder):
        yield f"{folder / name}: lost, or of another size than was written"
    layout = layout_of(grid)
    for name, begin in ((TRAJECTORIES, trajectories_writer), (RECOVERY, recovery_writer)):
        yield from _fixed_differences(folder / name, begin(MemoryStore(), layout))
    for block in layout.blocks():
        values = gather(block, layout, index, failures)
        yield from _block_differences(folder / TRAJECTORIES, block, values.trajectories)
        yield from _block_differences(folder / RECOVERY, block, values.recovery)


def _fixed_differences(place: Path, expected: DatasetWriter) -> Iterator[str]:
    """Coordinates, and variables that do not come from segments."""
    for name in (*expected.coordinates, *expected.over_grid):
        wanted = {**expected.coordinates, **expected.over_grid}[name]
        found = _read(place, name)
        if isinstance(found, str):
            yield found
        elif not _same(found, wanted).all():
            yield f"{place}: {name} is not that of the sweep"


def _block_differences(place: Path, block: Block, values: Mapping[str, np.ndarray]) -> Iterator[str]:
    stored = values["status"] == Status.COMPLETE
    for name, wanted in values.items():
        found = _read(place, name, block.slices)
        if isinstance(found, str):
            yield found
            continue
        if found.shape != wanted.shape:
            yield f"{place}: {name} has shape {found.shape} in a block of shape {wanted.shape}"
            continue
        wrong = ~_same(found, wanted) & stored.reshape(*stored.shape, *(1,) * (wanted.ndim - stored.ndim))
        if wrong.any():
            at = tuple(int(i[0]) + part.start for i, part in zip(np.nonzero(wrong), block.slices, strict=False))
            yield f"{place}: {np.count_nonzero(wrong)} values of {name} are not those stored, first at {at} of the grid"


def _read(place: Path, name: str, slices: tuple = ()) -> np.ndarray | str:
    """Some of a variable, or the line that says why it cannot be read."""
    try:
        return np.asarray(zarr.open_group(place, mode="r")[name][slices or ...])
    except Exception as error:  # Zarr's codecs raise what they like for damaged bytes
        return f"{place}: {name} cannot be read ({' '.join(str(error).split())[:200]})"


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Elementwise: the same bits, or both not a number."""
    if one.shape != other.shape:
        return np.zeros(1, bool)
    equal = one == other
    if one.dtype.kind == "f" and other.dtype.kind == "f":
        equal = np.where(equal, np.signbit(one) == np.signbit(other), np.isnan(one) & np.isnan(other))
    return equal
