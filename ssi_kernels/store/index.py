"""What is in the store: an index derived from the segments, rebuilt from nothing at any time.

`index.json` beside the segments only saves reading them again. The truth is in the segments.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ssi_kernels.errors import StoreError
from ssi_kernels.store.coverage import Piece, pieces_by_point
from ssi_kernels.store.location import Location, files_by_prefix, location, put, relative_name
from ssi_kernels.store.segments import SUFFIX, Heading, UnknownSegment, UnreadableSegment, read_heading

VERSION = 1
_LOG = logging.getLogger("ssi_kernels.store")
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class _Entry:
    """A known segment: the size of its file, by which a change is noticed, and what it holds."""

    size: int
    heading: Heading


class SegmentIndex:
    """Which points, replicas and steps the segments of a store folder hold.

    >>> index = SegmentIndex("results/store")       # doctest: +SKIP
    >>> index.refresh()                             # doctest: +SKIP
    >>> index.covered(point.point_id)               # doctest: +SKIP
    """

    def __init__(self, root: str | Location):
        self.root = location(root)
        self._entries: dict[str, _Entry] | None = None
        self._places: dict[str, list[Piece]] | None = None

    def __len__(self) -> int:
        """Number of segments known."""
        return len(self._entries or ())

    def refresh(self) -> list[str]:
        """Brings the index up to date with the folder and saves it, if the folder lets itself be written.

        Reads only segments it does not know or whose size changed, and forgets those that are gone. Damaged
        ones are renamed to `<name>.corrupt`. Returns one line for each file set aside or left alone, which it
        also logs. Foreign files are never touched. Raises StoreError when the folder cannot be read.
        """
        known = self._load() if self._entries is None else self._entries
        warnings: list[str] = []
        current: dict[str, _Entry] = {}
        for name, size in self._segments_on_disk():
            entry = known.get(name)
            if entry is None or entry.size != size:
                entry = self._read(name, size, warnings)
            if entry is not None:
                current[name] = entry
        changed = current != known
        self._entries, self._places = current, None
        if changed:
            self._save()
        return warnings

    def covered(self, point_id: str) -> list[Piece]:
        """The pieces of one point, in no particular order; empty for a point that is not there."""
        if self._places is None:
            self._places = pieces_by_point(self.headings())
        return list(self._places.get(point_id, ()))

    def forget(self, path: Location) -> None:
        """Takes a segment that turned out damaged, or is gone, as absent."""
        if self._entries is not None:
            self._entries.pop(relative_name(path, self.root), None)
            self._places = None

    def headings(self) -> dict[Location, Heading]:
        """What every known segment holds, by its path."""
        return {self.root / name: entry.heading for name, entry in (self._entries or {}).items()}

    def size(self, path: Location) -> int:
        """Bytes of a known segment's file."""
        return self._entries[relative_name(path, self.root)].size

    def _segments_on_disk(self) -> Iterator[tuple[str, int]]:
        """Name relative to the root and size of every file that is named like a segment; clears stale writes."""
        return ((name, size) for name, size in files_by_prefix(self.root) if _is_segment(name))

    def _read(self, name: str, size: int, warnings: list[str]) -> _Entry | None:
        path = self.root / name
        try:
            return _Entry(size, read_heading(path))
        except (UnreadableSegment, UnknownSegment) as error:
            _LOG.warning(str(error))
            warnings.append(str(error))
        except StoreError:
            if path.exists():
                raise
        return None

    def _load(self) -> dict[str, _Entry]:
        """What `index.json` knows; nothing when it is absent, damaged, or of another version."""
        try:
            content = json.loads((self.root / "index.json").read_bytes())
            if content["version"] != VERSION:
                return {}
            return {name: _entry_from(fields) for name, fields in content["segments"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def _save(self) -> None:
        segments = {name: _entry_fields(entry) for name, entry in self._entries.items()}
        content = json.dumps({"version": VERSION, "segments": segments}, separators=(",", ":"))
        with suppress(StoreError):
            put(self.root / "index.json", content.encode())


def _is_segment(name: str) -> bool:
    folder, _, file = name.partition("/")
    digits = file.removesuffix(SUFFIX)
    return digits != file and file.startswith(folder) and _HEX.issuperset(digits)


def _entry_fields(entry: _Entry) -> list:
    heading = entry.heading
    return [entry.size, heading.point_ids, heading.replicas, heading.steps, heading.finished]


def _entry_from(fields: list) -> _Entry:
    size, point_ids, replicas, steps, finished = fields
    ranges = tuple(tuple(map(tuple, of_point)) for of_point in finished)
    if len(ranges) != len(point_ids):
        raise ValueError("index.json: an entry does not fit itself")
    return _Entry(size, Heading(tuple(point_ids), tuple(replicas), tuple(steps), ranges))
