"""What is in the store: an index derived from the segments, rebuilt from nothing at any time.

`index.json` beside the segments only saves reading them again. The truth is in the segments.
"""

from __future__ import annotations

import json
import logging
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ssi_kernels.errors import StoreError
from ssi_kernels.store.atomic import is_temporary, remove_stale, write_bytes
from ssi_kernels.store.coverage import Piece
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

    def __init__(self, root: str | Path):
        self.root = Path(root)
        self._entries: dict[str, _Entry] | None = None
        self._places: dict[str, list[tuple[str, int]]] | None = None

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
            self._places = self._by_point()
        return [self._piece(name, row) for name, row in self._places.get(point_id, ())]

    def forget(self, path: Path) -> None:
        """Takes a segment that turned out damaged as absent."""
        if self._entries is not None:
            self._entries.pop(path.relative_to(self.root).as_posix(), None)
            self._places = None

    def _segments_on_disk(self) -> Iterator[tuple[str, int]]:
        """Name relative to the root and size of every file that is named like a segment; clears stale writes."""
        for folder in _listing(self.root):
            if len(folder.name) != 2 or not _HEX.issuperset(folder.name) or not folder.is_dir():
                continue
            for file in _listing(folder.path):
                if _is_segment(file.name, folder.name):
                    with suppress(FileNotFoundError):
                        yield f"{folder.name}/{file.name}", file.stat().st_size
                elif is_temporary(file.name):
                    remove_stale(Path(file.path))

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

    def _by_point(self) -> dict[str, list[tuple[str, int]]]:
        places = defaultdict(list)
        for name, entry in (self._entries or {}).items():
            for row, point_id in enumerate(entry.heading.point_ids):
                places[point_id].append((name, row))
        return dict(places)

    def _piece(self, name: str, row: int) -> Piece:
        heading = self._entries[name].heading
        return Piece(self.root / name, row, heading.replicas, heading.steps, heading.finished[row])

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
            write_bytes(self.root / "index.json", content.encode())


def _listing(folder: str | Path) -> list[os.DirEntry]:
    """The entries of a folder; none where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror or error}") from error


def _is_segment(name: str, folder: str) -> bool:
    digits = name.removesuffix(SUFFIX)
    return digits != name and name.startswith(folder) and _HEX.issuperset(digits)


def _entry_fields(entry: _Entry) -> list:
    heading = entry.heading
    return [entry.size, heading.point_ids, heading.replicas, heading.steps, heading.finished]


def _entry_from(fields: list) -> _Entry:
    size, point_ids, replicas, steps, finished = fields
    ranges = tuple(tuple(map(tuple, of_point)) for of_point in finished)
    if len(ranges) != len(point_ids):
        raise ValueError("index.json: an entry does not fit itself")
    return _Entry(size, Heading(tuple(point_ids), tuple(replicas), tuple(steps), ranges))
