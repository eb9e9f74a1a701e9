"""What runs in a worker: simulate a task and store it, losing no point to its neighbours. No Ray here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.failures import Failure, one_line
from ssi_kernels.execute.tasks import Performed, Task

if TYPE_CHECKING:
    from ssi_kernels.store import Segment
    from ssi_kernels.store.location import Location
    from ssi_kernels.sweep import Point

NO_GPU_BUILD = (
    "resources.gpu: the JAX of the workers sees no GPU although Ray does: "
    "install its CUDA build (pip install 'jax[cuda12]'), or set gpu: 0"
)
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
SHARE_LESS = "the device is out of memory: raise resources.gpu, so that fewer tasks share a GPU"
log = logging.getLogger(__name__)


def perform(
    task: Task,
    store_root: Location,
    every: float | None = None,
    simulate: Callable[[Task, float | None], Iterable[Segment]] | None = None,
) -> Performed:
    """Simulate `task` and store its segments, one after about every so many seconds.

    After an exception each half of its points goes on alone from what is stored, down to one point. Where nothing can
    be stored no other task could either, so that is fatal. `simulate` is `ssi_kernels.execute.batch.segments` unless a
    test says otherwise.
    """
    from ssi_kernels.store import write_segment

    if simulate is None:
        from ssi_kernels.execute.batch import segments as simulate
    left = task
    try:
        for segment in simulate(task, every):
            try:
                left = left.after(segment.steps[1], write_segment(store_root, segment))
            except StoreError as error:
                return Performed(fatal=str(error))
    except Exception as error:
        if len(task.points) == 1:
            return Performed(failures=(_failure(task.points[0], error),))
        log.warning("a task of %d points raised %s: running its halves", len(task.points), one_line(error))
        return _together([perform(half, store_root, every, simulate) for half in left.halves()])
    return Performed(stored=tuple(point.point_id for point in task.points))


def perform_on_gpu(task: Task, store_root: Location, every: float | None = None) -> Performed:
    """`perform`, after making sure that JAX did not fall back to the CPU."""
    import jax

    if jax.default_backend() == "cpu":
        return Performed(fatal=NO_GPU_BUILD)
    return perform(task, store_root, every)


def _failure(point: Point, error: Exception) -> Failure:
    """The failure of a point; running out of device memory comes with the setting that helps (case 26)."""
    failure = Failure.of(point, error)
    return replace(failure, reason=f"{SHARE_LESS} ({failure.reason})") if OUT_OF_MEMORY in failure.reason else failure


def _together(parts: list[Performed]) -> Performed:
    return Performed(
        stored=tuple(identity for part in parts for identity in part.stored),
        failures=tuple(failure for part in parts for failure in part.failures),
        fatal=next((part.fatal for part in parts if part.fatal), None),
    )
