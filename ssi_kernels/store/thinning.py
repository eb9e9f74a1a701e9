"""Taking points out of a store: a segment that holds others too is written again without them.

The new segment is there before the old one goes, so that a kill in between loses nothing that should stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location
from ssi_kernels.store.parts import share
from ssi_kernels.store.segments import (
    Heading,
    Segment,
    UnreadableSegment,
    read_segment,
    segment_id,
    segment_path,
    write_segment,
)


@dataclass(frozen=True)
class Cut:
    """A segment with points that are to go: the rows that stay, and those that go."""

    path: Location
    stay: tuple[int, ...]
    go: tuple[int, ...]


def cuts_of(headings: Mapping[Location, Heading], unwanted: Collection[str]) -> list[Cut]:
    """What must be cut so that no segment holds a point whose `point_id` is in `unwanted`."""
    cuts = []
    for path, heading in sorted(headings.items(), key=lambda entry: str(entry[0])):
        go = tuple(row for row, point_id in enumerate(heading.point_ids) if point_id in unwanted)
        if go:
            cuts.append(Cut(path, tuple(row for row in range(len(heading.point_ids)) if row not in set(go)), go))
    return cuts


def freed_bytes(index: SegmentIndex, cuts: Iterable[Cut]) -> int:
    """About how many bytes go with the points."""
    return round(sum(index.size(cut.path) * len(cut.go) / (len(cut.go) + len(cut.stay)) for cut in cuts))


def carry_out(index: SegmentIndex, cuts: Iterable[Cut]) -> list[str]:
    """Makes the cuts; needs the store for itself (`claims.alone`). Returns one line for each segment found damaged.

    Raises StoreError where the store cannot be written.
    """
    headings, damaged = index.headings(), []
    for cut in cuts:
        try:
            if cut.stay and not _is_whole(_rest_of(index.root, cut, headings), headings, damaged):
                write_segment(index.root, without(read_segment(cut.path), cut.stay))
        except UnreadableSegment as error:
            damaged.append(str(error))
        cut.path.unlink(missing_ok=True)
    index.refresh()
    return damaged


def _rest_of(root: Location, cut: Cut, headings: Mapping[Location, Heading]) -> Location:
    """Where the rows that stay go."""
    heading = headings[cut.path]
    ids = [heading.point_ids[row] for row in cut.stay]
    return segment_path(root, segment_id(ids, heading.replicas, heading.steps))


def _is_whole(path: Location, headings: Mapping[Location, Heading], damaged: list[str]) -> bool:
    """Whether there is such a segment already, every byte of it as it was written."""
    if path not in headings:
        return False
    try:
        read_segment(path)
    except UnreadableSegment as error:
        damaged.append(str(error))
        return False
    return True


def without(segment: Segment, stay: tuple[int, ...]) -> Segment:
    """A segment with some of its rows only."""
    return Segment(
        points=tuple(segment.points[row] for row in stay),
        replicas=segment.replicas,
        steps=segment.steps,
        recorded=segment.recorded,
        arrays={name: array[list(stay)] for name, array in segment.arrays.items()},
        provenance=share(segment.provenance, len(stay) / len(segment.points)),
    )
