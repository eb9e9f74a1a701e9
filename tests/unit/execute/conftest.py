"""A small sweep, and segments that look like a kernel's without running one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import Segment
from ssi_kernels.sweep import parse_config


def config_of(**changes: object) -> dict:
    """The sweep `tiny`, with entries of `grid`, `sgd`, `recovery` or `resources` replaced."""
    sweep = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "opposite-pair",
        },
        "grid": {"d": [16, 32], "length": 2, "omega": [0.1, 0.5], "a": 1.0, **changes.pop("grid", {})},
        "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2, **changes.pop("sgd", {})},
        **changes,
    }
    return {"sweeps": {"tiny": sweep}}


@pytest.fixture
def make_placed(tmp_path: Path) -> Callable[..., PlacedSweep]:
    """A function that places the sweep `tiny` with some changes in a temporary results folder."""
    return lambda **changes: place(parse_config(config_of(**changes)), tmp_path / "results")["tiny"]


@pytest.fixture
def placed(make_placed) -> PlacedSweep:
    return make_placed()


def fake_run(task: Task) -> Segment:
    """What a kernel would return: replica 0 recovers at step 7, replica 1 diverges at step 9, others stay."""
    points, replicas = len(task.points), task.replicas[1] - task.replicas[0]
    recorded = task.points[0].schedule.steps(task.steps[1])
    number = np.arange(*task.replicas)
    return Segment(
        points=tuple({**p.canonical(), "point_id": p.point_id, "coords": p.coords} for p in task.points),
        replicas=task.replicas,
        steps=task.steps,
        recorded=recorded,
        arrays={
            "m": np.zeros((points, replicas, len(recorded)), np.float32),
            "e": np.zeros((points, replicas, len(recorded), 1), np.float32),
            "recovery_step": np.tile(np.where(number == 0, 7.0, np.nan)[:, None], (points, 1, 1)),
            "diverged_step": np.tile(np.where(number == 1, 9.0, np.nan), (points, 1)),
            "stop_step": np.full((points, replicas), np.nan),
            "stop_m": np.full((points, replicas), np.nan),
            "stop_e": np.full((points, replicas, 1), np.nan),
        },
        provenance={},
    )


@pytest.fixture
def run() -> Callable[[Task], Segment]:
    return fake_run
