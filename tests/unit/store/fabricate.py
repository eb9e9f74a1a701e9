"""Segments with a closed form instead of a simulation: equal work gives equal bits, whatever the pieces."""

from __future__ import annotations

import hashlib

import numpy as np
import xarray as xr

from ssi_kernels.store import Segment, consolidate, write_segment
from ssi_kernels.sweep import expand, parse_config

PROVENANCE = {
    **{name: f"{name} 1" for name in ("package_version", "jax", "jaxlib", "numpy", "ray")},
    "device": "cpu: x86_64",
    "xla_flags": "",
    "commit": "abc",
}


def make_sweep(grid=None, model=None, sgd=None, **sections):
    """A parsed sweep and its grid; keyword arguments replace parts of a small default."""
    mapping = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention", "reduction": "identity"},
            "encoding": "opposite-pair",
            **(model or {}),
        },
        "grid": {"d": [16, 32], "length": 2, "omega": [0.1, 0.5], "a": 1.0, **(grid or {})},
        "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 3, **(sgd or {})},
        **sections,
    }
    mapping["model"] = {k: v for k, v in mapping["model"].items() if v is not None}
    mapping["grid"] = {k: v for k, v in mapping["grid"].items() if v is not None}
    sweep = parse_config({"sweeps": {"x": mapping}}).sweeps["x"]
    return sweep, expand(sweep)


def fabricate(points, replicas, steps, diverged=None, stopped=None):
    """A segment of `points`; `diverged` and `stopped` map a replica to the step of its event."""
    points = tuple(points)
    recorded = points[0].schedule.steps(steps[1])
    recorded = recorded[(recorded > steps[0]) | (steps[0] == 0)]
    parts = [
        [_replica(p, k, steps[1], recorded, diverged or {}, stopped or {}) for k in range(*replicas)] for p in points
    ]
    arrays = {name: np.array([[part[name] for part in row] for row in parts]) for name in parts[0][0]}
    return Segment(
        points=tuple({**p.canonical(), "point_id": p.point_id, "coords": p.coords} for p in points),
        replicas=replicas,
        steps=steps,
        recorded=recorded,
        arrays=arrays,
        provenance=PROVENANCE,
    )


def store_whole(root, grid, pack=1):
    """Writes every point of a grid for all its replicas and steps, `pack` points a segment; returns the paths."""
    points = list(grid.points)
    packs = [points[i : i + pack] for i in range(0, len(points), pack)]
    return [write_segment(root, fabricate(p, (0, p[0].replicas), (0, p[0].steps))) for p in packs]


def built(tmp_path, sweep, grid, failures=None):
    """(trajectories, recovery, Consolidated), as users open them."""
    made = consolidate(sweep, grid, tmp_path / "store", tmp_path / "x", failures)
    return xr.open_zarr(made.trajectories).load(), xr.open_zarr(made.recovery).load(), made


def complete(tmp_path, pack=1, **parts):
    """(grid, trajectories, recovery, Consolidated) of a sweep of which everything is stored."""
    sweep, grid = make_sweep(**parts)
    store_whole(tmp_path / "store", grid, pack)
    return grid, *built(tmp_path, sweep, grid)


def closed_form(point, replica, steps):
    """(m, e, m_position) at the given steps, of one replica."""
    digest = hashlib.sha256(f"{point.point_id}{replica}".encode()).digest()
    slow, shift = 5 + digest[0] % 60, digest[1] / 2560
    dtype = np.dtype(point.dtype)
    m = (steps / (steps + slow)).astype(dtype)
    e = np.repeat((shift * np.exp(-steps / 100.0))[:, None], point.model.rank(point.length), axis=1).astype(dtype)
    positions = point.length if point.model.student.is_untied else 0
    return m, e, np.repeat(m[:, None], positions, axis=1)


def norm_of(m, e):
    return np.sqrt(m**2 + np.sum(e**2, axis=-1))


def _replica(point, replica, horizon, recorded, diverged, stopped):
    every = np.arange(horizon + 1)
    m, e, m_position = closed_form(point, replica, every)
    over = np.array([min(diverged.get(replica, np.inf), stopped.get(replica, np.inf) + 1)])
    crossed = (norm_of(m, e)[:, None] >= np.array(point.thresholds)) & (every < over)[:, None]
    alive = recorded < over
    stop = stopped.get(replica, np.nan)
    stop = stop if stop <= horizon else np.nan
    blow_up = diverged.get(replica, np.nan)
    found = {
        "m": np.where(alive, m[recorded], np.nan).astype(m.dtype),
        "recovery_step": np.where(crossed.any(axis=0), crossed.argmax(axis=0), np.nan),
        "diverged_step": np.float64(blow_up if blow_up <= horizon else np.nan),
        "stop_step": np.float64(stop),
        "stop_m": np.float64(np.nan if np.isnan(stop) else m[int(stop)]),
        "stop_e": np.full(e.shape[1], np.nan) if np.isnan(stop) else e[int(stop)].astype(float),
        "state_m": m[-1],
        "state_key": np.array([replica, horizon], np.uint32),
    }
    if e.shape[1]:
        found["e"] = np.where(alive[:, None], e[recorded], np.nan).astype(e.dtype)
    if m_position.shape[1]:
        found["m_position"] = np.where(alive[:, None], m_position[recorded], np.nan).astype(m.dtype)
    return found
