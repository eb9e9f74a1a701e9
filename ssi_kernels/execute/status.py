"""Counts of points and of replicas' outcomes, straight from the store."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import Outcome
from ssi_kernels.execute.failures import read_failures
from ssi_kernels.store.coverage import Coverage, Piece, cover
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location
from ssi_kernels.store.outcomes import Fate
from ssi_kernels.store.segments import read_segment

if TYPE_CHECKING:
    from ssi_kernels.execute.request import PlacedSweep
    from ssi_kernels.sweep import Point

_EVENTS = ("recovery_step", "diverged_step", "stop_step")


@dataclass(frozen=True)
class Counts:
    """Points that are complete, missing or failed; complete replicas by outcome at the first threshold."""

    points: int = 0
    complete: int = 0
    missing: int = 0
    failed: int = 0
    recovered: int = 0
    censored: int = 0
    diverged: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(self)))


def count(placed: PlacedSweep, index: SegmentIndex) -> Counts:
    """The state of a sweep; `index` is taken as it is."""
    points = placed.grid.points
    lacking = {item.point.point_id for item in placed.missing(index)}
    failed = lacking & read_failures(placed.folder).keys()
    outcomes = _outcomes(placed, index)
    missing = sum(point.point_id in lacking - failed for point in points)
    broken = sum(point.point_id in failed for point in points)
    return Counts(
        points=len(points),
        complete=len(points) - missing - broken,
        missing=missing,
        failed=broken,
        recovered=outcomes[Outcome.RECOVERED],
        censored=outcomes[Outcome.CENSORED],
        diverged=outcomes[Outcome.DIVERGED],
    )


def _outcomes(placed: PlacedSweep, index: SegmentIndex) -> Counter:
    """How many replicas have each outcome at the first threshold; each segment is read once."""
    grid = placed.grid
    coverages = [cover(index.covered(point.point_id), point.replicas, point.steps) for point in grid.points]
    events = [np.full((len(_EVENTS), point.replicas), np.nan) for point in grid.points]
    for path, uses in _by_segment(coverages).items():
        arrays = read_segment(path, _EVENTS).arrays
        for place, piece in uses:
            _merge(events[place], arrays, piece, grid.threshold_order(grid.points[place])[0])
    counts: Counter = Counter()
    for point, coverage, event in zip(grid.points, coverages, events, strict=True):
        counts.update(_fate(point, coverage, event).outcome().ravel().tolist())
    return counts


def _by_segment(coverages: Iterable[Coverage]) -> dict[Location, list[tuple[int, Piece]]]:
    uses = defaultdict(list)
    for place, coverage in enumerate(coverages):
        for piece in coverage.pieces:
            uses[piece.path].append((place, piece))
    return uses


def _merge(events: np.ndarray, arrays: dict[str, np.ndarray], piece: Piece, threshold: int) -> None:
    """Enter what one piece tells: the earliest step of each event since step 0."""
    lo, hi = piece.replicas[0], min(piece.replicas[1], events.shape[1])
    for row, name in enumerate(_EVENTS):
        steps = arrays[name][piece.row, : hi - lo]
        steps = steps[:, threshold] if name == "recovery_step" else steps
        events[row, lo:hi] = np.fmin(events[row, lo:hi], steps)


def _fate(point: Point, coverage: Coverage, events: np.ndarray) -> Fate:
    recovery, diverged, stopped = events
    return Fate(
        recovery_step=recovery[None, :, None],
        diverged_step=diverged[None],
        stop_step=stopped[None],
        complete=(coverage.reach >= point.steps)[None],
        horizon=np.array([point.steps]),
    )
