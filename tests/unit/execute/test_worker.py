"""Cases 18 and 29: one raising point does not lose its neighbours."""

from __future__ import annotations

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.tasks import Task
from ssi_kernels.execute.worker import perform
from ssi_kernels.store import SegmentIndex


def whole_task(placed) -> Task:
    return Task(placed.grid.points, (0, 2), (0, 50))


def whole(run):
    """A simulation without checkpoints."""
    return lambda task, every: [run(task)]


def stored(placed) -> set[str]:
    index = SegmentIndex(placed.store)
    index.refresh()
    return {point.point_id for point in placed.grid.points if index.covered(point.point_id)}


def test_a_task_is_one_segment(placed, run):
    performed = perform(whole_task(placed), placed.store, simulate=whole(run))
    assert set(performed.stored) == stored(placed) == {point.point_id for point in placed.grid.points}
    assert len(list(placed.store.glob("*/*.zarr.zip"))) == 1
    assert not performed.failures and not performed.fatal


def test_neighbours_of_a_raising_point_are_stored(placed, run):
    culprit = placed.grid.points[1]
    calls = []

    def raising(task):
        calls.append(len(task.points))
        if culprit in task.points:
            raise FloatingPointError("no")
        return run(task)

    performed = perform(whole_task(placed), placed.store, simulate=whole(raising))
    assert [failure.point_id for failure in performed.failures] == [culprit.point_id]
    assert "FloatingPointError: no" in performed.failures[0].line
    assert set(performed.stored) == stored(placed) == {p.point_id for p in placed.grid.points} - {culprit.point_id}
    assert calls == [4, 2, 1, 1, 2]


def test_a_device_out_of_memory_names_the_setting(placed):
    """Case 26."""

    def exhausted(task):
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 byte")

    performed = perform(Task(placed.grid.points[:1], (0, 2), (0, 50)), placed.store, simulate=whole(exhausted))
    assert "raise resources.gpu" in performed.failures[0].reason


def test_a_store_that_cannot_be_written_is_fatal_and_not_tried_point_by_point(placed, run, monkeypatch):
    """Case 40: no false success."""
    calls = []

    def full(root, segment):
        calls.append(segment)
        raise StoreError("results/store: No space left on device")

    monkeypatch.setattr("ssi_kernels.store.write_segment", full)
    performed = perform(whole_task(placed), placed.store, simulate=whole(run))
    assert performed.fatal == "results/store: No space left on device"
    assert performed.stored == performed.failures == ()
    assert len(calls) == 1
