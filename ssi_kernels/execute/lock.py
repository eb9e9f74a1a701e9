"""One driver at a time in a folder.

The lock is the kernel's (flock): it ends with the process that holds it, however that process ends,
so there is nothing to unlock by hand.
"""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssi_kernels.execute.exits import DriverError
from ssi_kernels.store.atomic import cannot_write

FILE = ".lock"


class Busy(DriverError):
    """Another driver is at work in the same folder."""


@contextmanager
def driver_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`, or raise Busy naming the process that holds it; StoreError on a full disk."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / FILE, "a+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().decode(errors="replace").strip() or "unknown process"
            raise Busy(
                f"{folder}: another driver ({holder}) is at work here: wait until it ends, or stop it and run again"
            ) from None
        try:
            file.truncate(0)
            file.write(f"pid {os.getpid()} on {platform.node()}".encode())
        except OSError as error:
            raise cannot_write(folder, error) from error
        yield
