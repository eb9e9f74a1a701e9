"""Which work is missing, why, and what it can resume from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.coverage import Coverage, Piece, cover
from ssi_kernels.store.index import SegmentIndex

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
    resume: Path | None = None


def missing(points: Iterable[Point], index: SegmentIndex) -> list[Missing]:
    """What the store lacks of the asked replicas and horizon of every point, in the order of the points.

    A replica that has stopped by rule or diverged lacks nothing. `index` is taken as it is: refresh it first.
    """
    return [work for point in points for work in _missing_of(point, index.covered(point.point_id))]


def _missing_of(point: Point, pieces: list[Piece]) -> list[Missing]:
    if any(_holds_all(piece, point) for piece in pieces):
        return []
    coverage = cover(pieces, point.replicas, point.steps)
    return [_work(point, pieces, coverage, run) for run in _runs(coverage, point.steps)]


def _holds_all(piece: Piece, point: Point) -> bool:
    """The usual case of a finished sweep, answered without building a coverage."""
    starts = piece.steps[0] == 0 and piece.replicas[0] == 0
    return starts and piece.steps[1] >= point.steps and piece.replicas[1] >= point.replicas


def _runs(coverage: Coverage, horizon: int) -> list[tuple[int, int]]:
    """Ranges of incomplete replicas that reach equally far and resume from the same segment."""
    kind = np.where(coverage.reach >= horizon, -2, coverage.source)
    edges = np.flatnonzero(np.diff(kind)) + 1
    bounds = [0, *edges.tolist(), len(kind)]
    return [(lo, hi) for lo, hi in zip(bounds, bounds[1:], strict=False) if hi > lo and kind[lo] != -2]


def _work(point: Point, pieces: list[Piece], coverage: Coverage, run: tuple[int, int]) -> Missing:
    source = int(coverage.source[run[0]])
    if source < 0:
        return Missing(point, run, (0, point.steps), _reason_from_nothing(pieces, run))
    piece = coverage.pieces[source]
    whole = run == (0, point.replicas)
    reason = f"steps beyond {piece.steps[1]}" + ("" if whole else f" of {_named(run)}")
    return Missing(point, run, (piece.steps[1], point.steps), reason, piece.path)


def _reason_from_nothing(pieces: list[Piece], run: tuple[int, int]) -> str:
    if not pieces:
        return "never computed"
    later = [piece for piece in pieces if piece.replicas[0] < run[1] and run[0] < piece.replicas[1]]
    if later:
        return f"steps up to {min(piece.steps[0] for piece in later)} of {_named(run)} are lost"
    return _named(run)


def _named(run: tuple[int, int]) -> str:
    lo, hi = run
    return f"replica {lo}" if hi - lo == 1 else f"replicas {lo}..{hi - 1}"
