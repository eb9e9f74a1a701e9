"""Which segments of a store can be put together into fewer, larger ones."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ssi_kernels.store.assembly import frame_of
from ssi_kernels.store.coverage import Piece, pieces_by_point
from ssi_kernels.store.frames import Frame, lane_bytes
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location
from ssi_kernels.store.parts import computed_with
from ssi_kernels.store.segments import Heading, segment_id, segment_path
from ssi_kernels.store.strands import Strand, strands_of

MOST_BYTES = 64 * 2**20
MOST_POINTS = 4096


@dataclass(frozen=True)
class Limits:
    """How large a merged segment may be, in memory and in points. What is larger already is left as it is."""

    bytes: int = MOST_BYTES
    points: int = MOST_POINTS


@dataclass(frozen=True)
class Merge:
    """Strands that become one segment, in the order of their points."""

    strands: tuple[Strand, ...]
    frame: Frame

    @cached_property
    def name(self) -> str:
        """That of the segment."""
        first = self.strands[0]
        return segment_id((strand.point_id for strand in self.strands), first.replicas, (0, first.end))

    @property
    def heading(self) -> Heading:
        """What the segment will hold."""
        first = self.strands[0]
        ids = tuple(strand.point_id for strand in self.strands)
        return Heading(ids, first.replicas, (0, first.end), tuple(strand.finished for strand in self.strands))


@dataclass(frozen=True)
class _Unit:
    """Strands that stay together: all of a segment, or one that is yet to be put together."""

    strands: tuple[Strand, ...]
    is_segment: bool

    @property
    def rectangle(self) -> tuple:
        return self.strands[0].replicas, self.strands[0].end

    @property
    def order(self) -> tuple:
        """By the files that are read, so that few are read twice."""
        first = self.strands[0].pieces[0]
        return str(first.path), first.row


@dataclass(frozen=True)
class MergePlan:
    """The merges that a store asks for, and the segments that have a place in it once they are made."""

    merges: tuple[Merge, ...]
    wanted: frozenset[Location]


def plan_merges(index: SegmentIndex, frame: Callable[[Location], Frame], limits: Limits) -> MergePlan:
    """All merges that the segments of a store ask for.

    Steps and replicas of a point are put together as far as they are next to each other; then points whose segments
    have the same replicas, steps and arrays, and were computed with the same versions on the same device. `frame`
    reads the frame of a segment, and raises as `read_frame`.
    """
    strands = _StoredStrands(index.headings(), frame, limits)
    merges = [merge for group in strands.groups() for merge in _Bins(frame, limits, index.size).merges(group)]
    merged = {strand.pieces[0].path for merge in merges for strand in merge.strands}
    targets = {segment_path(index.root, merge.name) for merge in merges}
    return MergePlan(tuple(merges), frozenset(targets | strands.fixed | (strands.intact - merged)))


class _StoredStrands:
    """The strands of a store.

    `intact`: the segments that are whole strands of points that no other segment is taken for. `fixed`: those that
    must stay because something in them hangs in the air, until what came before it is computed again.
    """

    def __init__(self, headings: dict[Location, Heading], frame: Callable[[Location], Frame], limits: Limits):
        self._headings, self._frame, self._limits = headings, frame, limits
        self.fixed: set[Location] = set()
        pieces = pieces_by_point(headings)
        strands = [strand for point_id in sorted(pieces) for strand in self._follow(point_id, pieces[point_id])]
        exact = {strand: self._exact(strand, pieces[strand.point_id]) for strand in strands}
        rows = Counter(piece.path for found in exact.values() for piece in found)
        self._pure = {path for path, count in rows.items() if count == len(headings[path].point_ids)}
        self._strands = [self._taken_from(strand, found) for strand, found in exact.items()]
        taken = Counter(strand.pieces[0].path for strand in self._strands if strand.is_one_piece)
        self.intact = {path for path, count in taken.items() if count == len(headings[path].point_ids)}

    def _follow(self, point_id: str, pieces: list[Piece]) -> tuple[Strand, ...]:
        found = strands_of(point_id, pieces, self._fits)
        self.fixed.update(piece.path for piece in found.adrift)
        return found.strands

    def _fits(self, replicas: int, pieces: Sequence[Piece]) -> bool:
        frames = [self._frame(piece.path) for piece in pieces]
        recorded = max(len(frame.recorded) for frame in frames)
        return replicas * lane_bytes(frames[0].kinds, recorded) <= self._limits.bytes

    @staticmethod
    def _exact(strand: Strand, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces that are exactly a strand."""
        return [piece for piece in pieces if (piece.replicas, piece.steps) == (strand.replicas, (0, strand.end))]

    def _taken_from(self, strand: Strand, exact: list[Piece]) -> Strand:
        """A strand with the one piece that it is taken from, where there is one: best of a segment of strands only."""
        if not exact:
            return strand
        return replace(strand, pieces=(min(exact, key=self._rank),))

    def _rank(self, piece: Piece) -> tuple:
        return piece.path not in self._pure, -len(self._headings[piece.path].point_ids), str(piece.path)

    def groups(self) -> Iterator[list[_Unit]]:
        """Units of the same replicas and steps, as far as there is something to merge among them."""
        groups = defaultdict(list)
        for unit in self._units():
            groups[unit.rectangle].append(unit)
        for _, group in sorted(groups.items()):
            if len(group) > 1 or not group[0].is_segment:
                yield group

    def _units(self) -> Iterator[_Unit]:
        members = defaultdict(list)
        for strand in self._strands:
            path = strand.pieces[0].path
            if strand.is_one_piece and path in self.intact:
                members[path].append(strand)
            elif not (strand.is_one_piece and path in self.fixed):
                yield _Unit((strand,), False)
        for strands in members.values():
            yield _Unit(tuple(strands), True)


@dataclass(frozen=True)
class _Bins:
    """Filling merged segments up to the limits. `size` says how many bytes the file of a segment has."""

    frame: Callable[[Location], Frame]
    limits: Limits
    size: Callable[[Location], int]

    def merges(self, group: list[_Unit]) -> Iterator[Merge]:
        """The merges of a group: units that are alike, up to the limits."""
        alike = defaultdict(list)
        for unit in sorted(group, key=lambda unit: unit.order):
            if unit.is_segment and 2 * self.size(unit.strands[0].pieces[0].path) >= self.limits.bytes:
                continue
            frame = frame_of([self.frame(piece.path) for piece in unit.strands[0].pieces])
            if frame is not None:
                key = frame.kinds, hashlib.sha256(frame.recorded.tobytes()).digest(), computed_with(frame.provenance)
                alike[key].append((unit, frame))
        for units in alike.values():
            yield from self._packed(units)

    def _packed(self, units: list[tuple[_Unit, Frame]]) -> Iterator[Merge]:
        """Units in the order in which they come, a new segment where the next one does not fit any more."""
        frame = units[0][1]
        lo, hi = units[0][0].strands[0].replicas
        each = (hi - lo) * lane_bytes(frame.kinds, len(frame.recorded))
        most = max(1, min(self.limits.points, self.limits.bytes // each))
        together: list[_Unit] = []
        for unit, _ in units:
            if unit.is_segment and 2 * len(unit.strands) >= most:
                continue
            if together and sum(len(other.strands) for other in together) + len(unit.strands) > most:
                yield from _merge(together, frame)
                together = []
            together.append(unit)
        yield from _merge(together, frame)


def _merge(units: list[_Unit], frame: Frame) -> Iterator[Merge]:
    if len(units) > 1 or (units and not units[0].is_segment):
        strands = sorted((strand for unit in units for strand in unit.strands), key=lambda strand: strand.point_id)
        yield Merge(tuple(strands), frame)
