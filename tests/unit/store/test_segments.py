"""Segments: one file each, whole or not there."""

import dataclasses
import errno
import os
import pickle

import numpy as np
import pytest
import xarray as xr
from zarr.storage import ZipStore

from ssi_kernels.errors import StoreError
from ssi_kernels.store import UnreadableSegment, read_segment, write_segment
from ssi_kernels.store.segments import UnknownSegment, read_heading, segment_path, true_runs

from .fabricate import fabricate, make_sweep


@pytest.fixture(scope="module")
def points():
    return make_sweep()[1].points


@pytest.fixture
def segment(points):
    return fabricate(points[:2], (4, 7), (0, 50), diverged={5: 20}, stopped={6: 11})


def test_round_trip(tmp_path, segment):
    path = write_segment(tmp_path, segment)
    found = read_segment(path)
    assert found.points == segment.points
    assert (found.replicas, found.steps, found.provenance) == ((4, 7), (0, 50), segment.provenance)
    np.testing.assert_array_equal(found.recorded, segment.recorded)
    assert found.arrays.keys() == segment.arrays.keys()
    for name, array in segment.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array)


def test_reading_some_variables_leaves_out_the_others(tmp_path, segment):
    found = read_segment(write_segment(tmp_path, segment), ("m", "stop_m", "not there"))
    assert set(found.arrays) == {"m", "stop_m"}


def test_the_name_tells_points_replicas_and_steps_and_nothing_else(points, segment):
    same = dataclasses.replace(segment, points=segment.points[::-1], provenance={})
    assert same.segment_id == segment.segment_id
    others = [fabricate(points[:1], (4, 7), (0, 50)), fabricate(points[:2], (4, 8), (0, 50))]
    others += [fabricate(points[:2], (4, 7), (0, 51)), fabricate(points[:2], (4, 7), (1, 50))]
    assert len({s.segment_id for s in [segment, *others]}) == 5


def test_one_segment_is_one_file_in_a_folder_of_two_digits(tmp_path, segment):
    """Case 33."""
    path = write_segment(tmp_path, segment)
    assert path == write_segment(tmp_path, segment) == segment_path(tmp_path, segment.segment_id)
    assert path.parent.name == path.name[:2]
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_xarray_reads_a_segment(tmp_path, segment):
    path = write_segment(tmp_path, segment)
    dataset = xr.open_zarr(ZipStore(path, mode="r"), consolidated=False).load()
    assert dataset.m.dims == ("point", "replica", "step")
    assert dataset.e.dims == ("point", "replica", "step", "component")
    assert dataset.recovery_step.dims == ("point", "replica", "threshold")
    np.testing.assert_array_equal(dataset.sel(replica=5, step=10).m, segment.arrays["m"][:, 1, 10])


def test_the_heading_tells_what_is_there_and_what_is_finished(tmp_path, segment):
    heading = read_heading(write_segment(tmp_path, segment))
    assert heading.point_ids == segment.point_ids
    assert (heading.replicas, heading.steps) == ((4, 7), (0, 50))
    assert heading.finished == (((5, 7),), ((5, 7),))


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99])
@pytest.mark.parametrize("read", [read_segment, read_heading])
def test_a_truncated_segment_is_named_and_set_aside(tmp_path, segment, keep, read):
    """Case 5."""
    path = write_segment(tmp_path, segment)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if keep < 1 else keep])
    with pytest.raises(UnreadableSegment, match=rf"{path.name}.*set aside as {path.name}\.corrupt") as caught:
        read(path)
    assert caught.value.path == path
    assert "\n" not in str(caught.value)
    assert os.listdir(path.parent) == [f"{path.name}.corrupt"]


def test_the_error_survives_the_way_back_from_a_worker(tmp_path):
    error = pickle.loads(pickle.dumps(UnreadableSegment(tmp_path / "x", "truncated", True)))
    assert error.path == tmp_path / "x"
    assert "truncated" in str(error)


def test_a_segment_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"x\.zarr\.zip: is gone: run again"):
        read_segment(tmp_path / "x.zarr.zip")


def test_a_file_of_a_later_version_is_refused_but_not_damaged(tmp_path, segment, monkeypatch):
    monkeypatch.setattr("ssi_kernels.store.segments.FORMAT", 99)
    path = write_segment(tmp_path, segment)
    monkeypatch.undo()
    with pytest.raises(UnknownSegment, match=path.name):
        read_segment(path)


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "No space left.*free some space"), (errno.EROFS, "Read-only.*writable")]
)
def test_a_full_or_read_only_disk_is_named_and_leaves_nothing(tmp_path, segment, monkeypatch, number, words):
    """Case 40."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    path = segment_path(tmp_path, segment.segment_id)
    with pytest.raises(StoreError, match=f"{path}.*{words}") as caught:
        write_segment(tmp_path, segment)
    assert "\n" not in str(caught.value)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_a_store_that_cannot_be_made_is_named(tmp_path, segment):
    """Case 40: a file where the folder should be."""
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match=r"store.*Not a directory"):
        write_segment(tmp_path / "store", segment)


def test_shapes_are_checked(segment):
    with pytest.raises(ValueError, match="array m of a segment has shape"):
        dataclasses.replace(segment, recorded=segment.recorded[:-1])


def test_runs_of_true():
    assert true_runs(np.array([False, True, True, False, True])) == [(1, 3), (4, 5)]
    assert true_runs(np.zeros(3, bool)) == []
