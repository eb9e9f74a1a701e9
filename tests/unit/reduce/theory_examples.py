"""Datasets with a configuration that can be read, and a phase diagram as theory gives it, without any computation."""

from __future__ import annotations

import importlib
import json

import numpy as np
import xarray as xr

from ssi_kernels.sweep import expand, parse_config

from .synthetic import synthetic

SCALING = {
    "model": {"target": {"family": "hermite"}, "student": {"kind": "tied", "activation": "relu"}},
    "grid": {"d": [64, 256], "length": 2, "sie": [1, 2]},
    "sgd": {"learning_rate": 0.1, "steps": 1000},
}
GAIN = {
    "model": {"target": {"expression": "sum(z)/sqrt(L)"}},
    "grid": {
        "d": 64,
        "length": [1, 2],
        "student": [{"name": "tied", "kind": "tied"}, {"name": "untied", "kind": "untied"}],
    },
    "sgd": {"learning_rate": 0.1, "steps": 1000},
}
PHASE = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "opposite-pair",
    },
    "grid": {"d": 64, "length": 2, "omega": [0.5, 0.7], "a": [0.9, 1.0]},
    "sgd": {"learning_rate": 0.1, "steps": 1000},
}


def readable(written: dict, draw=lambda coords, rng: {"time": np.full(16, 10.0)}) -> tuple[xr.Dataset, xr.Dataset]:
    """(recovery, trajectories) of a sweep, with its configuration; neither is verified."""
    content = {"sweeps": {"x": written}}
    axes = {name: list(values) for name, values in expand(parse_config(content).sweeps["x"]).axes.items()}
    pair = synthetic(axes, draw, encoded="encoding" in written["model"])
    for dataset in pair:
        dataset.attrs["configuration"] = json.dumps(content)
    return pair


def replace(monkeypatch, module: str, name: str, stand_in) -> None:
    """Puts a stand-in at `ssi_kernels.theory.<module>.<name>`; by its module, because the package has functions of the
    same names."""
    monkeypatch.setattr(importlib.import_module(f"ssi_kernels.theory.{module}"), name, stand_in)


REGIMES = ("unique-semantic", "global-semantic", "unique-positional")


def diagram() -> xr.Dataset:
    """A phase diagram of 3 x 4 points with one mixed minimum and a boundary that is not everywhere."""
    regime = np.array([[0, 0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 2]], np.int8)
    kind = np.zeros((3, 4, 2), np.int8)
    kind[..., 0], kind[1, 2, 1] = 1, 3
    flags = {"flag_values": [0, 1, 2], "flag_meanings": " ".join(REGIMES)}
    kinds = {"flag_values": [0, 1, 2, 3], "flag_meanings": "none semantic positional mixed"}
    lines = {"dynamics": [0.8, 0.7, 0.6], "global": [np.nan, 0.75, 0.7], "positional_appears": [0.5, 0.4, 0.3]}
    lines["semantic_disappears"] = [np.nan] * 3
    return xr.Dataset(
        {
            "regime": (("a", "omega"), regime, flags),
            "kind": (("a", "omega", "minimum"), kind, kinds),
            **{f"boundary_{name}": (("a",), values) for name, values in lines.items()},
        },
        {"a": [0.8, 0.9, 1.0], "omega": [0.2, 0.5, 0.8, 1.0], "minimum": [0, 1]},
    )
