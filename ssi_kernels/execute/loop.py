"""Work through the tasks of a sweep on a pool of workers, whatever the pool is made of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.failures import Failure
from ssi_kernels.execute.ledger import Ledger
from ssi_kernels.execute.progress import INTERVAL, Progress
from ssi_kernels.execute.tasks import Performed, Task

WINDOW_PER_WORKER = 4
TRIES = 4
"""How often a task is tried whose worker is lost."""


class WorkerLost(RuntimeError):
    """The process that ran a task died."""


class Pool(Protocol):
    """Workers that perform tasks."""

    workers: int

    def submit(self, task: Task) -> Hashable:
        """Start a task; returns its ticket."""

    def wait(self, tickets: Sequence[Hashable], timeout: float) -> Sequence[Hashable]:
        """Tickets of ended tasks: at least one, or none when the time is up."""

    def result(self, ticket: Hashable) -> Performed:
        """What an ended task did; raises WorkerLost."""


def work_through(
    tasks: Sequence[Task],
    pool: Pool,
    ledger: Ledger,
    progress: Progress,
    seconds: Callable[[Task], float],
    rest: Callable[[Task], Task | None] = lambda task: task,
) -> None:
    """Perform `tasks`, at most `WINDOW_PER_WORKER` for each worker submitted at a time, and enter them in `ledger`.

    A task whose worker was lost is tried again, `TRIES` times in all, from where `rest` says that it stands (None:
    all of it is stored). A task of several points is then tried point by point, so that only the point that kills
    workers is lost. Raises StoreError as soon as results cannot be stored.
    """
    queue, running = deque((task, 1) for task in tasks), {}
    window = WINDOW_PER_WORKER * pool.workers
    while queue or running:
        while queue and len(running) < window:
            task, tries = queue.popleft()
            running[pool.submit(task)] = task, tries
        for ticket in pool.wait(list(running), INTERVAL):
            task, tries = running.pop(ticket)
            try:
                performed = pool.result(ticket)
            except WorkerLost as error:
                again, performed = _after_loss(task, tries, error, rest)
                queue.extendleft(again)
                if again:
                    continue
            if performed.fatal:
                raise StoreError(performed.fatal)
            done, failed = ledger.settle(performed)
            progress.advance(done=done, failed=failed, work=seconds(task))
        progress.tick()


def _after_loss(
    task: Task, tries: int, error: WorkerLost, rest: Callable[[Task], Task | None]
) -> tuple[list[tuple[Task, int]], Performed | None]:
    """What to try again, with the number of the try; or what is known of the task now."""
    left = rest(task)
    if left is None:
        return [], Performed(stored=tuple(point.point_id for point in task.points))
    if tries < TRIES:
        return [(left, tries + 1)], None
    if len(left.points) > 1:
        return [(part, 1) for part in left.one_by_one()], None
    reason = WorkerLost(f"the worker died {TRIES} times ({error}): killed, out of memory, or crashed")
    return [], Performed(failures=(Failure.of(left.points[0], reason),))
