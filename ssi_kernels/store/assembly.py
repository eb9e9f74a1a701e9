"""One segment out of pieces of others, with the bits that one task for all of it would have given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.frames import STEPPED, Frame
from ssi_kernels.store.parts import joined, share
from ssi_kernels.store.segments import Segment, read_segment

if TYPE_CHECKING:
    from ssi_kernels.store.coverage import Piece
    from ssi_kernels.store.location import Location
    from ssi_kernels.store.strands import Strand

_EARLIEST = ("recovery_step", "diverged_step", "stop_step")
_ONCE = ("stop_m", "stop_e")


def assemble(strands: Sequence[Strand], frame: Frame) -> Segment:
    """The segment of strands with the same replicas and end, whose arrays and recorded steps are those of `frame`.

    Recordings are put one after the other, events are the earliest, and the state is that at the last step. A replica
    that has stopped or diverged has no recordings after that, as in an uninterrupted run. Every file is read once.
    Raises as `read_segment`.
    """
    lo, hi = strands[0].replicas
    arrays = {name: _blank(name, dtype, (len(strands), hi - lo), shape, frame) for name, dtype, shape in frame.kinds}
    points: list[dict | None] = [None] * len(strands)
    provenances = []
    for path, uses in _by_file(strands):
        segment = read_segment(path)
        rows = {piece.row for _, piece in uses}
        provenances.append(share(segment.provenance, len(rows) / len(segment.points)))
        for place, piece in uses:
            points[place] = segment.points[piece.row]
            _copy(arrays, place, (lo, hi), segment, piece, frame.recorded)
    return Segment(tuple(points), (lo, hi), (0, strands[0].end), frame.recorded, arrays, joined(provenances))


def frame_of(frames: Sequence[Frame]) -> Frame | None:
    """The frame of what is put together from pieces with these; None where their arrays are of different kinds."""
    first = frames[0]
    if any(frame.kinds != first.kinds for frame in frames):
        return None
    recorded = first.recorded if len(frames) == 1 else np.unique(np.concatenate([frame.recorded for frame in frames]))
    return Frame(recorded, first.kinds, joined(frame.provenance for frame in frames))


def _by_file(strands: Sequence[Strand]) -> Iterable[tuple[Location, list[tuple[int, Piece]]]]:
    """The pieces in every file with the place of their strand, so that the state at the latest step comes last."""
    uses = defaultdict(list)
    for place, strand in enumerate(strands):
        for piece in strand.pieces:
            uses[piece.path].append((place, piece))
    return sorted(uses.items(), key=lambda use: (use[1][0][1].steps[1], str(use[0])))


def _blank(name: str, dtype: str, head: tuple[int, int], shape: tuple[int, ...], frame: Frame) -> np.ndarray:
    steps = (len(frame.recorded),) if name in STEPPED else ()
    fill = np.nan if np.dtype(dtype).kind == "f" else 0
    return np.full((*head, *steps, *shape), fill, np.dtype(dtype))


def _copy(
    arrays: dict[str, np.ndarray], place: int, replicas: tuple[int, int], segment: Segment, piece: Piece, recorded
) -> None:
    """Enters what one piece tells of the replicas of a strand."""
    lo, hi = max(piece.replicas[0], replicas[0]), min(piece.replicas[1], replicas[1])
    there, here = slice(lo - piece.replicas[0], hi - piece.replicas[0]), slice(lo - replicas[0], hi - replicas[0])
    columns = np.searchsorted(recorded, segment.recorded)
    for name, array in arrays.items():
        source, target = segment.arrays[name][piece.row, there], array[place, here]
        if name in STEPPED:
            target[:, columns] = source
        elif name in _EARLIEST:
            np.fmin(target, source, out=target)
        elif name in _ONCE:
            np.copyto(target, source, where=np.isnan(target))
        else:
            target[...] = source
