"""What of a store nobody uses: points of no sweep, damaged segments that were set aside, files left half written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ssi_kernels.store.atomic import is_stale, is_temporary
from ssi_kernels.store.claims import alone
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location, files_by_prefix, listing
from ssi_kernels.store.segments import UnreadableSegment, read_segment
from ssi_kernels.store.thinning import Cut, carry_out, cuts_of, freed_bytes

CORRUPT = ".corrupt"


@dataclass(frozen=True)
class UnusedPoint:
    """A point that no sweep has: its coordinates where it was computed, in how many segments it is, and about how
    many bytes they take for it."""

    point_id: str
    coords: dict
    segments: int
    bytes: int


@dataclass(frozen=True)
class Litter:
    """What can be removed from a store.

    `cuts`: the segments with unused points, of which `whole` hold nothing else; `corrupt`: damaged segments that were
    set aside; `temporary`: what dead processes left half written. `bytes` is what all of it takes, about.
    """

    points: tuple[UnusedPoint, ...]
    cuts: tuple[Cut, ...]
    corrupt: tuple[str, ...]
    temporary: tuple[str, ...]
    bytes: int
    damaged: tuple[str, ...] = ()

    @property
    def whole(self) -> int:
        """How many segments go as a whole."""
        return sum(not cut.stay for cut in self.cuts)


def litter_of(store: Location, used: Collection[str]) -> Litter:
    """What a store holds besides the points whose `point_id` is in `used`. Removes nothing that can be read."""
    temporary = dict(_temporaries(store))
    index = SegmentIndex(store)
    return _litter(index, used, temporary, index.refresh())


def collect(store: Location, used: Collection[str], holder: str) -> Litter:
    """Removes what `litter_of` finds, and returns it. Raises StoreBusy while others are at work in the store."""
    with alone(store, holder):
        temporary = dict(_temporaries(store))
        index = SegmentIndex(store)
        litter = _litter(index, used, temporary, index.refresh())
        damaged = carry_out(index, litter.cuts)
        for name in (*litter.corrupt, *litter.temporary):
            (store / name).unlink(missing_ok=True)
    return replace(litter, damaged=(*litter.damaged, *damaged))


def _litter(index: SegmentIndex, used: Collection[str], temporary: dict[str, int], damaged: list[str]) -> Litter:
    corrupt = {name: size for name, size in files_by_prefix(index.root) if name.endswith(CORRUPT)}
    headings = index.headings()
    unused = {point_id for heading in headings.values() for point_id in heading.point_ids} - set(used)
    contents = list(_readable(cuts_of(headings, unused), damaged))
    cuts = tuple(cut for cut, _ in contents)
    size = freed_bytes(index, cuts) + sum(corrupt.values()) + sum(temporary.values())
    points = tuple(_points(index, contents))
    return Litter(points, cuts, tuple(sorted(corrupt)), tuple(sorted(temporary)), size, tuple(damaged))


def _readable(cuts: Iterable[Cut], damaged: list[str]) -> Iterator[tuple[Cut, tuple[dict, ...]]]:
    """The cuts of segments that can be read, with the points of each."""
    for cut in cuts:
        try:
            yield cut, read_segment(cut.path, ()).points
        except UnreadableSegment as error:
            damaged.append(str(error))


def _points(index: SegmentIndex, contents: Iterable[tuple[Cut, tuple[dict, ...]]]) -> Iterator[UnusedPoint]:
    """The points that go, with what the segments themselves say of them."""
    coords: dict[str, dict] = {}
    parts: dict[str, list[float]] = defaultdict(list)
    for cut, points in contents:
        for point in (points[row] for row in cut.go):
            coords[point["point_id"]] = point["coords"]
            parts[point["point_id"]].append(index.size(cut.path) / len(points))
    for point_id, sizes in sorted(parts.items(), key=lambda entry: (str(coords[entry[0]]), entry[0])):
        yield UnusedPoint(point_id, coords[point_id], len(sizes), round(sum(sizes)))


def _temporaries(store: Location) -> Iterator[tuple[str, int]]:
    """Name and size of the files in a local store whose writer is surely dead; object storage has none."""
    if not isinstance(store, Path):
        return
    folders = [store, *(Path(entry.path) for entry in listing(store) if entry.is_dir() and len(entry.name) == 2)]
    for folder in folders:
        for entry in listing(folder):
            if is_temporary(entry.name) and is_stale(path := Path(entry.path)):
                yield path.relative_to(store).as_posix(), entry.stat().st_size
