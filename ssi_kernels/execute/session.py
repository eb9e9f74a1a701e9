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
_GRACE = 60.0  # seconds in which a new session takes its lock and its name


@contextmanager
def session_folder(base: Path | None = None) -> Iterator[Path]:
    """A private folder under `base`, a short one for choice; removes what killed drivers left there before."""
    if base is None:
        usual = tempfile.gettempdir()
        base = Path(usual if len(usual) <= _LONGEST_BASE else "/tmp")
    _remove_orphans(base)
    hidden = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=base))
    session = hidden
    try:
        with driver_lock(hidden):
            session = hidden.rename(base / hidden.name.removeprefix("."))  # with its lock on, from its first moment
            yield session
    finally:
        shutil.rmtree(session, ignore_errors=True)


def _remove_orphans(base: Path) -> None:
    """Removes the folders of sessions that have ended without doing so, and those that never got their name."""
    for folder in base.glob(f"{PREFIX}*"):
        _remove_if_unlocked(folder)
    for folder in base.glob(f".{PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _GRACE:
                _remove_if_unlocked(folder)


def _remove_if_unlocked(folder: Path) -> None:
    with suppress(OSError, Busy), driver_lock(folder):
        shutil.rmtree(folder, ignore_errors=True)
