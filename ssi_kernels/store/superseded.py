"""Which segments of a store can go, because others hold all that they hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from ssi_kernels.store.coverage import Piece, pieces_by_point
from ssi_kernels.store.location import Location
from ssi_kernels.store.segments import Heading


def superseded(headings: Mapping[Location, Heading], wanted: Collection[Location]) -> dict[Location, set[Location]]:
    """The segments besides `wanted` that can all go at once, each with those that hold what it holds.

    What those hold is equal to the bit, because equal work is.
    """
    pieces, gone = pieces_by_point(headings), {}
    for path in sorted(headings.keys() - set(wanted), key=str):
        holders = _holders_of_segment(path, headings[path], pieces, gone)
        if holders is not None:
            gone[path] = holders
    return gone


def _holders_of_segment(
    path: Location, heading: Heading, pieces: Mapping[str, list[Piece]], gone: Collection[Location]
) -> set[Location] | None:
    """Segments that together hold all of a segment; None where they do not."""
    holders: set[Location] = set()
    for row, point_id in enumerate(heading.point_ids):
        own = Piece(path, row, heading.replicas, heading.steps, heading.finished[row])
        found = _holders(own, (piece for piece in pieces[point_id] if piece.path != path and piece.path not in gone))
        if found is None:
            return None
        holders |= found
    return holders


def _holders(own: Piece, others: Iterable[Piece]) -> set[Location] | None:
    """Segments that together hold all replicas and steps of a piece; None where they do not.

    Of a replica that has stopped or diverged nothing comes after that.
    """
    lo, hi = own.replicas
    needed, holders = np.ones(hi - lo, bool), set()
    for piece in others:
        if piece.steps[0] > own.steps[0]:
            continue
        for first, last in [piece.replicas] if piece.steps[1] >= own.steps[1] else piece.finished:
            part = slice(max(first - lo, 0), max(last - lo, 0))
            if needed[part].any():
                needed[part] = False
                holders.add(piece.path)
    return None if needed.any() else holders
