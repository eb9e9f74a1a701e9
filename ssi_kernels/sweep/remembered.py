"""What theory said earlier, kept in the user's cache folder: numbers that take seconds and depend on a model only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

T = TypeVar("T")
_MOST = 10_000
"""Answers kept in one file; when there are more, it is begun anew."""


def remembered(
    name: str, key: str, compute: Callable[[], T], worth_keeping: Callable[[T], bool] = lambda answer: True
) -> T:
    """The answer to `key` in the file `name`.json; computed, and kept if that is worth it, where it is not there.

    Answers are JSON, NaN included. A folder that cannot be written to only costs time.
    """
    file = _folder() / f"{name}.json"
    known = _read(file)
    if key in known:
        return known[key]
    answer = compute()
    if worth_keeping(answer):
        _write(file, {**(known if len(known) < _MOST else {}), key: answer})
    return answer


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ssi-kernels"


def _read(file: Path) -> dict:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, known: dict) -> None:
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, delete=False) as stream:
            json.dump(known, stream)
        os.replace(stream.name, file)
