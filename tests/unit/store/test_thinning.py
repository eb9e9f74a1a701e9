"""Points are taken out of segments that hold others too, and nothing else goes."""

from __future__ import annotations

import numpy as np
import pytest

from ssi_kernels.store import SegmentIndex, read_segment, write_segment
from ssi_kernels.store import thinning as module
from ssi_kernels.store.remote import RemotePath
from ssi_kernels.store.thinning import carry_out, cuts_of, freed_bytes

from .fabricate import PROVENANCE, fabricate, make_sweep


@pytest.fixture
def points():
    return make_sweep()[1].points


def fresh(store):
    index = SegmentIndex(store)
    index.refresh()
    return index


def stored(store):
    return {point_id for heading in fresh(store).headings().values() for point_id in heading.point_ids}


def cut(store, ids):
    index = fresh(store)
    return carry_out(index, cuts_of(index.headings(), ids))


def fill(store, points):
    segment = fabricate(points[:3], (0, 3), (0, 50))
    segment = type(segment)(**{**vars(segment), "provenance": {**PROVENANCE, "measured": {"seconds": 3.0}}})
    return write_segment(store, segment), write_segment(store, fabricate(points[3:], (0, 3), (0, 50)))


def test_the_others_stay_to_the_bit(tmp_path, points):
    mixed, alone = fill(tmp_path, points)
    ids = [point.point_id for point in points]
    whole = read_segment(mixed)
    assert cut(tmp_path, {ids[1], ids[3]}) == []
    assert not mixed.exists() and not alone.exists()
    (rest,) = fresh(tmp_path).headings()
    rest = read_segment(rest)
    assert rest.point_ids == (ids[0], ids[2]) and rest.points == (whole.points[0], whole.points[2])
    assert rest.provenance["measured"]["seconds"] == 2.0
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(rest.arrays[name], array[[0, 2]])


def test_what_would_go_is_told(tmp_path, points):
    fill(tmp_path, points)
    index = fresh(tmp_path)
    cuts = cuts_of(index.headings(), {points[1].point_id, points[3].point_id})
    assert sorted((cut.stay, cut.go) for cut in cuts) == [((), (0,)), ((0, 2), (1,))]
    assert 0 < freed_bytes(index, cuts) < sum(map(index.size, index.headings()))
    assert cuts_of(index.headings(), {"unknown"}) == []


class Killed(BaseException):
    pass


@pytest.mark.parametrize("name", ["read_segment", "write_segment"])
def test_a_kill_in_between_loses_no_other_point(tmp_path, points, monkeypatch, name):
    mixed, _ = fill(tmp_path, points)
    ids = [point.point_id for point in points]

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(module, name, kill)
        with pytest.raises(Killed):
            cut(tmp_path, {ids[1]})
    assert stored(tmp_path) == set(ids)
    with monkeypatch.context() as patched:
        patched.setattr(type(mixed), "unlink", kill)
        with pytest.raises(Killed):
            cut(tmp_path, {ids[1]})
    assert stored(tmp_path) == set(ids)
    cut(tmp_path, {ids[1]})
    assert stored(tmp_path) == {ids[0], ids[2], ids[3]}


def test_an_earlier_rest_is_used_only_if_it_is_whole(tmp_path, points):
    mixed, _ = fill(tmp_path, points)
    rest = write_segment(tmp_path, fabricate([points[0], points[2]], (0, 3), (0, 50)))
    content = bytearray(rest.read_bytes())
    middle = content.index(b"m/c/0/0/0") + 40
    content[middle : middle + 8] = b"\xff" * 8
    rest.write_bytes(content)
    (told,) = cut(tmp_path, {points[1].point_id})
    assert rest.name in told and not mixed.exists()
    assert read_segment(rest).point_ids == (points[0].point_id, points[2].point_id)


def test_a_damaged_segment_is_told_and_set_aside(tmp_path, points):
    mixed, _ = fill(tmp_path, points)
    fresh(tmp_path)
    content = bytearray(mixed.read_bytes())
    middle = content.index(b"m/c/0/0/0") + 40
    content[middle : middle + 8] = b"\xff" * 8
    mixed.write_bytes(content)
    (told,) = cut(tmp_path, {points[1].point_id})
    assert "damaged segment" in told and stored(tmp_path) == {points[3].point_id}


def test_in_object_storage(points):
    store = RemotePath("memory://bucket/thinning")
    fill(store, points)
    cut(store, {points[1].point_id})
    assert stored(store) == {points[0].point_id, points[2].point_id, points[3].point_id}
