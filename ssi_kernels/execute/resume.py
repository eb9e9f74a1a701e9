"""What is left of a task whose worker was lost: it goes on from the last checkpoint that it stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.store.coverage import cover

if TYPE_CHECKING:
    from ssi_kernels.execute.tasks import Task
    from ssi_kernels.store.coverage import Coverage
    from ssi_kernels.store.index import SegmentIndex


def rest_of(task: Task, index: SegmentIndex) -> Task | None:
    """The part of `task` that the store still lacks, or None where it lacks nothing; brings `index` up to date.

    A checkpoint holds all trajectories of its task, so those that are not finished have one in common. Where they
    have not, the task is done again as it is: that costs time, and gives the same bits.
    """
    index.refresh()
    lo, hi = task.replicas
    coverages = [cover(index.covered(point.point_id), hi, task.steps[1]) for point in task.points]
    ends = {end for coverage in coverages for end in _ends(coverage, lo, task.steps[1])}
    if not ends:
        return None
    if len(ends) > 1:
        return task
    path, reached = ends.pop()
    return task if path is None or not _holds(index, path, task) else task.after(reached, path)


def _ends(coverage: Coverage, first: int, horizon: int) -> set[tuple]:
    """Where the unfinished replicas from `first` on stand: the segment that ends there, and its last step."""
    reach, source = coverage.reach[first:], coverage.source[first:]
    unfinished = np.flatnonzero(reach < horizon)
    return {
        (None, 0) if source[k] < 0 else (coverage.pieces[source[k]].path, int(reach[k])) for k in unfinished.tolist()
    }


def _holds(index: SegmentIndex, path: object, task: Task) -> bool:
    """Whether a segment has all of a task's points and replicas."""
    heading = index.headings()[path]
    inside = heading.replicas[0] <= task.replicas[0] and task.replicas[1] <= heading.replicas[1]
    return inside and {point.point_id for point in task.points} <= set(heading.point_ids)
