"""Which work is missing, why, and what it can resume from."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.coverage import Piece, cover
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point


@dataclass(frozen=True)
class Missing:
    """Work to do for one point: `replicas` half-open, `steps` (from, to].

    `reason` says why, for people. `resume` is the segment that holds the state of all these replicas at
    `from`, or None where they start at step 0.
    """

    point: Point
    replicas: tuple[int, int]
    steps: tuple[int, int]
    reason: str
    resume: Location | None = None


def missing(points: Iterable[Point], index: SegmentIndex) -> list[Missing]:
    """What the store lacks of the asked replicas and horizon of every point, in the order of the points.

    A replica that has stopped by rule or diverged lacks nothing. Points with one `point_id`, such as two names
    of one student, are one piece of work. `index` is taken as it is: refresh it first.
    """
    same = defaultdict(list)
    for point in points:
        same[point.point_id].append(point)
    return [work for point_id, twins in same.items() for work in _missing_of(twins, index.covered(point_id))]


def _missing_of(twins: list[Point], pieces: list[Piece]) -> Iterator[Missing]:
    """The work for points of one `point_id`, which may ask for different numbers of replicas and steps."""
    twins = [point for point in twins if not any(_holds_all(piece, point) for piece in pieces)]
    if not twins:
        return
    if not pieces and len(twins) == 1:  # the usual case of a new sweep, answered without building a coverage
        yield _work(twins[0], (0, twins[0].replicas), None, pieces)
        return
    horizon = np.zeros(max(point.replicas for point in twins), np.int64)
    for point in twins:
        np.maximum(horizon[: point.replicas], point.steps, out=horizon[: point.replicas])
    coverage = cover(pieces, len(horizon), int(horizon.max()))
    lacking = coverage.reach < horizon
    for lo, hi in _uniform_runs(lacking, horizon, coverage.source):
        if lacking[lo]:
            point = next(point for point in twins if point.steps == horizon[lo] and point.replicas > lo)
            source = coverage.source[lo]
            yield _work(point, (lo, hi), coverage.pieces[source] if source >= 0 else None, pieces)


def _holds_all(piece: Piece, point: Point) -> bool:
    """The usual case of a finished sweep, answered without building a coverage."""
    starts = piece.steps[0] == 0 and piece.replicas[0] == 0
    return starts and piece.steps[1] >= point.steps and piece.replicas[1] >= point.replicas


def _uniform_runs(*labels: np.ndarray) -> Iterator[tuple[int, int]]:
    """The longest half-open ranges in which none of the vectors changes."""
    changes = np.flatnonzero(np.any([np.diff(label) != 0 for label in labels], axis=0)) + 1
    bounds = [0, *changes.tolist(), len(labels[0])]
    return itertools.pairwise(bounds)


def _work(point: Point, run: tuple[int, int], source: Piece | None, pieces: list[Piece]) -> Missing:
    """`source`: the piece that the run continues, or None where nothing reaches step 0."""
    if source is None:
        return Missing(point, run, (0, point.steps), _why_from_nothing(run, pieces))
    reached = source.steps[1]
    whole = run == (0, point.replicas)
    reason = f"steps beyond {reached}" + ("" if whole else f" of {_named(run)}")
    return Missing(point, run, (reached, point.steps), reason, source.path)


def _why_from_nothing(run: tuple[int, int], pieces: list[Piece]) -> str:
    if not pieces:
        return "never computed"
    later = [piece.steps[0] for piece in pieces if piece.replicas[0] < run[1] and run[0] < piece.replicas[1]]
    return f"steps up to {min(later)} of {_named(run)} are lost" if later else _named(run)


def _named(run: tuple[int, int]) -> str:
    lo, hi = run
    return f"replica {lo}" if hi - lo == 1 else f"replicas {lo}..{hi - 1}"
