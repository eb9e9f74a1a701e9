"""Consolidated datasets with known laws instead of simulations, laid out as the store lays them out."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import xarray as xr
import zarr

from ssi_kernels.errors import End, Outcome, Status
from ssi_kernels.store import verify_complete

STEPS = np.array([0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000])
_FILLS = {"outcome": int(Outcome.NOT_RUN), "end": int(End.NOT_RUN)}
PROVENANCE = {"package_version": "0.1.0", "jax": "0.10.2", "device": "cpu: x86_64", "xla_flags": "", "commit": "abc"}


def synthetic(axes, draw, *, replicas=16, horizon=1_000_000, thresholds=(0.5,), rate=0.05, students=None, encoded=True):
    """(recovery, trajectories), neither of them verified.

    `draw(coords, rng)` returns a dict with `time` (replicas,), inf where a run does not recover by the horizon and
    NaN where it diverged, and may return `end` (replicas,) of `End`. `horizon` and `rate` may be functions of the
    coordinates.
    """
    grid = {"length": [2], **axes}
    grid = {name: np.array(values) for name, values in {"d": [100], **grid}.items()}
    shape = tuple(map(len, grid.values()))
    time, end = np.full((*shape, replicas, len(thresholds)), np.nan), np.zeros((*shape, replicas), np.int8)
    horizons, rates = np.zeros(shape, np.int64), np.zeros(shape)
    for cell, (place, coords) in enumerate(_cells(grid)):
        drawn = draw(coords, np.random.default_rng(cell))
        time[place] = np.reshape(drawn["time"], (replicas, -1))
        end[place] = drawn.get("end", End.UNDECIDED)
        horizons[place] = horizon(coords) if callable(horizon) else horizon
        rates[place] = rate(coords) if callable(rate) else rate
    frame = _Frame(grid, tuple(thresholds), horizons, rates, students, encoded)
    return frame.recovery(time, end), frame.trajectories(time)


def verified(pair):
    """Both datasets as the store would open them."""
    return tuple(map(verify_complete, pair))


def write(pair, folder):
    """Both datasets as Zarr, one file a (d, length) and variable as in the store; returns their paths, recovery
    first."""
    paths = folder / "recovery.zarr", folder / "trajectories.zarr"
    for dataset, path in zip(pair, paths, strict=True):
        group = zarr.create_group(path, zarr_format=3, attributes=dataset.attrs)
        for name, variable in dataset.variables.items():
            fill = np.nan if variable.dtype.kind == "f" else _FILLS.get(name)
            block = tuple(1 if dim in ("d", "length") else size for dim, size in variable.sizes.items())
            point = tuple(1 if dim in dataset.status.dims[:-1] else size for dim, size in variable.sizes.items())
            sharded = "step" in variable.dims and name != "step"
            group.create_array(
                name,
                data=np.asarray(variable),
                chunks=variable.shape if name in dataset.coords else point if sharded else block,
                shards=block if sharded else None,
                fill_value=fill,
                dimension_names=variable.dims,
                config={"write_empty_chunks": True},
            )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            zarr.consolidate_metadata(path)
    return paths


def lognormal(alpha, spread, constant=1.0, horizon=1e6):
    """A law T = exp(constant) d^alpha exp(spread W), rounded up and censored at the horizon."""

    def draw(coords, rng, replicas=16):
        time = np.ceil(np.exp(constant + spread * rng.normal(size=replicas)) * coords["d"] ** alpha)
        return {"time": np.where(time <= horizon, time, np.inf)}

    return draw


def _cells(grid):
    places = itertools.product(*(range(len(values)) for values in grid.values()))
    for place in places:
        yield place, {name: values[i].item() for i, (name, values) in zip(place, grid.items(), strict=True)}


def _labels(values):
    text = np.array(values, np.dtypes.StringDType())
    return text if any(isinstance(value, str) for value in values) else np.array(values)


class _Frame:
    def __init__(self, grid, thresholds, horizons, rates, students, encoded):
        self.grid, self.axes, self.thresholds, self.encoded = grid, tuple(grid), thresholds, encoded
        names = [str(name) for name in grid.get("student", ["attention"])]
        kinds = students or {name: "untied" if "untied" in name else "tied" for name in names}
        entries = [{"name": name, "kind": kind} for name, kind in kinds.items()]
        sweep = {"grid": {name: values.tolist() for name, values in grid.items()} | {"student": entries}}
        self.attrs = {"configuration": json.dumps({"sweeps": {"x": sweep}}), **PROVENANCE}
        self.given = {"horizon": (self.axes, horizons)}
        if "learning_rate" not in grid:
            self.given["learning_rate"] = (self.axes, rates)
        if encoded:
            self.given["components"] = (self.axes, np.ones(horizons.shape, np.int64))
        self.horizon = horizons[..., None]

    def recovery(self, time, end):
        axes = self.axes
        outcome = np.where(np.isinf(time), Outcome.CENSORED, Outcome.RECOVERED).astype(np.int8)
        outcome[np.isnan(time)] = Outcome.DIVERGED
        diverged = (outcome == Outcome.DIVERGED).any(axis=-1)
        one = (*axes, "replica")
        final = {"final_m": (one, np.where(diverged, np.nan, 0.8).astype(np.float32))}
        if self.encoded:
            values = np.where(diverged, np.nan, 0.1).astype(np.float32)[..., None]
            final["final_e"] = ((*one, "component"), values)
        variables = {
            "recovery_step": ((*one, "threshold"), np.where(np.isfinite(time), time, np.nan)),
            "outcome": ((*one, "threshold"), outcome),
            "end": (one, np.where(diverged, End.UNDECIDED, end).astype(np.int8)),
            **final,
            "final_step": (one, np.where(diverged, np.nan, self.horizon).astype(float)),
            "observed_until": (one, np.where(diverged, 3.0, self.horizon)),
            "status": (one, np.full(diverged.shape, Status.COMPLETE, np.int8)),
            **self.given,
        }
        return xr.Dataset(variables, self._coordinates(time) | {"threshold": _labels(self.thresholds)}, self.attrs)

    def trajectories(self, time):
        axes = (*self.axes, "replica")
        crossing = np.where(np.isfinite(time[..., 0]), time[..., 0], 1e9)[..., None]
        m = (0.01 + 0.9 * STEPS / (STEPS + np.maximum(crossing, 1.0))).astype(np.float32)
        m[..., 1:][np.isnan(time[..., 0])] = np.nan
        m[(STEPS > self.horizon[..., None]) & np.ones(m.shape, bool)] = np.nan
        variables = {"m": ((*axes, "step"), m), "norm": ((*axes, "step"), np.abs(m))}
        if self.encoded:
            variables["e"] = ((*axes, "step", "component"), 0.1 * m[..., None])
        variables |= {"status": (axes, np.full(m.shape[:-1], Status.COMPLETE, np.int8)), **self.given}
        return xr.Dataset(variables, self._coordinates(time) | {"step": STEPS}, self.attrs)

    def _coordinates(self, time):
        text = ("student", "target", "encoding")
        labels = {name: np.array(v, np.dtypes.StringDType()) if name in text else v for name, v in self.grid.items()}
        return labels | {"replica": np.arange(time.shape[-2])}
