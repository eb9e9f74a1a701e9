"""Claims in a local folder: one file each, locked by its owner, so that a claim ends with the process that made it."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ssi_kernels.errors import StoreError
from ssi_kernels.store.atomic import cannot_write
from ssi_kernels.store.claims import Claim
from ssi_kernels.store.location import listing

_SUFFIX = ".claim"
_GATE = ".gate"


class LocalBoard:
    """The board in `folder`. Locks are the kernel's (flock): there is nothing to remove by hand after a kill."""

    def __init__(self, folder: Path):
        self._folder = folder

    @contextmanager
    def post(self, make: Callable[[list[Claim]], Claim]) -> Iterator[None]:
        """See `Board`. One process at a time makes its claim; the gate is open again while the block runs."""
        path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        try:
            with self._gate():
                file = _locked(path, make(self._living()))
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            file.close()

    @contextmanager
    def _gate(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / _GATE, "a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield

    def _living(self) -> list[Claim]:
        paths = [Path(entry.path) for entry in listing(self._folder) if entry.name.endswith(_SUFFIX)]
        return [claim for path in sorted(paths) if (claim := _read(path)) is not None]


def _locked(path: Path, claim: Claim) -> IO[bytes]:
    """A claim's file, open and locked."""
    file = open(path, "xb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(claim.encoded())
        file.flush()
    except BaseException:
        path.unlink(missing_ok=True)
        file.close()
        raise
    return file


def _read(path: Path) -> Claim | None:
    """The claim in a file; None, and the file removed, where its owner is gone."""
    try:
        with open(path, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Claim.decoded(file.read())
            with suppress(OSError):
                path.unlink(missing_ok=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    return None
