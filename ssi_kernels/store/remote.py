"""Folders and files in object storage, with the few operations that the store needs.

Objects appear whole or not at all and are never renamed by the store, so that a segment is written by one `put`.
Credentials and endpoints come from the environment (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), as `obstore` reads
them. The library is imported when a remote path is first used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ssi_kernels.errors import ConfigError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az", "memory")


class RemoteObject(NamedTuple):
    """One object: its name relative to where it was looked for, its size, and when the service received it."""

    name: str
    size: int
    modified: datetime


@dataclass(frozen=True, order=True)
class RemotePath:
    """An object, or all objects below a prefix: `s3://bucket/folder/name`.

    Methods are those of `pathlib.Path` of the same names. They raise FileNotFoundError where there is no object, and
    OSError with the service's answer for everything else.
    """

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        """What follows the last slash."""
        return self.url.rpartition("/")[2]

    def with_name(self, name: str) -> RemotePath:
        """The object of another name beside this one."""
        return RemotePath(f"{self.url.rpartition('/')[0]}/{name}")

    def resolve(self) -> RemotePath:
        """Itself: a URL is absolute."""
        return self

    def exists(self) -> bool:
        """Whether there is an object."""
        import obstore

        try:
            with _as_os_errors(self.url):
                obstore.head(*self._place())
        except FileNotFoundError:
            return False
        return True

    def read_bytes(self) -> bytes:
        """The object."""
        import obstore

        with _as_os_errors(self.url):
            return bytes(obstore.get(*self._place()).bytes())

    def write_bytes(self, content: bytes) -> None:
        """Writes the object, whole or not at all."""
        import obstore

        with _as_os_errors(self.url):
            obstore.put(*self._place(), content)

    def unlink(self, missing_ok: bool = False) -> None:
        """Removes the object."""
        import obstore

        try:
            with _as_os_errors(self.url):
                obstore.delete(*self._place())
        except FileNotFoundError:
            if not missing_ok:
                raise

    def replace(self, target: RemotePath) -> None:
        """Moves the object; not atomic."""
        import obstore

        store, path = self._place()
        with _as_os_errors(self.url):
            obstore.rename(store, path, target._place()[1])

    def objects(self) -> Iterator[RemoteObject]:
        """Every object below this path."""
        import obstore

        store, prefix = self._place()
        with _as_os_errors(self.url):
            for page in obstore.list(store, prefix or None):
                for found in page:
                    name = found["path"].removeprefix(prefix).lstrip("/")
                    yield RemoteObject(name, found["size"], found["last_modified"])

    def _place(self) -> tuple[ObjectStore, str]:
        """The store of the bucket, and the path in it."""
        parts = urlsplit(self.url)
        return _bucket(f"{parts.scheme}://{parts.netloc}"), parts.path.strip("/")


def is_remote(place: object) -> bool:
    """Whether a place is in object storage, by its scheme.

    >>> is_remote("s3://bucket/runs"), is_remote("/data/runs")
    (True, False)
    """
    return isinstance(place, RemotePath) or urlsplit(str(place)).scheme in SCHEMES


@lru_cache(maxsize=16)
def _bucket(url: str) -> ObjectStore:
    try:
        from obstore.store import MemoryStore, from_url
    except ImportError:
        raise ConfigError(
            "store",
            url,
            "needs the package obstore: pip install '.[cloud]'",
        ) from None
    if url.startswith("memory:"):
        return MemoryStore()
    plain = urlsplit(os.environ.get("AWS_ENDPOINT_URL", "")).scheme == "http"
    return from_url(url, client_options={"allow_http": True} if plain else None)


@contextmanager
def _as_os_errors(url: str) -> Iterator[None]:
    """Turns the errors of `obstore` into those of a file system, with the first line of what the service said."""
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise FileNotFoundError(2, "no such object", url) from None
    except BaseError as error:
        raise OSError(5, " ".join(str(error).split())[:300], url) from error
