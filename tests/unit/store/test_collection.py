"""What no sweep uses is found, told, and removed only when that is asked for."""

from __future__ import annotations

import os

import pytest

from ssi_kernels.store import SegmentIndex, write_segment
from ssi_kernels.store.claims import StoreBusy, reading
from ssi_kernels.store.collection import collect, litter_of
from ssi_kernels.store.remote import RemotePath

from .fabricate import fabricate, make_sweep

DEAD = ".ab.zarr.zip~elsewhere~1~1~abcd.tmp"


@pytest.fixture
def points():
    return make_sweep()[1].points


def used(points):
    return {point.point_id for point in points}


def stored(store):
    index = SegmentIndex(store)
    index.refresh()
    return {point_id for heading in index.headings().values() for point_id in heading.point_ids}


def fill(store, points):
    """One mixed segment, one of unused points only; replicas and steps beyond those of the grid."""
    write_segment(store, fabricate(points[:2], (0, 9), (0, 90)))
    write_segment(store, fabricate(points[2:3], (0, 3), (0, 50)))
    write_segment(store, fabricate(points[3:], (0, 3), (0, 50)))


def everything(store):
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and path.name != "index.json"}


def test_a_look_removes_nothing(tmp_path, points):
    fill(tmp_path, points)
    (tmp_path / "ab").mkdir(exist_ok=True)
    (tmp_path / "ab" / "abc.zarr.zip.corrupt").write_bytes(b"12345")
    before = everything(tmp_path)
    litter = litter_of(tmp_path, used([points[0], points[3]]))
    assert [one.coords for one in litter.points] == [dict(points[1].coords), dict(points[2].coords)]
    assert (litter.whole, len(litter.cuts), litter.corrupt) == (1, 2, ("ab/abc.zarr.zip.corrupt",))
    assert litter.bytes == sum(one.bytes for one in litter.points) + 5
    assert everything(tmp_path) == before


def test_only_points_of_no_grid_go(tmp_path, points):
    fill(tmp_path, points)
    collect(tmp_path, used([points[0], points[3]]), "gc")
    assert stored(tmp_path) == used([points[0], points[3]])
    index = SegmentIndex(tmp_path)
    index.refresh()
    (piece,) = index.covered(points[0].point_id)
    assert (piece.replicas, piece.steps) == ((0, 9), (0, 90)), "more than is asked for stays"
    again = litter_of(tmp_path, used([points[0], points[3]]))
    assert (again.points, again.cuts, again.bytes) == ((), (), 0)


def test_what_was_set_aside_or_left_half_written_goes(tmp_path, points):
    fill(tmp_path, points)
    (tmp_path / "ab").mkdir(exist_ok=True)
    for name in ("ab/abc.zarr.zip.corrupt", "ab/mine.txt"):
        (tmp_path / name).write_bytes(b"12345")
    for name in (f"ab/{DEAD}", ".index.json~elsewhere~1~1~abcd.tmp"):
        (tmp_path / name).write_bytes(b"123")
        os.utime(tmp_path / name, (0, 0))
    litter = collect(tmp_path, used(points), "gc")
    assert litter.temporary == (".index.json~elsewhere~1~1~abcd.tmp", f"ab/{DEAD}") and litter.bytes == 5 + 3 + 3
    assert [path.name for path in (tmp_path / "ab").iterdir() if "zarr.zip" not in path.name] == ["mine.txt"]
    assert not list(tmp_path.rglob("*.tmp")) and not list(tmp_path.rglob("*.corrupt"))
    assert stored(tmp_path) == used(points)


def test_it_is_refused_while_others_are_at_work(tmp_path, points):
    fill(tmp_path, points)
    with reading(tmp_path, "a consolidation"), pytest.raises(StoreBusy, match="a consolidation"):
        collect(tmp_path, set(), "gc")
    assert stored(tmp_path) == used(points)


def test_a_damaged_segment_is_set_aside(tmp_path, points):
    fill(tmp_path, points)
    stored(tmp_path)
    for path in tmp_path.glob("*/*.zarr.zip"):
        content = path.read_bytes()
        path.write_bytes(content[:-30] + bytes(30))
    litter = collect(tmp_path, set(), "gc")
    assert len(litter.damaged) == 3 and litter.cuts == () and stored(tmp_path) == set()


def test_in_object_storage(points, monkeypatch):
    monkeypatch.setattr("ssi_kernels.store.leases.SETTLING", 0.01)
    store = RemotePath("memory://bucket/collection")
    fill(store, points)
    (store / "ab" / "abc.zarr.zip.corrupt").write_bytes(b"12345")
    assert len(litter_of(store, used(points[:1])).points) == 3
    litter = collect(store, used(points[:1]), "gc")
    assert litter.corrupt == ("ab/abc.zarr.zip.corrupt",) and stored(store) == used(points[:1])
