"""Whether what is stored is what was computed: all files read again, and some points computed again from scratch."""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ssi_kernels.execute.failures import read_failures
from ssi_kernels.store.claims import reading
from ssi_kernels.store.coverage import cover
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.segments import UnreadableSegment, read_segment

if TYPE_CHECKING:
    from ssi_kernels.execute.recompute import Recomputed
    from ssi_kernels.execute.request import PlacedSweep
    from ssi_kernels.store.location import Location
    from ssi_kernels.sweep import Point


@dataclass
class Verified:
    """What was looked at and what was found.

    `damaged`: one line for each segment whose bytes are not those that were written; it was set aside. `datasets`: for
    each sweep how its datasets compare with the store, and `differences` the lines that say where they do not agree.
    `recomputed`: every point of the sample.
    """

    files: int = 0
    bytes: int = 0
    damaged: list[str] = field(default_factory=list)
    datasets: dict[str, str] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    recomputed: list[Recomputed] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged or different."""
        return not self.damaged and not self.differences and all(one.is_equal for one in self.recomputed)


def verify(sweeps: Mapping[str, PlacedSweep], sample: int, seed: int) -> Verified:
    """Reads all that these sweeps use of their store, compares their datasets with it, and computes a sample again.

    Nothing is removed meanwhile. Raises StoreBusy where somebody removes files, StoreError for what cannot be read.
    """
    found = Verified()
    if not sweeps:
        return found
    store = next(iter(sweeps.values())).store
    with reading(store, f"ssi verify (pid {os.getpid()} on {platform.node()})"):
        index = SegmentIndex(store)
        found.damaged += [line for line in index.refresh() if "damaged" in line]
        _read_all(sweeps, index, found)
        for name, placed in sweeps.items():
            _compare(name, placed, index, found)
        _recompute(sweeps, index, sample, seed, found)
    return found


def _read_all(sweeps: Mapping[str, PlacedSweep], index: SegmentIndex, found: Verified) -> None:
    """Reads every array of every segment that the sweeps use."""
    for path in sorted(_used(sweeps, index), key=str):
        found.files, found.bytes = found.files + 1, found.bytes + index.size(path)
        try:
            segment = read_segment(path)
        except UnreadableSegment as error:
            found.damaged.append(str(error))
            index.forget(path)
            continue
        if not path.name.startswith(segment.segment_id):
            found.damaged.append(f"{path}: holds other points, replicas or steps than its name says")


def _used(sweeps: Mapping[str, PlacedSweep], index: SegmentIndex) -> set[Location]:
    points = (point for placed in sweeps.values() for point in placed.grid.points)
    coverages = (cover(index.covered(point.point_id), point.replicas, point.steps) for point in points)
    return {piece.path for coverage in coverages for piece in coverage.pieces}


def _compare(name: str, placed: PlacedSweep, index: SegmentIndex, found: Verified) -> None:
    from ssi_kernels.store.comparison import DIFFERENT, EQUAL, differences, state_of

    failures = {key: failure.reason for key, failure in read_failures(placed.folder).items()}
    state = state_of(placed.folder, placed.grid, index, failures)
    lines = list(differences(placed.folder, placed.grid, index, failures)) if state == EQUAL else []
    found.differences += lines
    found.datasets[name] = DIFFERENT if lines else state


def _recompute(sweeps: Mapping[str, PlacedSweep], index: SegmentIndex, sample: int, seed: int, found: Verified) -> None:
    stored = {point.point_id: (name, point) for name, point in _stored(sweeps, index)}
    chosen = random.Random(seed).sample(list(stored.values()), min(sample, len(stored)))
    if chosen:
        from ssi_kernels.execute.recompute import recompute

        found.recomputed += recompute(chosen, index)


def _stored(sweeps: Mapping[str, PlacedSweep], index: SegmentIndex) -> Iterator[tuple[str, Point]]:
    for name, placed in sweeps.items():
        for point in placed.grid.points:
            if index.covered(point.point_id):
                yield name, point
