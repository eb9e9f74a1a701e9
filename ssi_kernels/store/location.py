"""Where a store is: a local folder, or a prefix in object storage; and what both can do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.store.atomic import cannot_write, is_temporary, remove_stale, write_bytes
from ssi_kernels.store.remote import SCHEMES, RemotePath, is_remote

Location = Path | RemotePath
_HEX = frozenset("0123456789abcdef")


def location(place: str | os.PathLike | RemotePath) -> Location:
    """A path of this machine, or of object storage where it begins with a scheme such as `s3://`.

    Raises ConfigError for a scheme that is not known.
    """
    if isinstance(place, Path | RemotePath):
        return place
    if is_remote(place):
        return RemotePath(str(place).rstrip("/"))
    if "://" in str(place):
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ConfigError("store", str(place), f"must be a folder, or a URL that begins with one of {known}")
    return Path(place)


def put(path: Location, content: bytes) -> None:
    """Writes a file or an object: whole or not at all. Raises StoreError, naming path and cause."""
    if isinstance(path, Path):
        write_bytes(path, content)
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        raise cannot_write(path, error) from error


def relative_name(path: Location, root: Location) -> str:
    """The name of a file relative to the root of its store."""
    if isinstance(path, Path):
        return path.relative_to(root).as_posix()
    return str(path).removeprefix(f"{root}/")


def files_by_prefix(root: Location) -> Iterator[tuple[str, int]]:
    """Name (`ab/abcd...`) and size of every file in the folders of two hex digits.

    What a dead process left half written in a local store is removed on the way. Raises StoreError where the root
    cannot be read; an absent root has no files.
    """
    yield from _local_files(root) if isinstance(root, Path) else _remote_files(root)


def _remote_files(root: RemotePath) -> Iterator[tuple[str, int]]:
    try:
        for found in root.objects():
            folder, slash, _ = found.name.partition("/")
            if slash and _is_prefix(folder):
                yield found.name, found.size
    except OSError as error:
        raise StoreError(f"{root}: cannot be read: {error.strerror or error}") from error


def _local_files(root: Path) -> Iterator[tuple[str, int]]:
    for folder in listing(root):
        if not _is_prefix(folder.name) or not folder.is_dir():
            continue
        for file in listing(folder.path):
            if is_temporary(file.name):
                remove_stale(Path(file.path))
                continue
            with suppress(FileNotFoundError):
                yield f"{folder.name}/{file.name}", file.stat().st_size


def listing(folder: str | Path) -> list[os.DirEntry]:
    """The entries of a folder; none where there is no folder. Raises StoreError where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror or error}") from error


def _is_prefix(name: str) -> bool:
    return len(name) == 2 and _HEX.issuperset(name)
