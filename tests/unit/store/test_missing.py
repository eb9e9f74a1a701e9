"""Which work is missing, in words and ranges."""

import dataclasses

import pytest

from ssi_kernels.store import SegmentIndex, missing, write_segment

from .fabricate import fabricate, make_sweep


@pytest.fixture(scope="module")
def point():
    return make_sweep(grid={"d": 16, "omega": 0.1}, sgd={"steps": 100, "replicas": 4})[1].points[0]


def work_of(root, *points):
    index = SegmentIndex(root)
    index.refresh()
    return missing(points, index)


def told(works):
    return [(w.replicas, w.steps, w.reason) for w in works]


def asked(point, **changes):
    return dataclasses.replace(point, **changes)


def test_everything_of_a_new_point(tmp_path, point):
    works = work_of(tmp_path / "absent", point)
    assert told(works) == [((0, 4), (0, 100), "never computed")]
    assert works[0].point is point
    assert works[0].resume is None


def test_nothing_of_a_complete_point_nor_of_a_smaller_one(tmp_path, point):
    write_segment(tmp_path, fabricate([point], (0, 4), (0, 100)))
    assert work_of(tmp_path, point, asked(point, steps=7), asked(point, replicas=2)) == []


def test_new_replicas(tmp_path, point):
    """Case 2: only the new replicas run."""
    write_segment(tmp_path, fabricate([point], (0, 4), (0, 100)))
    assert told(work_of(tmp_path, asked(point, replicas=7))) == [((4, 7), (0, 100), "replicas 4..6")]
    assert told(work_of(tmp_path, asked(point, replicas=5))) == [((4, 5), (0, 100), "replica 4")]


def test_a_longer_horizon_resumes(tmp_path, point):
    path = write_segment(tmp_path, fabricate([point], (0, 4), (0, 100)))
    works = work_of(tmp_path, asked(point, steps=300))
    assert told(works) == [((0, 4), (100, 300), "steps beyond 100")]
    assert works[0].resume == path


def test_both_at_once_and_from_several_segments(tmp_path, point):
    first = write_segment(tmp_path, fabricate([point], (0, 2), (0, 100)))
    second = write_segment(tmp_path, fabricate([point], (2, 4), (0, 50)))
    third = write_segment(tmp_path, fabricate([point], (2, 4), (50, 80)))
    works = work_of(tmp_path, asked(point, steps=300, replicas=6))
    assert told(works) == [
        ((0, 2), (100, 300), "steps beyond 100 of replicas 0..1"),
        ((2, 4), (80, 300), "steps beyond 80 of replicas 2..3"),
        ((4, 6), (0, 300), "replicas 4..5"),
    ]
    assert [w.resume for w in works] == [first, third, None]
    assert second.exists()


def test_a_lost_beginning(tmp_path, point):
    head = write_segment(tmp_path, fabricate([point], (0, 4), (0, 50)))
    write_segment(tmp_path, fabricate([point], (0, 4), (50, 100)))
    head.unlink()
    assert told(work_of(tmp_path, point)) == [((0, 4), (0, 100), "steps up to 50 of replicas 0..3 are lost")]


def test_stopped_and_diverged_replicas_are_complete_for_ever(tmp_path, point):
    events = {"stopped": {0: 12, 1: 40}, "diverged": {2: 33, 3: 5}}
    write_segment(tmp_path, fabricate([point], (0, 4), (0, 50), **events))
    assert work_of(tmp_path, asked(point, steps=10**9)) == []
    assert told(work_of(tmp_path, asked(point, steps=10**9, replicas=5))) == [((4, 5), (0, 10**9), "replica 4")]


def test_only_the_replicas_that_still_run_are_continued(tmp_path, point):
    write_segment(tmp_path, fabricate([point], (0, 4), (0, 50), stopped={1: 12}))
    works = work_of(tmp_path, point)
    assert [w.replicas for w in works] == [(0, 1), (2, 4)]


def test_points_with_one_id_are_one_piece_of_work(tmp_path, point):
    """Two names of one student, or two sweeps, may ask for different horizons of the same point."""
    longer, wider = asked(point, steps=300, replicas=2), asked(point, replicas=5)
    assert told(work_of(tmp_path, point, longer, wider)) == [
        ((0, 2), (0, 300), "never computed"),
        ((2, 5), (0, 100), "never computed"),
    ]
    assert told(work_of(tmp_path, point, point)) == [((0, 4), (0, 100), "never computed")]


def test_another_dtype_is_another_point(tmp_path, point):
    """Case 24: never mixed."""
    write_segment(tmp_path, fabricate([point], (0, 4), (0, 100)))
    assert told(work_of(tmp_path, asked(point, dtype="float64"))) == [((0, 4), (0, 100), "never computed")]
