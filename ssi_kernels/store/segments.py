"""Segments: what one task wrote, one immutable file each.

A segment holds some points, a range of replicas and a range of steps. Its name is a hash of these three, so
that two drivers which compute the same thing write the same file, and a file is never rewritten with other
content. xarray reads one with `xr.open_zarr(ZipStore(path, mode="r"), consolidated=False)`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ssi_kernels.errors import StoreError
from ssi_kernels.store.archive import Archive, DamagedArchive, encode
from ssi_kernels.store.location import Location, location, put

FORMAT = 1
SUFFIX = ".zarr.zip"
_AXES = {
    "m": ("step",),
    "e": ("step", "component"),
    "m_position": ("step", "position"),
    "recovery_step": ("threshold",),
    "stop_e": ("component",),
}
Range = tuple[int, int]


class UnreadableSegment(StoreError):
    """A segment's bytes are not those that were written; `path` is where its file was, or still is."""

    def __init__(self, path: Location, cause: str, is_aside: bool):
        self.path, self.cause, self.is_aside = path, cause, is_aside
        super().__init__(path, cause, is_aside)

    def __str__(self) -> str:
        what = f"set aside as {self.path.name}.corrupt" if self.is_aside else "taken as absent"
        return f"{self.path}: damaged segment ({self.cause}): {what}: run again to compute it anew"


class AbsentSegment(StoreError):
    """There is no file at `path`: it was removed, or put together with others, since somebody looked."""

    def __init__(self, path: Location):
        self.path = path
        super().__init__(path)

    def __str__(self) -> str:
        return f"{self.path}: is gone: run again"


class UnknownSegment(StoreError):
    """A file in a segment's place that this version of the package did not write."""


@dataclass(frozen=True)
class Segment:
    """What one task wrote.

    `points` are the canonical descriptions, each with `point_id` and `coords`; `replicas` is half-open; `steps`
    is (from, to], where from == 0 includes step 0; `recorded` are the scheduled steps in it. Every array in
    `arrays` begins with the axes (point, replica); docs/architecture.md lists them. `provenance` is JSON.
    """

    points: tuple[dict, ...]
    replicas: Range
    steps: Range
    recorded: np.ndarray
    arrays: dict[str, np.ndarray]
    provenance: dict

    def __post_init__(self) -> None:
        leading = (len(self.points), self.replicas[1] - self.replicas[0])
        for name, array in self.arrays.items():
            expected = leading + ((len(self.recorded),) if name in ("m", "e", "m_position") else ())
            if array.shape[: len(expected)] != expected:
                raise ValueError(f"array {name} of a segment has shape {array.shape}, which must begin with {expected}")

    @property
    def point_ids(self) -> tuple[str, ...]:
        return tuple(point["point_id"] for point in self.points)

    @cached_property
    def segment_id(self) -> str:
        """32 hex digits: the hash of which points, replicas and steps are held."""
        return segment_id(self.point_ids, self.replicas, self.steps)


@dataclass(frozen=True)
class Heading:
    """What a segment holds, without its arrays.

    `finished[i]` are the ranges of replicas of point i that have stopped by rule or diverged by the end of
    the segment: they are complete for every longer horizon.
    """

    point_ids: tuple[str, ...]
    replicas: Range
    steps: Range
    finished: tuple[tuple[Range, ...], ...]


def segment_id(point_ids: Iterable[str], replicas: Range, steps: Range) -> str:
    """The name of the segment that holds these points, replicas and steps."""
    content = json.dumps([sorted(point_ids), list(map(int, replicas)), list(map(int, steps))])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def segment_path(root: str | Location, name: str) -> Location:
    """Where the segment of that name lies in the store."""
    return location(root) / name[:2] / f"{name}{SUFFIX}"


def write_segment(root: str | Location, segment: Segment) -> Location:
    """Writes one segment into the store `root`, a folder or a URL, and returns its path.

    The file appears whole or not at all. Raises StoreError, naming path and cause, when it cannot be written.
    """
    path = segment_path(root, segment.segment_id)
    arrays = {"step": np.asarray(segment.recorded, np.int64), "replica": np.arange(*segment.replicas), **segment.arrays}
    dimensions = {name: _dimensions(name, array.ndim) for name, array in arrays.items()}
    put(path, encode(arrays, dimensions, _attributes(segment)))
    return path


def read_segment(path: str | Location, variables: Iterable[str] | None = None) -> Segment:
    """Reads a segment; with `variables`, only those of them that it has.

    A damaged file is renamed to `<name>.corrupt`, so that its content counts as missing from then on, and
    UnreadableSegment (a StoreError) raised. Raises StoreError when the file is not there or cannot be opened.
    """
    with opened(path) as (archive, attributes):
        names = attributes["arrays"]
        wanted = names if variables is None else set(variables).intersection(names)
        return Segment(
            points=tuple(json.loads(attributes["points"])),
            replicas=tuple(attributes["replicas"]),
            steps=tuple(attributes["steps"]),
            recorded=archive.array("step"),
            arrays={name: archive.array(name) for name in wanted},
            provenance=json.loads(attributes["provenance"]),
        )


def read_heading(path: str | Location) -> Heading:
    """What a segment holds, at the cost of opening the file. Raises as `read_segment`."""
    with opened(path) as (_, attributes):
        return Heading(
            point_ids=tuple(attributes["point_ids"]),
            replicas=tuple(attributes["replicas"]),
            steps=tuple(attributes["steps"]),
            finished=tuple(tuple(map(tuple, ranges)) for ranges in attributes["finished"]),
        )


@contextmanager
def opened(path: str | Location) -> Iterator[tuple[Archive, dict]]:
    """The archive and its attributes; reading errors inside the block become StoreErrors that name the file."""
    place = location(path)
    try:
        with Archive(place if isinstance(place, Path) else io.BytesIO(place.read_bytes())) as archive:
            attributes = archive.attributes()
            if attributes.get("ssi_segment") != FORMAT:
                raise UnknownSegment(f"{path}: not a segment that this version of ssi-kernels knows: left alone")
            yield archive, attributes
    except DamagedArchive as error:
        raise UnreadableSegment(place, str(error), _set_aside(place)) from error
    except FileNotFoundError as error:
        raise AbsentSegment(place) from error
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error


def _set_aside(path: Location) -> bool:
    """Renames a damaged file; False where the store cannot be written."""
    try:
        path.replace(path.with_name(f"{path.name}.corrupt"))
    except OSError:
        return False
    return True


def _attributes(segment: Segment) -> dict:
    return {
        "ssi_segment": FORMAT,
        "point_ids": segment.point_ids,
        "replicas": list(map(int, segment.replicas)),
        "steps": list(map(int, segment.steps)),
        "finished": _finished(segment),
        "arrays": list(segment.arrays),
        "points": json.dumps(segment.points),
        "provenance": json.dumps(segment.provenance),
    }


def _finished(segment: Segment) -> list[list[Range]]:
    """For each point, the ranges of replicas that have stopped or diverged."""
    done = np.zeros((len(segment.points), segment.replicas[1] - segment.replicas[0]), bool)
    for name in ("stop_step", "diverged_step"):
        if name in segment.arrays:
            done |= ~np.isnan(segment.arrays[name])
    return [[(a + segment.replicas[0], b + segment.replicas[0]) for a, b in true_runs(row)] for row in done]


def true_runs(flags: np.ndarray) -> list[Range]:
    """The half-open ranges in which a vector of booleans is true.

    >>> true_runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _dimensions(name: str, ndim: int) -> tuple[str, ...]:
    """Names of an array's axes; those of a state, which may be anything, are numbered."""
    if name in ("step", "replica"):
        return (name,)
    rest = _AXES.get(name, ())
    if len(rest) != ndim - 2:
        rest = tuple(f"{name}_{i}" for i in range(ndim - 2))
    return ("point", "replica", *rest)
