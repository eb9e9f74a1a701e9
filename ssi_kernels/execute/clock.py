"""Files from the future: what a clock leaves behind that was ahead and is set back."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

_TOLERANCE = 2.0
"""Seconds: clocks of file servers differ by that much, and files that were just written are no concern."""

_SPACING_NS = 1_000_000


def bring_to_present(folders: Iterable[Path], now: float | None = None) -> list[Path]:
    """Gives files dated in the future dates just before now, in the same order; returns them.

    Snakemake tells by dates what follows from what: a result dated tomorrow would pass for newer than everything that
    is done today. Files that cannot be changed are passed over.
    """
    now = time.time() if now is None else now
    dated = [(_date(path), path) for folder in folders for path in _files(folder)]
    late = sorted(entry for entry in dated if entry[0] > (now + _TOLERANCE) * 1e9)
    changed = []
    for place, (_, path) in enumerate(late):
        date = int(now * 1e9) - (len(late) - place) * _SPACING_NS
        try:
            os.utime(path, ns=(date, date), follow_symlinks=False)
        except OSError:
            continue
        changed.append(path)
    return changed


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def _date(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0
