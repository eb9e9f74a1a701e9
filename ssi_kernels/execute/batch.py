"""Points to arrays: one launch of a kernel over all replicas of points of one shape. No Ray here."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from ssi_kernels.execute.legs import Pace, Stretch, stretches
from ssi_kernels.execute.tasks import Task
from ssi_kernels.kernels.assemble import beside, fresh_lanes
from ssi_kernels.kernels.lanes import Lanes, Result
from ssi_kernels.kernels.shape import Shape, shape_of
from ssi_kernels.provenance import provenance
from ssi_kernels.schedule import Schedule
from ssi_kernels.store import Segment, read_segment
from ssi_kernels.sweep import Point
from ssi_kernels.sweep.cost import lane_steps_per_second


def shape_key(point: Point) -> tuple[Shape, Schedule]:
    """What points must share to go into one task: the shape of their program and their recording schedule."""
    return _shape(point), point.schedule


def run_task(task: Task) -> Segment:
    """Simulates all replicas of a task's points, from step 0 or from the states in its `resume` segment.

    Raises ValueError for points of different shapes, and StoreError where `resume` cannot be read.
    """
    (segment,) = segments(task)
    return segment


def segments(task: Task, every: float | None = None) -> Iterator[Segment]:
    """As `run_task`, in a segment after every so many seconds; each continues the one before. None: in one segment.

    Raises ValueError and StoreError as `run_task`, before the first segment.
    """
    keys = {shape_key(point) for point in task.points}
    if len(keys) != 1:
        raise ValueError(f"a task holds points of one shape, not of {len(keys)}")
    shape, schedule = keys.pop()
    lanes = beside([_lanes(shape, point, task.replicas) for point in task.points])
    if task.resume is not None:
        _restore(lanes, task)
    recorded = schedule.steps(task.steps[1])
    recorded = recorded[(recorded > task.steps[0]) | (task.steps[0] == 0)]
    for stretch in stretches(shape, lanes, task.steps, recorded, Pace(every, _seconds_of_a_step(task))):
        yield _segment(task, stretch)


def _segment(task: Task, stretch: Stretch) -> Segment:
    measured = {"seconds": stretch.seconds, "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    return Segment(
        points=tuple({**p.canonical(), "point_id": p.point_id, "coords": dict(p.coords)} for p in task.points),
        replicas=task.replicas,
        steps=stretch.steps,
        recorded=stretch.recorded,
        arrays=_arrays(stretch.result, len(task.points)),
        provenance={**provenance(), "measured": measured},
    )


def _seconds_of_a_step(task: Task) -> float:
    """What one step of all of a task's lanes should take on one core."""
    replicas = task.replicas[1] - task.replicas[0]
    return sum(replicas / lane_steps_per_second(point) for point in task.points)


def _shape(point: Point) -> Shape:
    return shape_of(
        point.model,
        d=point.d,
        length=point.length,
        kernel=point.kernel,
        dtype=point.dtype,
        thresholds=len(point.thresholds),
        stop=point.stop,
    )


def _lanes(shape: Shape, point: Point, replicas: tuple[int, int]) -> Lanes:
    return fresh_lanes(
        shape,
        point.model,
        point.start,
        d=point.d,
        learning_rate=point.learning_rate,
        thresholds=point.thresholds,
        decided=point.decided,
        stream_id=point.stream_id,
        replicas=replicas,
    )


def _restore(lanes: Lanes, task: Task) -> None:
    """Puts the states and marks of an earlier segment's end into fresh lanes."""
    earlier = read_segment(task.resume)
    rows = [earlier.point_ids.index(point.point_id) for point in task.points]
    columns = slice(task.replicas[0] - earlier.replicas[0], task.replicas[1] - earlier.replicas[0])
    picked = {name: array[rows][:, columns] for name, array in earlier.arrays.items()}
    lanes.state = {name: _lanes_last(picked[f"state_{name}"]) for name in lanes.state}
    lanes.recovery = _lanes_last(picked["recovery_step"])
    lanes.diverged = _lanes_last(picked["diverged_step"])
    lanes.stop = _lanes_last(picked["stop_step"])


def _lanes_last(array: np.ndarray) -> np.ndarray:
    """(point, replica, ...) to (..., lane)."""
    return np.moveaxis(array.reshape(array.shape[0] * array.shape[1], *array.shape[2:]), 0, -1)


def _lanes_first(array: np.ndarray, points: int) -> np.ndarray:
    """(..., lane) to (point, replica, ...)."""
    return np.ascontiguousarray(np.moveaxis(array, -1, 0)).reshape(points, array.shape[-1] // points, *array.shape[:-1])


def _arrays(result: Result, points: int) -> dict[str, np.ndarray]:
    """The arrays of a segment; see `ssi_kernels.store.Segment`."""
    lanes = result.lanes
    stopped = ~np.isnan(lanes.stop)
    arrays = {
        "recovery_step": lanes.recovery,
        "diverged_step": lanes.diverged,
        "stop_step": lanes.stop,
        "stop_m": np.where(stopped, result.final["m"], np.nan).astype(float),
        **{f"state_{name}": x for name, x in lanes.state.items()},
    }
    arrays = {name: _lanes_first(x, points) for name, x in arrays.items()}
    arrays["m"] = _lanes_first(result.records["m"], points)
    if result.records["e"].shape[1]:
        arrays["e"] = _lanes_first(result.records["e"], points)
        arrays["stop_e"] = _lanes_first(np.where(stopped, result.final["e"], np.nan).astype(float), points)
    if "m_position" in result.records:
        arrays["m_position"] = _lanes_first(result.records["m_position"], points)
    return arrays
