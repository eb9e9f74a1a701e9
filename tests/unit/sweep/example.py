"""A small valid sweep, and variations of it by key path."""

from __future__ import annotations

import copy

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import Grid, Sweep, expand, parse_config

REMOVED = object()

SWEEP = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention", "reduction": "identity"},
        "encoding": "opposite-pair",
    },
    "grid": {"d": [16, 64], "length": 2, "omega": [0.1, 0.5], "a": 1.0},
    "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2},
}
TIED = {
    "model.target": {"expression": "sum(z)/sqrt(L)"},
    "model.student": {"kind": "tied"},
    "model.encoding": REMOVED,
    "grid.omega": REMOVED,
    "grid.a": REMOVED,
}
STUDENTS = {
    **TIED,
    "model.student": REMOVED,
    "grid.student": [{"name": kind, "kind": kind} for kind in ("tied", "untied")],
}


def mapping(changes: dict | None = None) -> dict:
    """A configuration with the one sweep `t`: SWEEP with values put at dotted key paths, or REMOVED."""
    sweep = copy.deepcopy(SWEEP)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        section = sweep
        for key in parents:
            section = section.setdefault(key, {})
        if value is REMOVED:
            section.pop(last, None)
        else:
            section[last] = copy.deepcopy(value)
    return {"sweeps": {"t": sweep}}


def sweep_of(changes: dict | None = None) -> Sweep:
    return parse_config(mapping(changes)).sweeps["t"]


def grid_of(changes: dict | None = None) -> Grid:
    return expand(sweep_of(changes))


def ids(changes: dict | None = None) -> list[str]:
    return [point.point_id for point in grid_of(changes).points]


def refused(changes: dict, key: str) -> str:
    """The one line with which the configuration is refused; it must start with the key path below the sweep."""
    with pytest.raises(ConfigError) as caught:
        parse_config(mapping(changes))
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"sweeps.t.{key}: "), line
    return line
