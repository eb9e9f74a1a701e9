"""How far the stored pieces of one point reach, replica by replica."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.location import Location

if TYPE_CHECKING:
    from ssi_kernels.store.segments import Heading

FINISHED = int(np.iinfo(np.int64).max)
"""The reach of a replica that has stopped by rule or diverged: it is complete for every horizon."""


@dataclass(frozen=True)
class Piece:
    """One point's part of one segment.

    `row` is the point's place in the segment, `replicas` half-open, `steps` (from, to], and `finished` the
    ranges of replicas that have stopped or diverged by `to`.
    """

    path: Location
    row: int
    replicas: tuple[int, int]
    steps: tuple[int, int]
    finished: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Coverage:
    """`reach[k]`: the step up to which replica k is stored without a gap, -1 for nothing, `FINISHED` for ever.

    `source[k]`: which of `pieces` ends there, -1 for none. `pieces`: those needed, in the order of their
    steps; pieces that add nothing to the others are left out.
    """

    reach: np.ndarray
    source: np.ndarray
    pieces: tuple[Piece, ...]


def pieces_by_point(headings: Mapping[Location, Heading]) -> dict[str, list[Piece]]:
    """The pieces of every point in segments with these headings, by its `point_id`."""
    pieces = defaultdict(list)
    for path, heading in headings.items():
        for row, point_id in enumerate(heading.point_ids):
            pieces[point_id].append(Piece(path, row, heading.replicas, heading.steps, heading.finished[row]))
    return dict(pieces)


def cover(pieces: Iterable[Piece], replicas: int, horizon: int) -> Coverage:
    """Joins the pieces of a point for its first `replicas` replicas and the steps up to `horizon`.

    Pieces may overlap, because equal work gives equal bits, and may be longer than the horizon, because
    a shorter horizon is a prefix.
    """
    reach, source, used = np.full(replicas, -1), np.full(replicas, -1), []
    for piece in sorted(pieces, key=_order):
        lo, hi = piece.replicas[0], min(piece.replicas[1], replicas)
        begin, end = piece.steps[0] or -1, piece.steps[1]
        extended = (reach[lo:hi] >= begin) & (reach[lo:hi] < min(end, horizon))
        if extended.any():
            reach[lo:hi][extended] = end
            source[lo:hi][extended] = len(used)
            used.append(piece)
            for first, last in piece.finished:
                part = slice(first - lo, min(last, hi) - lo)
                reach[lo:hi][part][extended[part]] = FINISHED
    return Coverage(reach, source, tuple(used))


def _order(piece: Piece) -> tuple:
    return piece.steps[0], -piece.steps[1], piece.replicas, str(piece.path)
