"""Running both kernels on one case, and the samples whose laws are compared."""

from __future__ import annotations

import hashlib

import numpy as np

from ssi_kernels.kernels import assemble, lanes
from ssi_kernels.kernels.shape import shape_of


def run_case(case, kernel, replicas, dtype="float64", seed="", alter=None):
    """Final state of `replicas` runs; `alter` may spoil the lanes' numbers before they run."""
    shape = shape_of(case.model, d=case.d, length=case.length, kernel=kernel, dtype=dtype, thresholds=1, stop="horizon")
    batch = assemble.fresh_lanes(
        shape,
        case.model,
        case.start,
        d=case.d,
        learning_rate=case.learning_rate,
        thresholds=(case.threshold,),
        decided=0.7,
        stream_id=hashlib.sha256(f"{case.name} {kernel} {seed}".encode()).hexdigest(),
        replicas=(0, replicas),
    )
    if alter is not None:
        alter(batch.data)
    return lanes.run(shape, batch, (0, case.steps), np.array([case.steps]))


BEYOND = 2.0
"""Stands for a diverged run's overlap, so that divergence makes another law and not a NaN."""


def samples(case, result):
    """Name to sample: every overlap at the end, and the recovery step (horizon + 1 where censored)."""
    found = {"m": result.final["m"], **{f"e{k + 1}": x for k, x in enumerate(result.final["e"])}}
    for i, x in enumerate(result.final.get("m_position", ())):
        found[f"m_{i + 1}"] = x
    found["recovery step"] = np.nan_to_num(result.lanes.recovery[0], nan=case.steps + 1)
    return {name: np.nan_to_num(x, nan=BEYOND) for name, x in found.items()}
