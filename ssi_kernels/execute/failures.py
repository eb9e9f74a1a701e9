"""The points that failed in the last run of a sweep: `results/<sweep>/failed.json`."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import StoreError
from ssi_kernels.store.atomic import write_bytes

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

FILE = "failed.json"


@dataclass(frozen=True)
class Failure:
    """One point that failed: where it is on the grid, why in one line, and the whole traceback."""

    point_id: str
    coords: dict
    reason: str
    traceback: str

    @classmethod
    def of(cls, point: Point, error: BaseException) -> Failure:
        """The failure of `point` with `error`."""
        return cls(point.point_id, dict(point.coords), one_line(error), "".join(traceback.format_exception(error)))

    @property
    def line(self) -> str:
        """The failure on one line."""
        return f"{describe(self.coords)}: {self.reason}"


def one_line(error: BaseException) -> str:
    """An exception's type and message on one line of at most 300 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else text[:297] + "..."


def describe(coords: Mapping[str, object]) -> str:
    """Coordinates as a user writes them: `d=100 length=2 omega=0.5`."""
    return " ".join(f"{axis}={value}" for axis, value in coords.items())


def read_failures(folder: Path) -> dict[str, Failure]:
    """The failures recorded in a sweep's folder, by point; empty when there is no record."""
    path = Path(folder) / FILE
    try:
        entries = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise StoreError(f"{path}: cannot be read ({error}); delete it, it is only the list of failed points") from None
    names = [field.name for field in fields(Failure) if field.name != "point_id"]
    return {identity: Failure(identity, *(entry[name] for name in names)) for identity, entry in entries.items()}


def write_failures(folder: Path, failures: Mapping[str, Failure]) -> None:
    """Replace the record; without failures there is no file."""
    path = Path(folder) / FILE
    if not failures:
        path.unlink(missing_ok=True)
        return
    entries = {identity: asdict(failure) for identity, failure in sorted(failures.items())}
    for entry in entries.values():
        del entry["point_id"]
    write_bytes(path, json.dumps(entries, indent=1).encode())
