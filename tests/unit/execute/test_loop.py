"""Working through tasks on a pool that may lose workers, without Ray."""

from __future__ import annotations

import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.ledger import Ledger
from ssi_kernels.execute.loop import TRIES, WINDOW_PER_WORKER, WorkerLost, work_through
from ssi_kernels.execute.progress import Progress
from ssi_kernels.execute.tasks import Performed, Task


class FakePool:
    """Performs a task when its ticket is waited for; tasks with a `deadly` point lose their worker."""

    workers = 2

    def __init__(self, deadly=(), fatal=None):
        self.deadly, self.fatal = set(deadly), fatal
        self.submitted, self.most = [], 0

    def submit(self, task):
        self.submitted.append(task)
        return len(self.submitted) - 1

    def wait(self, tickets, timeout):
        self.most = max(self.most, len(tickets))
        return tickets[:1]

    def result(self, ticket):
        task = self.submitted[ticket]
        if self.fatal and ticket == 1:
            return Performed(fatal=self.fatal)
        if self.deadly & set(task.points):
            raise WorkerLost("the worker died")
        return Performed(stored=tuple(point.point_id for point in task.points))


def drive(tasks, pool, rest=lambda task: task):
    ledger = Ledger(tasks)
    work_through(tasks, pool, ledger, Progress("s", ledger.points, 1.0, lambda _: None), lambda _: 1.0, rest)
    return ledger


def test_everything_is_performed_within_the_window(placed):
    tasks = [Task((point,), (lo, lo + 1), (0, 50)) for point in placed.grid.points for lo in range(8)]
    pool = FakePool()
    ledger = drive(tasks, pool)
    assert pool.submitted == tasks
    assert pool.most == WINDOW_PER_WORKER * pool.workers
    assert ledger.stored == {point.point_id for point in placed.grid.points}


def test_only_the_point_that_kills_workers_is_lost(placed):
    """Case 29: one dead worker does not lose the batch."""
    culprit = placed.grid.points[2]
    pool = FakePool(deadly=[culprit])
    ledger = drive([Task(placed.grid.points, (0, 2), (0, 50))], pool)
    assert set(ledger.failures) == {culprit.point_id}
    assert "the worker died" in ledger.failures[culprit.point_id].reason
    assert len(ledger.stored) == 3
    assert len(pool.submitted) == TRIES + 3 + TRIES, "the pack, the others of the pack once each, the culprit"


def test_a_store_that_cannot_be_written_ends_the_run(placed):
    """Case 40: the cause is named."""
    pool = FakePool(fatal="results/store: No space left on device")
    with pytest.raises(StoreError, match="No space left"):
        drive([Task((point,), (0, 2), (0, 50)) for point in placed.grid.points], pool)


def test_a_point_is_stored_when_all_its_tasks_are(placed):
    point = placed.grid.points[0]
    halves = [Task((point,), (0, 1), (0, 50)), Task((point,), (1, 2), (0, 50))]
    ledger = Ledger(halves)
    assert ledger.settle(Performed(stored=(point.point_id,))) == (0, 0)
    assert ledger.settle(Performed(stored=(point.point_id,))) == (1, 0)


def test_a_task_goes_on_from_where_it_stands(placed):
    """A lost worker's task is tried again from its last checkpoint; one that is wholly stored is not tried again."""
    tasks = [Task((point,), (0, 2), (0, 50)) for point in placed.grid.points[:2]]
    pool = FakePool(deadly=placed.grid.points[:2])
    halfway = {tasks[0].points[0].point_id: tasks[0].after(20, "checkpoint")}
    ledger = drive(tasks, pool, lambda task: halfway.get(task.points[0].point_id))
    assert ledger.stored == {tasks[1].points[0].point_id}
    assert [task.steps for task in pool.submitted if task.points == tasks[0].points] == [(0, 50)] + [(20, 50)] * 3
    assert sum(task.points == tasks[1].points for task in pool.submitted) == 1
