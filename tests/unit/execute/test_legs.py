"""Checkpoints: wherever a run is cut, the bits are those of one piece."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ssi_kernels.execute import legs
from ssi_kernels.execute.batch import run_task, segments
from ssi_kernels.execute.packing import pack
from ssi_kernels.execute.resume import rest_of
from ssi_kernels.execute.tasks import Task
from ssi_kernels.execute.worker import perform
from ssi_kernels.store import SegmentIndex, consolidate, open_recovery, open_trajectories, read_segment, write_segment

KINDS = {
    "reduced attention": {},
    "full attention": {"kernel": "full"},
    "float64": {"dtype": "float64"},
    "stopping": {"stop": "recovered", "learning_rate": 0.5, "start": {"m": 0.3, "e": 0.1}},
    "diverging": {"learning_rate": 1e30},
}


@pytest.fixture
def hurried(monkeypatch):
    """Every leg seems to take a second, and is about a seventh of a run, so that a checkpoint is due after each."""
    monkeypatch.setattr(legs.Pace, "next", lambda self, left: min(left, 57))
    ticks = itertools.count()
    monkeypatch.setattr(legs.stretches, "__defaults__", (lambda: float(next(ticks)),))


def placed_for(make_placed, kind):
    sgd = {"steps": 400, "replicas": 3, **KINDS[kind]}
    return make_placed(grid={"d": 16, "omega": [0.1, 0.2, 0.5, 0.7]}, sgd=sgd, record={"every": 7})


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_change_no_bit(make_placed, tmp_path, hurried, kind):
    placed = placed_for(make_placed, kind)
    task = Task(placed.grid.points, (0, 3), (0, 400))
    whole, parts = run_task(task), list(segments(task, every=0.5))
    assert len(parts) >= 2
    assert [part.steps[0] for part in parts] == [0, *(part.steps[1] for part in parts[:-1])]
    assert parts[-1].steps[1] == 400
    for name, array in whole.arrays.items():
        if name in ("m", "e"):
            joined = np.concatenate([part.arrays[name] for part in parts], axis=2)
            np.testing.assert_array_equal(joined, array)
        elif not name.startswith("stop_"):
            np.testing.assert_array_equal(parts[-1].arrays[name], array)
    assert datasets(placed, tmp_path / "one", [whole]) == datasets(placed, tmp_path / "many", parts)


def datasets(placed, folder, stored) -> dict[str, bytes]:
    for segment in stored:
        write_segment(folder / "store", segment)
    consolidate(placed.sweep, placed.grid, folder / "store", folder)
    opened = open_trajectories(folder / "trajectories.zarr"), open_recovery(folder / "recovery.zarr")
    return {f"{i} {name}": x.values.tobytes() for i, data in enumerate(opened) for name, x in data.data_vars.items()}


def test_a_lost_task_goes_on_from_its_last_checkpoint(make_placed, hurried):
    placed = placed_for(make_placed, "reduced attention")
    task = Task(placed.grid.points, (0, 3), (0, 400))
    index = placed.index()
    assert rest_of(task, index) == task, "nothing is stored yet"
    for segment in itertools.islice(segments(task, every=0.5), 2):
        write_segment(placed.store, segment)
    left = rest_of(task, index)
    assert left.steps == (segment.steps[1], 400) and left.points == task.points
    assert read_segment(left.resume).steps == segment.steps
    assert len(pack(placed.missing(), workers=1)) == 1, "a rerun continues the whole pack in one task"
    write_segment(placed.store, run_task(left))
    assert rest_of(task, index) is None
    assert placed.missing() == []
    np.testing.assert_array_equal(
        read_segment(next(iter(newest(placed.store, 400)))).arrays["state_m"], run_task(task).arrays["state_m"]
    )


def newest(store, step):
    index = SegmentIndex(store)
    index.refresh()
    return [path for path, heading in index.headings().items() if heading.steps[1] == step]


def test_where_some_replicas_are_finished_the_others_go_on(make_placed, hurried):
    """A diverged replica is complete after the first checkpoint; the rest of the task still is one task."""
    placed = make_placed(
        sgd={"steps": 400, "replicas": 3, "learning_rate": None}, grid={"learning_rate": [0.05, 1e30], "d": 16}
    )
    task = Task(placed.grid.points, (0, 3), (0, 400))
    first = next(segments(task, every=0.5))
    path = write_segment(placed.store, first)
    assert rest_of(task, placed.index()) == task.after(first.steps[1], path)


def test_after_an_exception_the_halves_go_on_from_the_checkpoint(make_placed, hurried):
    placed = placed_for(make_placed, "reduced attention")
    culprit, begun = placed.grid.points[1], []

    def raising(task, every):
        begun.append((len(task.points), task.steps[0]))
        for number, segment in enumerate(segments(task, every)):
            if number and culprit in task.points:
                raise FloatingPointError("no")
            yield segment

    performed = perform(Task(placed.grid.points, (0, 3), (0, 400)), placed.store, 0.5, raising)
    assert [failure.point_id for failure in performed.failures] == [culprit.point_id]
    assert set(performed.stored) == {p.point_id for p in placed.grid.points} - {culprit.point_id}
    assert [points for points, _ in begun] == [4, 2, 1, 1, 2]
    assert begun[0][1] == 0 and all(start > 0 for _, start in begun[1:])


def test_the_pace_adapts_to_what_a_step_costs():
    """An estimate that is wrong by a factor of a thousand costs a few legs, not a checkpoint."""
    for true_cost in (1e-6, 1e-3, 1.0):
        pace, legs_done, at = legs.Pace(every=120.0, estimate=1e-3), 0, 0
        while at < 10**9 and legs_done < 40:
            steps = pace.next(10**9 - at)
            assert steps * true_cost <= 480, "never much longer than a checkpoint's time"
            pace.learn(steps, steps * true_cost)
            at, legs_done = at + steps, legs_done + 1
        assert pace.next(10**12) * true_cost == pytest.approx(120 / legs.LEGS, rel=0.1)


def test_without_checkpoints_there_is_one_leg():
    assert legs.Pace(None, 1.0).next(12345) == 12345


def test_a_horizon_may_grow_by_less_than_a_recording(make_placed):
    """The steps that are added may hold no scheduled step; a run goes on over them all the same."""
    placed = make_placed(sgd={"steps": 400}, record={"every": 500})
    first = Task(placed.grid.points[:1], (0, 2), (0, 400))
    path = write_segment(placed.store, run_task(first))
    added = run_task(Task(first.points, (0, 2), (400, 450), resume=path))
    assert added.recorded.size == 0
    scratch = run_task(Task(first.points, (0, 2), (0, 450)))
    np.testing.assert_array_equal(added.arrays["state_m"], scratch.arrays["state_m"])
