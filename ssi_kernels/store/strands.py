"""Strands: what is stored of some replicas of one point from step 0 on without a gap, in however many pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ssi_kernels.store.coverage import FINISHED, Piece

Range = tuple[int, int]


@dataclass(frozen=True)
class Strand:
    """Replicas of one point up to the step `end`; those that have stopped or diverged may be stored for fewer steps."""

    point_id: str
    replicas: Range
    end: int
    pieces: tuple[Piece, ...]

    @property
    def is_one_piece(self) -> bool:
        """Whether one piece is exactly this strand."""
        (first, *others) = self.pieces
        return not others and (first.replicas, first.steps) == (self.replicas, (0, self.end))

    @property
    def finished(self) -> tuple[Range, ...]:
        """The ranges of replicas that have stopped or diverged by the end."""
        lo, hi = self.replicas
        inside = {(max(a, lo), min(b, hi)) for piece in self.pieces for a, b in piece.finished}
        return tuple(sorted((a, b) for a, b in inside if a < b))


@dataclass(frozen=True)
class Strands:
    """The strands of one point, and the pieces that no strand reaches, because what comes before them is lost."""

    strands: tuple[Strand, ...]
    adrift: tuple[Piece, ...]


def strands_of(point_id: str, pieces: Iterable[Piece], fits: Callable[[int, list[Piece]], bool]) -> Strands:
    """The fewest strands of a point whose replicas are side by side.

    `fits(replicas, pieces)` says whether so many replicas may be in one strand; replicas that are in one piece stay
    together whatever it says.
    """
    ordered = sorted(pieces, key=_order)
    first = ordered[0]
    if first.steps[0] == 0 and all(_holds(first, piece) for piece in ordered):  # the usual case
        return Strands((Strand(point_id, first.replicas, first.steps[1], (first,)),), ())
    followed = _Followed(ordered)
    strands = tuple(
        Strand(point_id, group.replicas, group.end, tuple(group.pieces)) for group in _groups(followed.runs(), fits)
    )
    return Strands(strands, tuple(followed.adrift()))


@dataclass
class _Run:
    """Replicas side by side that are stored in the same pieces and are all finished by the end, or none of them."""

    replicas: Range
    end: int
    is_finished: bool
    pieces: list[Piece]


class _Followed:
    """Every replica of a point followed through its pieces, by the rule of `cover`."""

    def __init__(self, ordered: list[Piece]):
        count = max(piece.replicas[1] for piece in ordered)
        self._ordered, self._reach, self._end = ordered, np.full(count, -1), np.full(count, -1)
        self._takes = np.zeros((len(ordered), count), bool)
        for place, piece in enumerate(ordered):
            self._follow(place, piece)

    def _follow(self, place: int, piece: Piece) -> None:
        lo, hi = piece.replicas
        reach, begin, end = self._reach[lo:hi], piece.steps[0] or -1, piece.steps[1]
        takes = (reach >= begin) & (reach < end)
        self._takes[place, lo:hi] = takes
        reach[takes] = end
        self._end[lo:hi][takes] = end
        for first, last in piece.finished:
            part = slice(first - lo, last - lo)
            reach[part][takes[part]] = FINISHED

    def runs(self) -> Iterator[_Run]:
        """The longest runs, without the replicas of which nothing is stored."""
        labels = np.vstack([self._takes, self._end, self._reach == FINISHED])
        changes = np.flatnonzero((np.diff(labels, axis=1) != 0).any(axis=0)) + 1
        bounds = [0, *changes.tolist(), labels.shape[1]]
        for lo, hi in itertools.pairwise(bounds):
            if self._end[lo] >= 0:
                taken = [piece for piece, takes in zip(self._ordered, self._takes[:, lo], strict=True) if takes]
                yield _Run((lo, hi), int(self._end[lo]), bool(self._reach[lo] == FINISHED), taken)

    def adrift(self) -> Iterator[Piece]:
        """The pieces with a replica that does not get there."""
        for piece in self._ordered:
            if (self._reach[slice(*piece.replicas)] < piece.steps[1]).any():
                yield piece


def _groups(runs: Iterable[_Run], fits: Callable[[int, list[Piece]], bool]) -> Iterator[_Run]:
    """Neighbouring runs that can be one strand: of one end, or finished by then."""
    group: _Run | None = None
    for run in runs:
        together = None if group is None else _together(group, run)
        if together is not None and (_share(group, run) or fits(_span(together), together.pieces)):
            group = together
            continue
        if group is not None:
            yield group
        group = run
    if group is not None:
        yield group


def _together(one: _Run, other: _Run) -> _Run | None:
    """Two runs as one; None where that cannot be."""
    end = max(one.end, other.end)
    if one.replicas[1] != other.replicas[0] or any(run.end < end and not run.is_finished for run in (one, other)):
        return None
    pieces = [*one.pieces, *(piece for piece in other.pieces if piece not in one.pieces)]
    return _Run((one.replicas[0], other.replicas[1]), end, one.is_finished and other.is_finished, pieces)


def _share(one: _Run, other: _Run) -> bool:
    return any(piece in one.pieces for piece in other.pieces)


def _span(run: _Run) -> int:
    """How many replicas the pieces of a run hold from the first to the last."""
    return max(piece.replicas[1] for piece in run.pieces) - min(piece.replicas[0] for piece in run.pieces)


def _holds(one: Piece, other: Piece) -> bool:
    """Whether a piece from step 0 on has all that another one has."""
    inside = one.replicas[0] <= other.replicas[0] and other.replicas[1] <= one.replicas[1]
    return inside and other.steps[1] <= one.steps[1]


def _order(piece: Piece) -> tuple:
    return piece.steps[0], -piece.steps[1], piece.replicas[0], -piece.replicas[1], str(piece.path)
