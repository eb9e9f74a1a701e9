"""Cut missing work into tasks: large enough to be worth a task, small enough to share out and to lose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ssi_kernels.execute.tasks import Task
from ssi_kernels.sweep import Estimate, estimate

if TYPE_CHECKING:
    from ssi_kernels.store import Missing
    from ssi_kernels.sweep import Point

SECONDS = 4.0
"""Estimated work of a full task. A crash loses about that much of each worker's work."""

LEAST_SECONDS = 1.0
"""Below this, sharing work out costs more (a compilation for each worker) than it saves."""

TASKS_PER_WORKER = 2
"""Tasks that every worker gets where there is enough work, so that all end at about the same time."""

MAX_LANES = 4096
GPU_LANES = 2**17
"""Trajectories that fill a GPU: a task there holds that many, where there are as many."""

MAX_BYTES = 2**28
TILE = 16
"""Trajectories that a kernel advances together at the price of one: a point is not cut finer for speed."""


def pack(
    work: Iterable[Missing],
    workers: int,
    *,
    speed: float = 1.0,
    fill: int = TILE,
    shape: Callable[[Point], Hashable] | None = None,
) -> list[Task]:
    """Tasks that together are exactly `work`, whatever its order; the longest first.

    A task holds points of one shape with the same replicas, steps and resume, up to about `SECONDS` of
    work, `MAX_LANES` trajectories and `MAX_BYTES` of output; points with more than that are cut by
    replicas. `speed` is that of a worker in CPU cores; `fill` is how many trajectories its device advances at the price
    of one, which a task has however long it takes. `shape` is `batch.shape_key` unless given.
    """
    if shape is None:
        from ssi_kernels.execute.batch import shape_key as shape
    singles = _distinct(work)
    limit = speed * _task_seconds(sum(map(seconds_of, singles)) / speed, workers)
    groups: dict[Hashable, list[Task]] = defaultdict(list)
    for single in singles:
        for part in _cut(single, limit, fill):
            groups[shape(part.points[0]), part.replicas, part.steps, part.resume].append(part)
    tasks = [task for group in groups.values() for task in _join(group, limit, fill)]
    tasks.sort(key=lambda task: (-seconds_of(task), *_order(task)))
    return _balanced(tasks, workers, fill)


def cost(task: Task) -> Estimate:
    """The estimated cost of a task on one CPU core."""
    replicas, steps = task.replicas[1] - task.replicas[0], task.steps[1] - task.steps[0]
    return estimate((point, replicas, steps) for point in task.points)


def seconds_of(task: Task) -> float:
    """The estimated seconds of a task on one CPU core."""
    return cost(task).seconds


def _distinct(work: Iterable[Missing]) -> list[Task]:
    """A task for each piece of work in a fixed order; two names of one point are one piece."""
    tasks = [Task((item.point,), item.replicas, item.steps, item.resume) for item in work]
    tasks.sort(key=lambda task: (_order(task), str(task.points[0].coords)))
    return list({_order(task): task for task in reversed(tasks)}.values())[::-1]


def _order(task: Task) -> tuple:
    return task.points[0].point_id, task.replicas, task.steps, str(task.resume or "")


def _task_seconds(total: float, workers: int) -> float:
    """How much work a task should have, given all there is."""
    return min(SECONDS, max(LEAST_SECONDS, total / (TASKS_PER_WORKER * workers)))


def _cut(task: Task, limit: float, fill: int) -> Iterator[Task]:
    """One point's work, cut by replicas where it exceeds a limit."""
    lo, hi = task.replicas
    whole = cost(task)
    for_speed = max(fill, int((hi - lo) * limit / whole.seconds) // TILE * TILE)
    for_memory = max(1, int((hi - lo) * MAX_BYTES / whole.bytes))
    size = min(for_speed, for_memory, max(MAX_LANES, fill))
    for start in range(lo, hi, size):
        yield replace(task, replicas=(start, min(start + size, hi)))


def _join(parts: list[Task], limit: float, fill: int) -> Iterator[Task]:
    """Alike parts of different points, as many to a task as the limits allow."""
    together: list[Task] = []
    seconds, size = 0.0, 0
    for part in parts:
        more = cost(part)
        seconds, size = seconds + more.seconds, size + more.bytes
        lanes = (len(together) + 1) * part.lanes
        enough = lanes > fill and (seconds > limit or lanes > MAX_LANES)
        if together and (enough or size > MAX_BYTES):
            yield _one(together)
            together, seconds, size = [], more.seconds, more.bytes
        together.append(part)
    yield _one(together)


def _balanced(tasks: list[Task], workers: int, fill: int) -> list[Task]:
    """The last tasks, one for each worker, in halves where that is worth it, so that the workers end together."""
    early, last = tasks[:-workers], tasks[-workers:]
    if not early:
        return tasks
    halves = [half for task in last for half in _halves(task, fill)]
    return early + sorted(halves, key=lambda task: (-seconds_of(task), *_order(task)))


def _halves(task: Task, fill: int) -> tuple[Task, ...]:
    if seconds_of(task) < 2 * LEAST_SECONDS or len(task.points) < 2 or task.lanes < 2 * fill:
        return (task,)
    return task.halves()


def _one(parts: list[Task]) -> Task:
    return replace(parts[0], points=tuple(part.points[0] for part in parts))
