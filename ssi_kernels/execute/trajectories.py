"""A segment of one point as the dataset that `simulate` returns."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ssi_kernels.store import Segment
from ssi_kernels.store.attributes import COORDINATES, VARIABLES
from ssi_kernels.store.outcomes import Fate, end_of
from ssi_kernels.sweep import Point

_TRAILING = {"m": (), "e": ("component",), "m_position": ("position",)}


def as_dataset(segment: Segment, point: Point) -> xr.Dataset:
    """Trajectories (replica, step, ...) and what became of each replica, with long names and units."""
    arrays = {name: array[0] for name, array in segment.arrays.items()}
    data = {name: (("replica", "step", *axes), arrays[name]) for name, axes in _TRAILING.items() if name in arrays}
    data["norm"] = (("replica", "step"), _norm(arrays["m"], arrays.get("e")))
    data |= _fates(segment, point)
    coordinates = {
        "replica": np.arange(*segment.replicas),
        "step": segment.recorded,
        "threshold": np.array(point.thresholds),
    }
    dataset = xr.Dataset(data, coordinates, {**segment.provenance, "learning_rate": point.learning_rate})
    for name, attributes in {**COORDINATES, **VARIABLES}.items():
        if name in dataset.variables:
            dataset[name].attrs = attributes
    dataset.attrs.pop("measured", None)
    return dataset


def _norm(m: np.ndarray, e: np.ndarray | None) -> np.ndarray:
    return np.abs(m) if e is None else np.sqrt(m * m + np.sum(e * e, axis=-1))


def _fates(segment: Segment, point: Point) -> dict:
    arrays, replicas = segment.arrays, segment.replicas[1] - segment.replicas[0]
    complete = np.ones((1, replicas), bool)
    fate = Fate(
        arrays["recovery_step"], arrays["diverged_step"], arrays["stop_step"], complete, np.array([point.steps])
    )
    stopped = fate.stopped
    final_m = np.where(stopped, arrays["stop_m"], arrays["m"][..., -1])
    final_e = None
    if "e" in arrays:
        final_e = np.where(stopped[..., None], arrays["stop_e"], arrays["e"][:, :, -1])
    outcome = fate.outcome()
    recovered = outcome == 1
    fates = {
        "recovery_step": (("replica", "threshold"), np.where(recovered, arrays["recovery_step"], np.nan)[0]),
        "outcome": (("replica", "threshold"), outcome[0]),
        "end": ("replica", end_of(final_m, final_e, np.array([point.decided]), complete)[0]),
        "final_m": ("replica", final_m[0]),
        "final_step": ("replica", np.where(stopped, arrays["stop_step"], float(segment.recorded[-1]))[0]),
    }
    if final_e is not None:
        fates["final_e"] = (("replica", "component"), final_e[0])
    return fates
