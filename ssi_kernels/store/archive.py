"""Arrays in one zip file that Zarr reads: a Zarr 3 group, each array one chunk.

Zarr's own writer takes 1 to 2 ms an array, which at a dozen arrays a segment is most of a small task. Here
the few lines of JSON that Zarr 3 asks for are written directly, and the zip container compresses, so that
`zarr.storage.ZipStore` and xarray read the file while this module reads and writes it in about a millisecond.
"""

from __future__ import annotations

import errno
import io
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import IO

import numpy as np

_EPOCH = (1980, 1, 1, 0, 0, 0)  # members carry no time: equal content gives equal bytes
_NUMERIC = "biufc"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OverflowError, RuntimeError)


class DamagedArchive(Exception):
    """The bytes of an archive are not those that were written."""


def encode(arrays: Mapping[str, np.ndarray], dimensions: Mapping[str, tuple[str, ...]], attributes: dict) -> bytes:
    """The bytes of an archive.

    `dimensions[name]` names the axes of `arrays[name]`; `attributes` (JSON) belong to the group. Raises
    TypeError for arrays of anything but numbers.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, "zarr.json", _json({"zarr_format": 3, "node_type": "group", "attributes": attributes}))
        for name, array in arrays.items():
            array = _little_endian(name, array)
            _add(archive, f"{name}/zarr.json", _json(_metadata(array, dimensions[name])))
            if array.size:
                _add(archive, _chunk(name, array.ndim), array.tobytes())
    return buffer.getvalue()


class Archive:
    """An archive opened for reading; use it in a `with` block.

    Raises DamagedArchive where the zip's structure or a checksum is wrong, OSError where the file system refuses.
    """

    def __init__(self, path: str | PathLike | IO[bytes]):
        with _damage_named():
            self._zip = zipfile.ZipFile(path)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def attributes(self) -> dict:
        """The attributes of the group."""
        return json.loads(self._read("zarr.json")).get("attributes", {})

    def kind(self, name: str) -> tuple[np.dtype, tuple[int, ...]]:
        """Type and shape of one array."""
        metadata = json.loads(self._read(f"{name}/zarr.json"))
        return np.dtype(metadata["data_type"]).newbyteorder("<"), tuple(metadata["shape"])

    def array(self, name: str) -> np.ndarray:
        """One array, owned by the caller."""
        dtype, shape = self.kind(name)
        content = self._read(_chunk(name, len(shape))) if math.prod(shape) else b""
        return np.frombuffer(bytearray(content), dtype).reshape(shape)

    def _read(self, member: str) -> bytes:
        with _damage_named():
            return self._zip.read(member)


@contextmanager
def _damage_named() -> Iterator[None]:
    """Turns what zipfile raises for wrong bytes into DamagedArchive."""
    try:
        yield
    except _DAMAGE as error:
        raise DamagedArchive(str(error)) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # a wrong offset makes zipfile seek to where there is nothing
            raise
        raise DamagedArchive(str(error)) from error


def _little_endian(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind not in _NUMERIC:
        raise TypeError(f"array {name} has dtype {array.dtype}; a segment holds numbers only")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _metadata(array: np.ndarray, dimensions: tuple[str, ...]) -> dict:
    """The `zarr.json` of an array that is stored as one chunk."""
    endian = {"configuration": {"endian": "little"}} if array.dtype.itemsize > 1 else {}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(1, n) for n in array.shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": _fill_value(array.dtype.kind),
        "codecs": [{"name": "bytes", **endian}],
        "dimension_names": dimensions,
        "attributes": {},
    }


def _fill_value(kind: str) -> object:
    return {"b": False, "f": "NaN", "c": ["NaN", "NaN"]}.get(kind, 0)


def _chunk(name: str, ndim: int) -> str:
    return "/".join([name, "c", *["0"] * ndim])


def _json(value: dict) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, date_time=_EPOCH)
    member.external_attr = 0o644 << 16
    archive.writestr(member, content, zipfile.ZIP_DEFLATED, compresslevel=1)
