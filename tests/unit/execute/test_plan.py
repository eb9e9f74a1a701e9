from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.failures import Failure, write_failures
from ssi_kernels.execute.plan import choose_point, choose_points, plan_sweep
from ssi_kernels.execute.status import Counts, count, look
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import write_segment


def store(placed, run, points) -> None:
    write_segment(placed.store, run(Task(tuple(points), (0, 2), (0, 50))))


def test_a_plan_counts_what_is_missing_and_says_why(make_placed, run):
    placed = make_placed()
    store(placed, run, placed.grid.points[:3])
    larger = make_placed(sgd={"replicas": 3})
    plan = plan_sweep(larger, larger.index())
    assert (plan.points, plan.missing) == (4, 4)
    assert plan.steps == 3 * 50 + 3 * 50
    assert plan.estimated_seconds > 0 and plan.estimated_bytes > 0
    assert [entry["reason"] for entry in plan.reasons] == [*["replica 2"] * 3, "never computed"]
    assert plan.reasons[3]["coords"] == {"d": 32, "length": 2, "omega": 0.5, "a": 1.0}


def test_status_counts_points_and_replicas(placed, run):
    store(placed, run, placed.grid.points[:2])
    lost = placed.grid.points[2]
    write_failures(placed.folder, {lost.point_id: Failure(lost.point_id, lost.coords, "boom", "")})
    counts = count(placed, placed.index())
    assert counts == Counts(points=4, complete=2, missing=1, failed=1, recovered=2, censored=0, diverged=2)
    assert counts + counts == Counts(8, 4, 2, 2, 4, 0, 4)


def test_status_looks_at_the_horizon_that_is_asked_for(make_placed, run):
    placed = make_placed()
    store(placed, run, placed.grid.points)
    shorter = make_placed(sgd={"steps": 5})
    counts = count(shorter, shorter.index())
    assert (counts.recovered, counts.censored, counts.diverged) == (0, 8, 0)


def test_a_point_is_chosen_by_its_coordinates(placed):
    assert choose_point(placed.grid, {"d": "32", "omega": "1e-1"}) == placed.grid.points[2]


def test_several_points_are_chosen_by_some_coordinates(placed):
    assert choose_points(placed.grid, {"omega": ["0.1", "1e-1"]}) == [placed.grid.points[0], placed.grid.points[2]]
    assert choose_points(placed.grid, {"d": ["16", "32"]}) == list(placed.grid.points)
    with pytest.raises(ConfigError, match="d is 16, 32"):
        choose_points(placed.grid, {"d": ["16", "17"]})


def test_the_state_of_each_point(make_placed, run):
    placed = make_placed(sgd={"replicas": 3})
    store(placed, run, placed.grid.points[:3])
    lost = placed.grid.points[3]
    write_failures(placed.folder, {lost.point_id: Failure(lost.point_id, lost.coords, "boom", "")})
    states = look(placed, placed.index()).points
    assert [(one.state, one.reason, one.diverged) for one in states] == [
        *[("missing", "replica 2", 1)] * 3,
        ("failed", "boom", 0),
    ]
    assert states[3].coords == lost.coords and not states[3].is_ordinary


def test_the_first_threshold_counts(make_placed, run):
    placed = make_placed(recovery={"threshold": [0.6, 0.1]})
    points = placed.grid.points
    segment = run(Task(points, (0, 2), (0, 50)))
    crossed = np.stack([np.full((4, 2), np.nan), segment.arrays["recovery_step"][..., 0]], axis=-1)
    write_segment(placed.store, replace(segment, arrays={**segment.arrays, "recovery_step": crossed}))
    counts = count(placed, placed.index())
    assert (counts.recovered, counts.censored, counts.diverged) == (0, 4, 4)


@pytest.mark.parametrize(
    "wanted, told",
    [
        ({"d": "16"}, "matches 2 points.*omega: 0.1, 0.5"),
        ({"d": "17"}, "d is 16, 32"),
        ({"q": "1"}, "not an axis.*d: 16, 32"),
        ({"d": "many"}, "--point d"),
    ],
)
def test_a_choice_that_is_not_one_point_is_explained(placed, wanted, told):
    with pytest.raises(ConfigError, match=told):
        choose_point(placed.grid, wanted)
