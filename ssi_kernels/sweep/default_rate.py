"""The learning rate of a sweep that gives none: a fraction of the noise bound, remembered between runs.

Theory needs JAX, which parsing a workflow must not import again and again: what was computed once is kept in a file.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model
from ssi_kernels.model.starts import Start
from ssi_kernels.sweep.identity import digest

_VERSION = 1
"""Raised whenever theory gives other rates."""


@lru_cache(maxsize=4096)
def default_rate(model: Model, length: int, d: int, start: Start) -> float:
    """0.3 of the noise bound at three digits (`ssi_kernels.theory.bound`).

    Raises ConfigError (no key) where there is none, because the model does not learn.
    """
    key = digest([_VERSION, model.canonical(length), length, d, start.canonical()])
    known = _read()
    if key not in known:
        known = {**known, key: _computed(model, length, d, start)}
        _write(known)
    if known[key] is None:
        raise ConfigError("", None, f"has no default: {_reason(model, length)}; give a number")
    return known[key]


def _computed(model: Model, length: int, d: int, start: Start) -> float | None:
    from ssi_kernels.theory.bound import default_rate as computed

    return computed(model, length, d, start)


def _reason(model: Model, length: int) -> str:
    from ssi_kernels.theory.learnability import learnability

    found = learnability(model, length)
    return f"{found.reason} ({found.remedy})" if found.remedy else found.reason


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ssi-kernels" / "rates.json"


def _read() -> dict[str, float | None]:
    try:
        found = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(known: dict[str, float | None]) -> None:
    """Keeps what is known; a folder that cannot be written to only costs time."""
    file = _file()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, delete=False) as stream:
            json.dump(known, stream)
        os.replace(stream.name, file)
