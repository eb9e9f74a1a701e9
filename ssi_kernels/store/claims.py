"""Who is computing what in a store, so that drivers that work at the same time never compute the same point.

A driver claims the work it is going to do before it begins and gives the claim back when it ends, however it ends.
Work that another living driver has claimed is left to that driver. Maintenance, which removes files, needs the store
for itself. Claims keep work from being done twice; that results stay right does not depend on them, because segments
are written whole and equal work gives equal bits.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ssi_kernels.errors import StoreError
from ssi_kernels.store.location import Location
from ssi_kernels.store.missing import Missing

FOLDER = "claims"
Range = tuple[int, int]


class StoreBusy(StoreError):
    """Others are at work in the store."""


@dataclass(frozen=True)
class Claim:
    """What one process has announced.

    `holder` names it for people. `work` maps a `point_id` to ranges of replicas; empty for a reader, which only asks
    that nothing be removed. `alone`: it removes files, and nobody else may begin.
    """

    holder: str
    work: dict[str, list[Range]] = field(default_factory=dict)
    alone: bool = False

    def covers(self, item: Missing) -> bool:
        """Whether the claim overlaps a piece of work."""
        lo, hi = item.replicas
        return any(first < hi and lo < last for first, last in self.work.get(item.point.point_id, ()))

    def encoded(self) -> bytes:
        """The claim as JSON."""
        return json.dumps({"holder": self.holder, "work": self.work, "alone": self.alone}).encode()

    @classmethod
    def decoded(cls, content: bytes) -> Claim:
        """A claim from JSON; one that is damaged, or being written, claims nothing."""
        try:
            found = json.loads(content)
            return cls(str(found["holder"]), dict(found["work"]), bool(found["alone"]))
        except (ValueError, KeyError, TypeError):
            return cls("unknown process")


class Board(Protocol):
    """Where claims are announced."""

    def post(self, make: Callable[[list[Claim]], Claim]) -> AbstractContextManager[None]:
        """Announces `make(others)`, where `others` are the claims of living processes, for as long as the block runs.

        Raises StoreError where claims cannot be written.
        """


@dataclass(frozen=True)
class Shared:
    """A driver's share of the missing work: `mine` is to be done now, `left` is what `others` are doing."""

    mine: list[Missing]
    left: list[Missing]
    others: list[Claim]


def board(store: Location) -> Board:
    """The board of a store: locks of the kernel in a local folder, leases in object storage."""
    if isinstance(store, Path):
        from ssi_kernels.store.local_claims import LocalBoard

        return LocalBoard(store / FOLDER)
    from ssi_kernels.store.leases import LeaseBoard

    return LeaseBoard(store / FOLDER)


@contextmanager
def claimed(store: Location, holder: str, look: Callable[[], Sequence[Missing]]) -> Iterator[Shared]:
    """Claims what is missing and not claimed by others, for as long as the block runs.

    `look` says what is missing; it is called when nobody can begin or end in between. Raises StoreBusy while
    maintenance has the store for itself, StoreError where claims cannot be written.
    """
    found: list[Shared] = []

    def make(others: list[Claim]) -> Claim:
        _refuse_if_taken(store, others)
        work = list(look())
        left = [item for item in work if any(claim.covers(item) for claim in others)]
        theirs = set(map(id, left))
        mine = [item for item in work if id(item) not in theirs]
        found.append(Shared(mine, left, [claim for claim in others if any(map(claim.covers, left))]))
        return Claim(holder, _ranges(mine))

    with board(store).post(make):
        yield found[-1]


@contextmanager
def reading(store: Location, holder: str) -> Iterator[None]:
    """Asks that no file be removed for as long as the block runs. Raises StoreBusy while somebody removes some.

    Where the store cannot be written, nobody can be asked, and the block runs all the same.
    """

    def make(others: list[Claim]) -> Claim:
        _refuse_if_taken(store, others)
        return Claim(holder)

    with ExitStack() as stack:
        try:
            stack.enter_context(board(store).post(make))
        except StoreBusy:
            raise
        except StoreError:
            pass
        yield


@contextmanager
def alone(store: Location, holder: str) -> Iterator[None]:
    """Has the store for itself for as long as the block runs. Raises StoreBusy, naming who is at work in it."""

    def make(others: list[Claim]) -> Claim:
        if others:
            raise StoreBusy(f"{store}: {others[0].holder} is at work here: wait until it ends, and run again")
        return Claim(holder, alone=True)

    with board(store).post(make):
        yield


def _refuse_if_taken(store: Location, others: list[Claim]) -> None:
    for claim in others:
        if claim.alone:
            raise StoreBusy(f"{store}: {claim.holder} is removing files: wait until it ends, and run again")


def _ranges(work: Sequence[Missing]) -> dict[str, list[Range]]:
    ranges: dict[str, list[Range]] = defaultdict(list)
    for item in work:
        ranges[item.point.point_id].append(tuple(map(int, item.replicas)))
    return dict(ranges)
