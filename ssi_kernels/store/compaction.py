"""Putting many small segments of a store together into fewer.

At every moment the store holds everything: the merged segments are written first, beside those that they replace, and
what is stored twice does no harm. What is superseded is then removed while nobody else is at work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ssi_kernels.store.assembly import assemble
from ssi_kernels.store.claims import StoreBusy, alone, reading
from ssi_kernels.store.frames import read_frame
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location
from ssi_kernels.store.merging import Limits, MergePlan, plan_merges
from ssi_kernels.store.segments import UnreadableSegment, read_segment, segment_path, write_segment
from ssi_kernels.store.superseded import superseded


@dataclass(frozen=True)
class Compaction:
    """What was done, or would be: files and bytes before and after, merged segments written, superseded ones removed.

    `bytes_after` is None where it is not known yet. `busy` says who was at work, so that nothing was removed, and is
    None otherwise. `damaged` has one line for each segment that could not be read; it was set aside.
    """

    files_before: int
    bytes_before: int
    files_after: int
    bytes_after: int | None
    written: int
    removed: int
    busy: str | None = None
    damaged: tuple[str, ...] = ()


def compact(store: Location, holder: str, limits: Limits | None = None) -> Compaction:
    """Merges the small segments of a store, and removes what is superseded unless others are at work.

    Every dataset, everything that is missing, and every continuation are the same before and after, to the bit. Needs
    free space for the merged segments. Raises StoreBusy where somebody removes files, StoreError where it cannot write.
    """
    limits, damaged = limits or Limits(), []
    with reading(store, holder):
        index = SegmentIndex(store)
        damaged += index.refresh()
        before = _size(index)
        written = _write_merges(index, limits, damaged)
    busy, removed = None, 0
    try:
        with alone(store, holder):
            index.refresh()
            removed = _remove_superseded(index, limits, damaged)
    except StoreBusy as error:
        busy = str(error)
    index.refresh()
    return Compaction(*before, *_size(index), written, removed, busy, tuple(damaged))


def foresee(store: Location, limits: Limits | None = None) -> Compaction:
    """What `compact` would do. Writes nothing but the index."""
    index, damaged = SegmentIndex(store), []
    damaged += index.refresh()
    plan = _plan(index, limits or Limits(), damaged)
    headings = index.headings()
    new = {segment_path(index.root, merge.name): merge.heading for merge in plan.merges}
    gone = superseded({**headings, **new}, plan.wanted)
    after = len({*headings, *new} - gone.keys())
    return Compaction(*_size(index), after, None, len(new.keys() - headings.keys()), len(gone), None, tuple(damaged))


def _size(index: SegmentIndex) -> tuple[int, int]:
    paths = index.headings()
    return len(paths), sum(map(index.size, paths))


def _plan(index: SegmentIndex, limits: Limits, damaged: list[str]) -> MergePlan:
    """The merges of a store; segments that turn out damaged are set aside on the way."""
    frame = lru_cache(maxsize=None)(read_frame)
    while True:
        try:
            return plan_merges(index, frame, limits)
        except UnreadableSegment as error:
            damaged.append(str(error))
            index.forget(error.path)


def _write_merges(index: SegmentIndex, limits: Limits, damaged: list[str]) -> int:
    """Writes the merged segments that are not there yet, and returns how many."""
    written = 0
    while True:
        known, plan = index.headings().keys(), _plan(index, limits, damaged)
        try:
            for merge in plan.merges:
                if segment_path(index.root, merge.name) not in known:
                    write_segment(index.root, assemble(merge.strands, merge.frame))
                    written += 1
            return written
        except UnreadableSegment as error:
            damaged.append(str(error))
            index.refresh()


def _remove_superseded(index: SegmentIndex, limits: Limits, damaged: list[str]) -> int:
    """Removes what others hold as well, once those have proved to be whole; returns how many files."""
    proved: set[Location] = set()
    while True:
        gone = superseded(index.headings(), _plan(index, limits, damaged).wanted)
        try:
            _prove(set().union(*gone.values()) - gone.keys() - proved, proved)
        except UnreadableSegment as error:
            damaged.append(str(error))
            index.forget(error.path)
            continue
        for path in gone:
            path.unlink(missing_ok=True)
        return len(gone)


def _prove(paths: Iterable[Location], proved: set[Location]) -> None:
    """Reads every byte of these segments. Raises UnreadableSegment."""
    for path in sorted(paths, key=str):
        read_segment(path)
        proved.add(path)
