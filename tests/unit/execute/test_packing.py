"""Packing: the tasks are exactly the missing work, whatever its order, within the limits."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_kernels.execute import packing
from ssi_kernels.execute.packing import pack, seconds_of
from ssi_kernels.store import Missing
from ssi_kernels.sweep import expand, parse_config

CONFIG = {
    "model": {"target": {"family": "hermite"}, "student": {"kind": "tied", "activation": "relu"}},
    "grid": {"d": [16, 32, 64], "length": [2, 3], "sie": [1, 2, 3]},
    "sgd": {"learning_rate": 0.05, "steps": 100, "replicas": 4},
}
POINTS = expand(parse_config({"sweeps": {"s": CONFIG}}).sweeps["s"]).points


def shape(point):
    return point.length


@st.composite
def works(draw) -> list[Missing]:
    """Missing work of some points: disjoint ranges of replicas, each with a range of steps."""
    work = []
    for point in draw(st.lists(st.sampled_from(POINTS), unique_by=lambda p: p.point_id, max_size=12)):
        cuts = sorted(draw(st.sets(st.integers(0, 20_000), min_size=2, max_size=4)))
        for replicas in pairwise(cuts):
            start = draw(st.sampled_from([0, 100]))
            stop = start + draw(st.sampled_from([1, 1000, 10**6, 10**9]))
            work.append(Missing(point, replicas, (start, stop), "why", Path("old") if start else None))
    return draw(st.permutations(work))


def pieces(tasks) -> dict:
    """(point, steps, resume) -> the ranges of replicas, sorted."""
    found: dict = {}
    for task in tasks:
        for point in task.points:
            found.setdefault((point.point_id, task.steps, task.resume), []).append(task.replicas)
    return {key: sorted(ranges) for key, ranges in found.items()}


def merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for lo, hi in ranges:
        if joined and joined[-1][1] == lo:
            joined[-1] = (joined[-1][0], hi)
        else:
            joined.append((lo, hi))
    return joined


@settings(deadline=None)
@given(works(), st.integers(1, 64))
def test_tasks_are_exactly_the_missing_work(work, workers):
    wanted: dict = {}
    for item in work:
        wanted.setdefault((item.point.point_id, item.steps, item.resume), []).append(item.replicas)
    got = pieces(pack(work, workers, shape=shape))
    assert {key: merged(ranges) for key, ranges in got.items()} == {k: merged(sorted(r)) for k, r in wanted.items()}
    assert sum(hi - lo for ranges in got.values() for lo, hi in ranges) == sum(
        item.replicas[1] - item.replicas[0] for item in work
    )


@settings(deadline=None)
@given(works(), st.integers(1, 64), st.randoms())
def test_the_order_of_the_work_does_not_matter(work, workers, random):
    shuffled = list(work)
    random.shuffle(shuffled)
    assert pack(work, workers, shape=shape) == pack(shuffled, workers, shape=shape)


@settings(deadline=None)
@given(works(), st.integers(1, 64))
def test_every_task_keeps_the_limits(work, workers):
    for task in pack(work, workers, shape=shape):
        assert task.lanes <= packing.MAX_LANES
        assert len({shape(point) for point in task.points}) == 1
        if len(task.points) > 1 and task.lanes > packing.TILE:
            assert seconds_of(task) <= packing.SECONDS
            assert packing.cost(task).bytes <= packing.MAX_BYTES


def missing(points, replicas=(0, 4), steps=(0, 10**7)) -> list[Missing]:
    return [Missing(point, replicas, steps, "never computed") for point in points]


def test_every_worker_gets_tasks_where_there_is_work():
    work = missing(POINTS, replicas=(0, 16))
    assert sum(map(seconds_of, pack(work, 1, shape=shape))) > 8
    assert len(pack(work, 4, shape=shape)) >= 2 * 4


def test_little_work_of_one_shape_is_one_task():
    tasks = pack(missing(POINTS, steps=(0, 100)), 8, shape=shape)
    assert Counter(len(task.points) for task in tasks) == {9: 2}


def test_many_replicas_of_one_point_are_shared_out():
    tasks = pack(missing(POINTS[:1], replicas=(0, 2048)), 4, shape=shape)
    assert len(tasks) >= 8
    assert all(task.lanes >= packing.TILE for task in tasks)


def test_points_of_few_replicas_share_a_tile():
    """However long they take: a tile costs the same with one lane as with all."""
    tasks = pack(missing(POINTS, steps=(0, 10**9)), 1, shape=shape)
    assert Counter(task.lanes for task in tasks)[packing.TILE] == 4  # two shapes of nine points of four replicas


def test_a_gpu_is_filled_whatever_the_time():
    work = missing(POINTS, replicas=(0, 2**15), steps=(0, 10**6))
    tasks = pack(work, 1, speed=30.0, fill=packing.GPU_LANES, shape=shape)
    assert max(task.lanes for task in tasks) == packing.GPU_LANES


def test_the_last_tasks_are_the_smallest():
    tasks = pack(missing(POINTS, replicas=(0, 64), steps=(0, 10**6)), 2, shape=shape)
    plain = pack(missing(POINTS, replicas=(0, 64), steps=(0, 10**6)), 2, fill=10**6, shape=shape)
    assert sum(map(seconds_of, tasks)) == pytest.approx(sum(map(seconds_of, plain)))
    assert seconds_of(tasks[-1]) <= seconds_of(tasks[0]) / 2


def test_a_faster_worker_gets_more_at_a_time():
    work = missing(POINTS, replicas=(0, 64))
    assert len(pack(work, 1, speed=100, shape=shape)) < len(pack(work, 1, shape=shape))


def test_two_names_of_one_point_are_simulated_once():
    assert len(pack(missing([POINTS[0], POINTS[0]]), 1, shape=shape)) == 1


def test_the_longest_tasks_come_first():
    tasks = pack([*missing(POINTS[:1]), *missing(POINTS[1:2], steps=(0, 10**5))], 1, shape=shape)
    assert seconds_of(tasks[0]) > seconds_of(tasks[-1])


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_missing_is_no_task(workers):
    assert pack([], workers, shape=shape) == []
