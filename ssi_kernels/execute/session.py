"""A folder for the files and sockets of one Ray session, gone when the session is."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssi_kernels.execute.lock import Busy, driver_lock

PREFIX = "ssi-ray-"
_LONGEST_BASE = 20  # a socket's path may have 107 characters, and Ray's part of it takes about 85
_GRACE = 60.0  # seconds in which a new session takes its lock


@contextmanager
def session_folder(base: Path | None = None) -> Iterator[Path]:
    """A private folder under `base`, a short one for choice; removes what killed drivers left there before."""
    if base is None:
        usual = tempfile.gettempdir()
        base = Path(usual if len(usual) <= _LONGEST_BASE else "/tmp")
    for folder in base.glob(f"{PREFIX}*"):
        _remove_if_orphaned(folder)
    session = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    try:
        with driver_lock(session):
            yield session
    finally:
        shutil.rmtree(session, ignore_errors=True)


def _remove_if_orphaned(folder: Path) -> None:
    with suppress(OSError, Busy):
        if time.time() - folder.stat().st_mtime > _GRACE:
            with driver_lock(folder):
                shutil.rmtree(folder, ignore_errors=True)
