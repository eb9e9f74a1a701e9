"""The store: append-only segments, an index derived from them, and the datasets of each sweep. Imports no JAX.

>>> from ssi_kernels import store
>>> index = store.SegmentIndex("results/store")

What needs Zarr and xarray is loaded when first used.
"""

from __future__ import annotations

from ssi_kernels.lazy import lazy_names
from ssi_kernels.store.coverage import Piece
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.marker import changed_files, fingerprint, stale
from ssi_kernels.store.missing import Missing, missing
from ssi_kernels.store.segments import Segment, UnreadableSegment, read_segment, write_segment

_HOMES = {
    "Consolidated": "ssi_kernels.store.consolidation",
    "consolidate": "ssi_kernels.store.consolidation",
    "open_recovery": "ssi_kernels.store.readable",
    "open_trajectories": "ssi_kernels.store.readable",
    "verify_complete": "ssi_kernels.store.readable",
}
__all__ = [
    "Missing",
    "Piece",
    "Segment",
    "SegmentIndex",
    "UnreadableSegment",
    "changed_files",
    "fingerprint",
    "missing",
    "read_segment",
    "stale",
    "write_segment",
    *_HOMES,
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
