"""What of the earlier datasets can be kept when a sweep is consolidated again: the blocks that did not change.

A block is one file for each variable. Its key names all that its values follow from, so that a file with the same key
holds the same bytes, wherever in the grid it stands now.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.store.location import relative_name
from ssi_kernels.store.marker import LAYOUT_VERSION, read_marker
from ssi_kernels.sweep.identity import digest

if TYPE_CHECKING:
    from ssi_kernels.store.coverage import Coverage
    from ssi_kernels.store.index import SegmentIndex
    from ssi_kernels.store.layout import Block, Layout


def block_key(
    block: Block, layout: Layout, index: SegmentIndex, coverages: Sequence[Coverage], failures: Mapping[str, str]
) -> str:
    """A digest of everything that the values of a block follow from: its shape, its points, and their segments."""
    frame = [
        [LAYOUT_VERSION, str(layout.dtype), layout.replicas, layout.components, layout.positions, layout.thresholds],
        [list(layout.block_shape), list(block.shape), digest(layout.steps.tolist())],
    ]
    files = {piece.path for coverage in coverages for piece in coverage.pieces}
    sizes = {path: [relative_name(path, index.root), index.size(path)] for path in files}
    rows = [
        [
            point.point_id,
            place.tolist(),
            [point.replicas, point.steps, point.decided, point.point_id in failures],
            layout.threshold_order(point),
            [[*sizes[piece.path], piece.row] for piece in coverage.pieces],
        ]
        for point, place, coverage in zip(block.points, block.places, coverages, strict=True)
    ]
    return digest([frame, rows])


@dataclass(frozen=True)
class KeptBlock:
    """A block as it is noted in the marker: its files, relative to the sweep's folder, and what was noted of it."""

    files: tuple[str, ...]
    note: dict

    def as_json(self) -> dict:
        """For the marker."""
        return {"files": list(self.files), "note": self.note}


class EarlierBlocks:
    """The blocks of the datasets that are in `out_dir` now, as far as their files are whole."""

    def __init__(self, out_dir: Path):
        marker = read_marker(out_dir) or {"files": {}, "blocks": {}}
        self._folder, self._sizes, self._blocks = out_dir, marker["files"], marker["blocks"]

    def take(self, key: str, targets: Sequence[Path]) -> dict | None:
        """Puts the files of the block `key` under the names `targets`; returns its note, or None without the block."""
        known = self._blocks.get(key)
        if known is None or not all(map(self._is_as_noted, known["files"])):
            return None
        for name, target in zip(known["files"], targets, strict=True):
            if name in self._sizes:
                _link(self._folder / name, target)
        return known["note"]

    def _is_as_noted(self, name: str) -> bool:
        """Whether a file still has its size; one that was never written, because all of it is fill, is absent."""
        try:
            return self._sizes.get(name) == os.stat(self._folder / name).st_size
        except OSError:
            return name not in self._sizes


def _link(source: Path, target: Path) -> None:
    """The same file under another name, or a copy where the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
