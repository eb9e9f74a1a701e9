"""What a segment looks like: its recorded steps and the kinds of its arrays, without their values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.segments import opened

if TYPE_CHECKING:
    from ssi_kernels.store.location import Location

STEPPED = ("m", "e", "m_position")
"""Arrays whose axis after (point, replica) is the recorded step."""

Kind = tuple[str, str, tuple[int, ...]]
"""Name, dtype and shape after (point, replica), and after the step where there is one."""


@dataclass(frozen=True)
class Frame:
    """A segment without the values of its arrays."""

    recorded: np.ndarray
    kinds: tuple[Kind, ...]
    provenance: dict


def read_frame(path: str | Location) -> Frame:
    """Reads no more of a segment than its frame. Raises as `read_segment`."""
    with opened(path) as (archive, attributes):
        kinds = [(name, *archive.kind(name)) for name in sorted(attributes["arrays"])]
        return Frame(
            recorded=archive.array("step"),
            kinds=tuple((name, str(dtype), shape[3 if name in STEPPED else 2 :]) for name, dtype, shape in kinds),
            provenance=json.loads(attributes["provenance"]),
        )


def lane_bytes(kinds: tuple[Kind, ...], recorded: int) -> int:
    """Memory of one replica of one point that has `recorded` recordings."""
    return sum(
        np.dtype(dtype).itemsize * math.prod(shape) * (recorded if name in STEPPED else 1)
        for name, dtype, shape in kinds
    )
