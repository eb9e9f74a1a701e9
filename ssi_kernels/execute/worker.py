"""What runs in a worker: simulate a task and store it, losing no point to its neighbours. No Ray here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.failures import Failure, one_line
from ssi_kernels.execute.tasks import Performed, Task

if TYPE_CHECKING:
    from ssi_kernels.store import Segment
    from ssi_kernels.sweep import Point

NO_GPU_BUILD = (
    "resources.gpu: the JAX of the workers sees no GPU although Ray does: "
    "install its CUDA build (pip install 'jax[cuda12]'), or set gpu: 0"
)
OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
SHARE_LESS = "the device is out of memory: raise resources.gpu, so that fewer tasks share a GPU"
log = logging.getLogger(__name__)


def perform(task: Task, store_root: Path, run: Callable[[Task], Segment] | None = None) -> Performed:
    """Simulate `task` and store its segment; after an exception, each half of its points apart, down to one.

    `run` is `ssi_kernels.execute.batch.run_task` unless a test says otherwise.
    """
    if run is None:
        from ssi_kernels.execute.batch import run_task as run
    try:
        segment = run(task)
    except Exception as error:
        if len(task.points) == 1:
            return Performed(failures=(_failure(task.points[0], error),))
        log.warning("a task of %d points raised %s: running its halves", len(task.points), one_line(error))
        return _together([perform(half, store_root, run) for half in task.halves()])
    return _store(segment, task, store_root)


def perform_on_gpu(task: Task, store_root: Path) -> Performed:
    """`perform`, after making sure that JAX did not fall back to the CPU."""
    import jax

    if jax.default_backend() == "cpu":
        return Performed(fatal=NO_GPU_BUILD)
    return perform(task, store_root)


def _failure(point: Point, error: Exception) -> Failure:
    """The failure of a point; running out of device memory comes with the setting that helps (case 26)."""
    failure = Failure.of(point, error)
    return replace(failure, reason=f"{SHARE_LESS} ({failure.reason})") if OUT_OF_MEMORY in failure.reason else failure


def _store(segment: Segment, task: Task, store_root: Path) -> Performed:
    """Write the segment; where that is impossible no other task could either, so it is fatal."""
    from ssi_kernels.store import write_segment

    try:
        write_segment(store_root, segment)
    except StoreError as error:
        return Performed(fatal=str(error))
    return Performed(stored=tuple(point.point_id for point in task.points))


def _together(parts: list[Performed]) -> Performed:
    return Performed(
        stored=tuple(identity for part in parts for identity in part.stored),
        failures=tuple(failure for part in parts for failure in part.failures),
        fatal=next((part.fatal for part in parts if part.fatal), None),
    )
