"""Files and folders that exist under their name if and only if they are whole.

Everything is written beside its place under a temporary name that tells who writes it, then renamed.
What a killed process leaves behind can therefore be told from what a living one is writing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import socket
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ssi_kernels.errors import StoreError

_DAY = 86_400.0
_REMEDIES = {
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some space and run again",
    errno.EROFS: "make the folder writable, or choose another results folder",
    errno.EACCES: "make the folder writable, or choose another results folder",
    errno.EPERM: "make the folder writable, or choose another results folder",
}


def cannot_write(path: Path, error: OSError) -> StoreError:
    """The one line that names what could not be written, why, and what to do about it."""
    cause = error.strerror or str(error)
    return StoreError(f"{path}: cannot be written: {cause}: {_REMEDIES.get(error.errno, 'see to that and run again')}")


def write_bytes(path: Path, content: bytes) -> None:
    """Writes `content` durably under a temporary name, then renames it to `path`.

    Makes the folder where it is needed. Raises StoreError, and leaves no temporary file, when the disk or the
    permissions refuse.
    """
    temporary = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def temporary_beside(path: Path) -> Path:
    """A fresh name in the same folder that tells host, process namespace and process of its writer."""
    host, namespace = _here()
    return path.with_name(f".{path.name}~{host}~{namespace}~{os.getpid()}~{secrets.token_hex(4)}.tmp")


def is_temporary(name: str) -> bool:
    """Whether `temporary_beside` made this file name."""
    return name.startswith(".") and name.endswith(".tmp") and name.count("~") == 4


def remove_stale(path: Path) -> None:
    """Removes a temporary file or folder if its writer is surely dead; otherwise leaves it.

    Sure means: a process of this machine that is gone, or nothing changed for a day.
    """
    if is_stale(path):
        remove(path)


def is_stale(path: Path) -> bool:
    """Whether the writer of a temporary file or folder is surely dead."""
    with suppress(OSError, ValueError):
        _, host, namespace, process, _ = path.name.split("~")
        gone = (host, namespace) == _here() and not _is_alive(int(process))
        return gone or time.time() - path.stat().st_mtime > _DAY
    return False


def remove(path: Path) -> None:
    """Removes a file or a whole folder; what is not there, or cannot be removed, is passed over."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def exchange(new: Path, place: Path) -> Path | None:
    """Puts the folder `new` at `place`; returns where the folder that was there is now, or None.

    Atomic on Linux file systems with an exchange of names. Elsewhere two renames, between which `place` is
    absent for some microseconds.
    """
    if not os.path.lexists(place):
        os.rename(new, place)
        return None
    if _exchange_names(new, place):
        return new
    old = temporary_beside(place)
    os.rename(place, old)
    os.rename(new, place)
    return old


def _exchange_names(first: Path, second: Path) -> bool:
    """renameat2(..., RENAME_EXCHANGE); False where the system or the file system has none."""
    at_cwd, rename_exchange = -100, 2
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return renameat2(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), ctypes.c_uint(rename_exchange)) == 0


@lru_cache(maxsize=1)
def _here() -> tuple[str, str]:
    """Where a process number has its meaning: the host and its process namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        namespace = "0"
    return socket.gethostname().replace("~", "-").replace("/", "-"), namespace


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
