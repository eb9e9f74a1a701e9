from __future__ import annotations

import pickle
from pathlib import Path

from ssi_kernels.execute.tasks import Task


def test_a_task_counts_its_trajectories_and_steps(placed):
    task = Task(placed.grid.points, (2, 5), (10, 110))
    assert task.lanes == 4 * 3
    assert task.lane_steps == 4 * 3 * 100


def test_one_by_one_keeps_all_but_the_points(placed):
    task = Task(placed.grid.points, (2, 5), (10, 110), Path("old"))
    singles = task.one_by_one()
    assert [single.points for single in singles] == [(point,) for point in placed.grid.points]
    assert {(single.replicas, single.steps, single.resume) for single in singles} == {((2, 5), (10, 110), Path("old"))}


def test_halves_are_all_points(placed):
    first, second = Task(placed.grid.points[:3], (0, 2), (0, 50)).halves()
    assert (len(first.points), first.points + second.points) == (1, placed.grid.points[:3])


def test_a_task_travels(placed):
    task = Task(placed.grid.points, (0, 2), (0, 50))
    assert pickle.loads(pickle.dumps(task)) == task
