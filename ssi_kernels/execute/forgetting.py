"""Taking chosen points of a sweep out of the store, so that the next run computes them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.execute.failures import read_failures, write_failures
from ssi_kernels.store.claims import alone
from ssi_kernels.store.location import listing
from ssi_kernels.store.marker import forget_blocks
from ssi_kernels.store.thinning import Cut, carry_out, cuts_of, freed_bytes

if TYPE_CHECKING:
    from ssi_kernels.execute.request import PlacedSweep
    from ssi_kernels.store.index import SegmentIndex
    from ssi_kernels.sweep import Point


@dataclass(frozen=True)
class Forgotten:
    """What goes, or went: of the `points` asked for those that are `stored`, with all their replicas.

    `removed` segments held nothing else; `rewritten` ones hold other points too. `bytes` is about what gets free.
    `failures` entries of `failed.json` are of these points. `also_in`: other sweeps that have some of them.
    """

    points: int
    stored: int
    replicas: int
    removed: int
    rewritten: int
    bytes: int
    failures: int
    also_in: tuple[str, ...]
    damaged: tuple[str, ...] = ()


def foresee(placed: PlacedSweep, points: Iterable[Point], sweeps: Mapping[str, PlacedSweep]) -> Forgotten:
    """What `forget` would do. Writes nothing but the index."""
    ids, index = {point.point_id for point in points}, placed.index()
    return _told(placed, ids, sweeps, index, cuts_of(index.headings(), ids))


def forget(placed: PlacedSweep, points: Iterable[Point], sweeps: Mapping[str, PlacedSweep], holder: str) -> Forgotten:
    """Removes all that is stored of these points, for every sweep that has them, and their entries in `failed.json`.

    `sweeps`: all of the configuration. Segments with other points are written again without these ones before they are
    removed. Raises StoreBusy while others are at work in the store, StoreError where it cannot write.
    """
    ids = {point.point_id for point in points}
    with alone(placed.store, holder):
        index = placed.index()
        cuts = cuts_of(index.headings(), ids)
        told = _told(placed, ids, sweeps, index, cuts)
        # Before anything is removed: values may be others when computed again, in files of the same name and size.
        for folder in _folders_concerned(placed, sweeps, ids):
            forget_blocks(folder)
        damaged = carry_out(index, cuts)
    for other in _having(sweeps, ids):
        failures = read_failures(other.folder)
        if ids & failures.keys():
            write_failures(other.folder, {key: failure for key, failure in failures.items() if key not in ids})
    return Forgotten(**{**vars(told), "damaged": tuple(damaged)})


def _having(sweeps: Mapping[str, PlacedSweep], ids: set[str]) -> list[PlacedSweep]:
    return [placed for placed in sweeps.values() if any(point.point_id in ids for point in placed.grid.points)]


def _folders_concerned(placed: PlacedSweep, sweeps: Mapping[str, PlacedSweep], ids: set[str]) -> list[Path]:
    """The results of all sweeps but those that certainly have none of the points: there may be other configurations."""
    unconcerned = sweeps.keys() - {other.name for other in _having(sweeps, ids)}
    folders = [Path(entry.path) for entry in listing(placed.results) if entry.is_dir()]
    return [folder for folder in folders if folder.name not in unconcerned]


def _told(
    placed: PlacedSweep, ids: set[str], sweeps: Mapping[str, PlacedSweep], index: SegmentIndex, cuts: list[Cut]
) -> Forgotten:
    replicas = [_stored_replicas(index, point_id) for point_id in ids]
    return Forgotten(
        points=len(ids),
        stored=sum(count > 0 for count in replicas),
        replicas=sum(replicas),
        removed=sum(not cut.stay for cut in cuts),
        rewritten=sum(bool(cut.stay) for cut in cuts),
        bytes=freed_bytes(index, cuts),
        failures=len(ids & read_failures(placed.folder).keys()),
        also_in=tuple(other.name for other in _having(sweeps, ids) if other.name != placed.name),
    )


def _stored_replicas(index: SegmentIndex, point_id: str) -> int:
    """How many replicas of a point have something stored."""
    pieces = index.covered(point_id)
    held = np.zeros(max((piece.replicas[1] for piece in pieces), default=0), bool)
    for piece in pieces:
        held[slice(*piece.replicas)] = True
    return int(held.sum())
