"""A segment of one point as the dataset that `simulate` returns."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from ssi_kernels.errors import Outcome
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
    dataset = xr.Dataset(data, coordinates, _origin(segment, point))
    for name, attributes in {**COORDINATES, **VARIABLES}.items():
        if name in dataset.variables:
            dataset[name].attrs = attributes
    return dataset


def _origin(segment: Segment, point: Point) -> dict:
    """Everything the numbers depend on: the point as JSON, versions, device, flags and commit."""
    more = {"decided": point.decided, "steps": point.steps, "replicas": point.replicas}
    configuration = {**point.canonical(), **more}
    versions = {name: value for name, value in segment.provenance.items() if name != "measured"}
    return {**versions, "configuration": json.dumps(configuration), "learning_rate": point.learning_rate}


def _norm(m: np.ndarray, e: np.ndarray | None) -> np.ndarray:
    return np.abs(m) if e is None else np.sqrt(m * m + np.sum(e * e, axis=-1))


def _fates(segment: Segment, point: Point) -> dict:
    arrays, replicas = segment.arrays, segment.replicas[1] - segment.replicas[0]
    complete = np.ones((1, replicas), bool)
    fate = Fate(
        arrays["recovery_step"], arrays["diverged_step"], arrays["stop_step"], complete, np.array([point.steps])
    )
    final_m = fate.final(arrays["m"][:, :, -1], arrays["stop_m"])
    final_e = fate.final(arrays["e"][:, :, -1], arrays["stop_e"]) if "e" in arrays else None
    outcome, dtype = fate.outcome(), arrays["m"].dtype
    recovered = outcome == Outcome.RECOVERED
    fates = {
        "recovery_step": (("replica", "threshold"), np.where(recovered, arrays["recovery_step"], np.nan)[0]),
        "outcome": (("replica", "threshold"), outcome[0]),
        "end": ("replica", end_of(final_m, final_e, np.array([point.decided]), complete)[0]),
        "final_m": ("replica", final_m[0].astype(dtype)),
        "final_step": ("replica", fate.final(segment.recorded[None, -1:], arrays["stop_step"])[0]),
        "observed_until": ("replica", fate.observed_until()[0]),
    }
    if final_e is not None:
        fates["final_e"] = (("replica", "component"), final_e[0].astype(dtype))
    return fates
