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


class WorkerLost(RuntimeError):
    """The process that ran a task died, more often than the pool retries."""


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
    tasks: Sequence[Task], pool: Pool, ledger: Ledger, progress: Progress, seconds: Callable[[Task], float]
) -> None:
    """Perform `tasks`, at most `WINDOW_PER_WORKER` for each worker submitted at a time, and enter them in `ledger`.

    A task of several points whose worker was lost is tried again point by point, so that only the point that
    kills workers is lost. Raises StoreError as soon as results cannot be stored.
    """
    queue, running = deque(tasks), {}
    window = WINDOW_PER_WORKER * pool.workers
    while queue or running:
        while queue and len(running) < window:
            task = queue.popleft()
            running[pool.submit(task)] = task
        for ticket in pool.wait(list(running), INTERVAL):
            task = running.pop(ticket)
            try:
                performed = pool.result(ticket)
            except WorkerLost as error:
                if len(task.points) > 1:
                    queue.extendleft(task.one_by_one())
                    continue
                performed = Performed(failures=(Failure.of(task.points[0], error),))
            if performed.fatal:
                raise StoreError(performed.fatal)
            done, failed = ledger.settle(performed)
            progress.advance(done=done, failed=failed, work=seconds(task))
        progress.tick()
