"""Counts of points and of replicas' outcomes, and the state of each point, straight from the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import Outcome
from ssi_kernels.execute.failures import Failure, read_failures
from ssi_kernels.store.coverage import Piece, cover
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location
from ssi_kernels.store.outcomes import Fate
from ssi_kernels.store.segments import read_segment

if TYPE_CHECKING:
    from ssi_kernels.execute.request import PlacedSweep
    from ssi_kernels.sweep import Grid, Point

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


@dataclass(frozen=True)
class PointState:
    """One point: `state` is complete, missing or failed; `reason` says what is lacking, or why it failed, or is None.

    `diverged`: how many of its complete replicas diverged.
    """

    coords: dict
    state: str
    reason: str | None
    diverged: int

    @property
    def is_ordinary(self) -> bool:
        """Whether there is nothing to say of it."""
        return self.state == "complete" and not self.diverged


@dataclass(frozen=True)
class SweepState:
    """The state of a sweep: of all its points together, and of each in the order of the grid."""

    counts: Counts
    points: list[PointState]


def count(placed: PlacedSweep, index: SegmentIndex) -> Counts:
    """The state of a sweep; `index` is taken as it is."""
    return look(placed, index).counts


def look(placed: PlacedSweep, index: SegmentIndex) -> SweepState:
    """The state of a sweep and of each of its points; `index` is taken as it is."""
    outcomes = _outcomes(placed.grid, index)
    diverged = (outcomes == Outcome.DIVERGED).sum(axis=1).tolist()
    lacking, failures = _reasons(placed, index), read_failures(placed.folder)
    points = [_state(point, lacking, failures, n) for point, n in zip(placed.grid.points, diverged, strict=True)]
    states = [point.state for point in points]
    counts = Counts(
        points=len(points),
        complete=states.count("complete"),
        missing=states.count("missing"),
        failed=states.count("failed"),
        recovered=int((outcomes == Outcome.RECOVERED).sum()),
        censored=int((outcomes == Outcome.CENSORED).sum()),
        diverged=sum(diverged),
    )
    return SweepState(counts, points)


def _reasons(placed: PlacedSweep, index: SegmentIndex) -> dict[str, str]:
    """What is lacking of each point that is not complete."""
    reasons = defaultdict(list)
    for item in placed.missing(index):
        reasons[item.point.point_id].append(item.reason)
    return {point_id: "; ".join(found) for point_id, found in reasons.items()}


def _state(point: Point, lacking: dict[str, str], failures: dict[str, Failure], diverged: int) -> PointState:
    reason = lacking.get(point.point_id)
    if reason is None:
        return PointState(point.coords, "complete", None, diverged)
    if point.point_id in failures:
        return PointState(point.coords, "failed", failures[point.point_id].reason, diverged)
    return PointState(point.coords, "missing", reason, diverged)


def _outcomes(grid: Grid, index: SegmentIndex) -> np.ndarray:
    """`Outcome` at the first threshold, (point, replica); each segment is read once."""
    replicas = max(point.replicas for point in grid.points)
    head = len(grid.points), replicas
    complete, events = np.zeros(head, bool), np.full((len(_EVENTS), *head), np.nan)
    first = _first_thresholds(grid)
    for path, uses in _uses(grid, index, complete).items():
        places, pieces = zip(*uses, strict=True)
        _merge(events, read_segment(path, _EVENTS).arrays, np.array(places), pieces, first[list(places)])
    recovery, diverged, stopped = events
    horizon = np.array([point.steps for point in grid.points])
    return Fate(recovery[..., None], diverged, stopped, complete, horizon).outcome()[..., 0]


def _uses(grid: Grid, index: SegmentIndex, complete: np.ndarray) -> dict[Location, list[tuple[int, Piece]]]:
    """Which pieces of a segment are of use for which points; notes in `complete` which replicas are there."""
    uses = defaultdict(list)
    for place, point in enumerate(grid.points):
        for piece in _needed(point, index.covered(point.point_id), complete[place]):
            uses[piece.path].append((place, piece))
    return uses


def _needed(point: Point, pieces: list[Piece], complete: np.ndarray) -> Iterator[Piece]:
    for piece in pieces:
        if piece.steps[0] == 0 == piece.replicas[0] and piece.steps[1] >= point.steps:
            if piece.replicas[1] >= point.replicas:  # the usual case of a finished sweep, without building a coverage
                complete[: point.replicas] = True
                yield piece
                return
    if pieces:
        coverage = cover(pieces, point.replicas, point.steps)
        complete[: point.replicas] = coverage.reach >= point.steps
        yield from coverage.pieces


def _first_thresholds(grid: Grid) -> np.ndarray:
    """For each point, which of its own thresholds the first one of the sweep is; they depend on d and length only."""
    known: dict[tuple[int, int], int] = {}
    for point in grid.points:
        if (point.d, point.length) not in known:
            known[point.d, point.length] = grid.threshold_order(point)[0]
    return np.array([known[point.d, point.length] for point in grid.points])


def _merge(
    events: np.ndarray, arrays: dict[str, np.ndarray], places: np.ndarray, pieces: tuple[Piece, ...], first: np.ndarray
) -> None:
    """Enters what one segment tells: the earliest step of each event since step 0."""
    lo, hi = pieces[0].replicas[0], min(pieces[0].replicas[1], events.shape[2])
    rows = np.array([piece.row for piece in pieces])
    for target, name in zip(events, _EVENTS, strict=True):
        steps = arrays[name][rows, : hi - lo]
        if name == "recovery_step":
            steps = np.take_along_axis(steps, first[:, None, None], axis=2)[..., 0]
        target[places, lo:hi] = np.fmin(target[places, lo:hi], steps)
