"""Points computed again from scratch, and compared with what is stored of them, bit for bit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.execute.environment import device_environment, prepare_theory
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store.frames import STEPPED, read_frame
from ssi_kernels.store.parts import parts_of
from ssi_kernels.store.segments import read_segment
from ssi_kernels.store.strands import strands_of

if TYPE_CHECKING:
    from ssi_kernels.store.coverage import Piece
    from ssi_kernels.store.index import SegmentIndex
    from ssi_kernels.store.segments import Segment
    from ssi_kernels.store.strands import Strand
    from ssi_kernels.sweep import Point

DECISIVE = ("jax", "jaxlib", "device", "xla_flags")
"""What the last bits may depend on."""

_EVENTS = ("recovery_step", "diverged_step", "stop_step")


@dataclass(frozen=True)
class Recomputed:
    """One point computed again, for the replicas and steps that are stored.

    `arrays` maps those that differ to the number of values that do. `elsewhere` maps what was otherwise when the point
    was computed (versions, device, flags) to what it was then and what it is here. `skipped` says why it could not be
    computed here, None otherwise. `recorded` and `here`: the whole provenance of both, where values differ.
    """

    sweep: str
    coords: dict
    replicas: tuple[int, int]
    steps: int
    files: tuple[str, ...]
    arrays: dict[str, int]
    elsewhere: dict[str, tuple[str, str]]
    skipped: str | None
    recorded: list[dict]
    here: dict

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not self.arrays


def recompute(chosen: Sequence[tuple[str, Point]], index: SegmentIndex) -> Iterator[Recomputed]:
    """Computes points, each with the name of its sweep, again in this process on the recorded kind of device."""
    strands = [(name, point, strand) for name, point in chosen for strand in _strands(index, point)]
    origins = [_origins(strand) for *_, strand in strands]
    _choose_device({_kind(part) for parts in origins for part in parts})
    from ssi_kernels.provenance import provenance

    here = provenance()
    for (name, point, strand), parts in zip(strands, origins, strict=True):
        yield _compared(name, point, strand, parts, here)


def _strands(index: SegmentIndex, point: Point) -> tuple[Strand, ...]:
    return strands_of(point.point_id, index.covered(point.point_id), lambda *_: True).strands


def _origins(strand: Strand) -> list[dict]:
    """The distinct provenances of a strand, without their times."""
    parts = [part for piece in strand.pieces for part in parts_of(read_frame(piece.path).provenance)]
    plain = [{key: value for key, value in part.items() if key != "measured"} for part in parts]
    return [part for place, part in enumerate(plain) if part not in plain[:place]]


def _kind(provenance: Mapping) -> str:
    """cpu or gpu; "" where nothing tells."""
    return str(provenance.get("device", "")).partition(":")[0]


def _choose_device(kinds: set[str]) -> None:
    """JAX, which has not started, computes on the CPU unless something was computed on another device."""
    if kinds <= {"cpu", ""}:
        prepare_theory()
    else:
        os.environ.update(device_environment(1))


def _compared(name: str, point: Point, strand: Strand, parts: list[dict], here: dict) -> Recomputed:
    others = sorted({_kind(part) for part in parts} - {_kind(here), ""})
    skipped = f"was computed on {' and '.join(others)}, and JAX computes on {_kind(here)} here" if others else None
    arrays = {} if skipped else _differing(strand, _computed(point, strand))
    return Recomputed(
        sweep=name,
        coords=dict(point.coords),
        replicas=strand.replicas,
        steps=strand.end,
        files=tuple(str(piece.path) for piece in strand.pieces),
        arrays=arrays,
        elsewhere=_elsewhere(parts, here),
        skipped=skipped,
        recorded=parts if arrays else [],
        here=here if arrays else {},
    )


def _computed(point: Point, strand: Strand) -> Segment:
    from ssi_kernels.execute.batch import run_task

    return run_task(Task((point,), strand.replicas, (0, strand.end)))


def _elsewhere(parts: Sequence[Mapping], here: Mapping) -> dict[str, tuple[str, str]]:
    recorded = {key: sorted({str(part.get(key, "")) for part in parts}) for key in DECISIVE}
    return {key: ("; ".join(values), here[key]) for key, values in recorded.items() if values != [here[key]]}


def _differing(strand: Strand, computed: Segment) -> dict[str, int]:
    """How many values of each array are not the same bits, over all pieces of a strand."""
    counts: Counter[str] = Counter()
    for piece in strand.pieces:
        counts.update(_differing_in(piece, read_segment(piece.path), computed))
    return {name: count for name, count in sorted(counts.items()) if count}


def _differing_in(piece: Piece, stored: Segment, computed: Segment) -> Iterator[str]:
    """The name of an array once for every value of one piece that is not as computed."""
    lo, hi = max(piece.replicas[0], computed.replicas[0]), min(piece.replicas[1], computed.replicas[1])
    there, here = (slice(lo - held[0], hi - held[0]) for held in (piece.replicas, computed.replicas))
    columns = np.searchsorted(computed.recorded, stored.recorded)
    if not np.isin(stored.recorded, computed.recorded).all():
        yield "step"
        return
    for name in sorted(stored.arrays.keys() | computed.arrays.keys()):
        if name not in stored.arrays or name not in computed.arrays:
            yield name
            continue
        wanted, found = computed.arrays[name][0, here], stored.arrays[name][piece.row, there]
        wanted = wanted[:, columns] if name in STEPPED else wanted
        if (wanted.shape, wanted.dtype) != (found.shape, found.dtype):
            yield name
            continue
        wrong = _differ(_as_of(name, wanted, piece.steps[1]), found) & _matters(name, found, piece, computed, here)
        yield from [name] * int(np.count_nonzero(wrong))


def _as_of(name: str, values: np.ndarray, step: int) -> np.ndarray:
    """Events as they were known at a step."""
    return np.where(values <= step, values, np.nan) if name in _EVENTS else values


def _matters(name: str, found: np.ndarray, piece: Piece, computed: Segment, here: slice) -> np.ndarray:
    """Which values are used: the state at the end of replicas that go on, and values at a stop where it happened."""
    if name.startswith("state_"):
        at_end = np.full(found.shape[0], piece.steps[1] == computed.steps[1])
        for event in ("stop_step", "diverged_step"):
            at_end &= np.isnan(computed.arrays[event][0, here])
        return at_end.reshape(-1, *(1,) * (found.ndim - 1))
    if name in ("stop_m", "stop_e"):
        stop = computed.arrays["stop_step"][0, here]
        now = (stop <= piece.steps[1]) & ((stop > piece.steps[0]) | (piece.steps[0] == 0))
        return ~np.isnan(found) | now.reshape(-1, *(1,) * (found.ndim - 1))
    return np.array(True)


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Elementwise: other bits, where not both are no number."""
    if one.dtype.kind != "f":
        return one != other
    bits = f"u{one.dtype.itemsize}"
    other_bits = np.ascontiguousarray(one).view(bits) != np.ascontiguousarray(other).view(bits)
    return other_bits & ~(np.isnan(one) & np.isnan(other))
