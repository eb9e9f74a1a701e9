"""The marker `consolidated.json`: what the datasets of a sweep hold, and whether their files are still whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.store.atomic import write_bytes
from ssi_kernels.sweep.identity import digest

if TYPE_CHECKING:
    from ssi_kernels.store.missing import Missing
    from ssi_kernels.sweep import Grid

MARKER = "consolidated.json"
LAYOUT_VERSION = 2
"""Raised whenever the same points would be laid out in another way; older datasets are then rebuilt."""


def fingerprint(grid: Grid, lacking: Sequence[Missing], failures: Mapping[str, str]) -> str:
    """A digest of what the datasets of a sweep hold when the store lacks `lacking` and `failures` failed.

    It does not change with the order of a list or a comment in the configuration.
    """
    absent = sorted([work.point.point_id, *work.replicas] for work in lacking)
    failed = sorted({work.point.point_id for work in lacking} & failures.keys())
    return digest([LAYOUT_VERSION, grid.fingerprint, absent, failed])


def write_marker(out_dir: Path, fingerprint: str, datasets: Iterable[str], blocks: Mapping | None = None) -> None:
    """Notes the fingerprint, the size of every file of the datasets, and what each of their blocks holds."""
    paths = sorted(path for name in datasets for path in _own_files(out_dir / name))
    files = {path.relative_to(out_dir).as_posix(): path.stat().st_size for path in paths}
    content = {"fingerprint": fingerprint, "files": files, "blocks": blocks or {}}
    write_bytes(out_dir / MARKER, json.dumps(content, indent=1).encode())


def stale(out_dir: str | Path, expected: str) -> str | None:
    """Why the datasets in `out_dir` must be built again, in words; None when they hold what they should.

    `expected` is the fingerprint of what they should hold. Files that are gone or have another size than was
    written are noticed too.
    """
    marker = read_marker(out_dir)
    if marker is None:
        return "never built"
    if marker["fingerprint"] != expected:
        return "built from other points"
    changed = changed_files(out_dir)
    return f"{changed[0]} is lost or damaged" if changed else None


def read_marker(out_dir: str | Path) -> dict | None:
    """`consolidated.json`: {fingerprint, files: {name: size}, blocks}; None where it is absent or not whole."""
    try:
        marker = json.loads((Path(out_dir) / MARKER).read_bytes())
        parts = {"files": dict(marker["files"]), "blocks": dict(marker.get("blocks", {}))}
        return {"fingerprint": str(marker["fingerprint"]), **parts}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_blocks(out_dir: str | Path) -> None:
    """Has every block made anew the next time that the datasets in `out_dir` are built; until then they stay."""
    marker = read_marker(out_dir)
    if marker is not None and marker["blocks"]:
        write_bytes(Path(out_dir) / MARKER, json.dumps({**marker, "blocks": {}}, indent=1).encode())


def changed_files(out_dir: str | Path) -> list[str]:
    """Names of the datasets' files that are gone or have another size than was written; empty without a marker."""
    marker = read_marker(out_dir) or {"files": {}}
    return [name for name, size in marker["files"].items() if _size(Path(out_dir) / name) != size]


def _own_files(dataset: Path) -> list[Path]:
    """The files of a Zarr group, without what a user may have put beside its arrays."""
    return [
        path for path in dataset.rglob("*") if path.is_file() and (path.name == "zarr.json" or path.parent != dataset)
    ]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
