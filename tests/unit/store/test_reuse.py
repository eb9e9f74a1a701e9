"""Consolidating again: only the groups (d, length) that changed are made anew, with the bits of a full build."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.store import missing, write_segment
from ssi_kernels.store.consolidation import SegmentIndex
from ssi_kernels.store.marker import MARKER
from ssi_kernels.store.reuse import _link

from .fabricate import PROVENANCE, built, complete, fabricate, make_sweep, store_whole

THREE = {"d": [16, 32, 64]}


def fresh(tmp_path, name="fresh", **parts):
    """The datasets of the same store, built with nothing there."""
    sweep, grid = make_sweep(**parts)
    (tmp_path / name).mkdir()
    os.symlink(tmp_path / "store", tmp_path / name / "store")
    return built(tmp_path / name, sweep, grid)


def assert_as_fresh(tmp_path, datasets, **parts):
    for one, other in zip(datasets, fresh(tmp_path, **parts)[:2], strict=True):
        xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
        assert {k: v for k, v in one.attrs.items() if k != "configuration"} == {
            k: v for k, v in other.attrs.items() if k != "configuration"
        }


def test_nothing_changed_nothing_is_gathered(tmp_path, monkeypatch):
    _, trajectories, recovery, made = complete(tmp_path, grid=THREE)
    assert (made.blocks, made.reused) == (3, 0)
    monkeypatch.setattr("ssi_kernels.store.consolidation.gather", None)
    again = built(tmp_path, *make_sweep(grid=THREE))
    assert (again[2].blocks, again[2].reused, again[2].complete) == (3, 3, made.complete)
    xr.testing.assert_identical(again[0], trajectories)
    xr.testing.assert_identical(again[1], recovery)


@pytest.mark.parametrize("d, kept", [([16, 24, 32, 64], 3), ([8, 16, 64], 2), ([32], 1)])
def test_values_of_d_come_and_go(tmp_path, d, kept):
    """Blocks move to another place of the grid, and keep their bytes."""
    complete(tmp_path, grid=THREE)
    _, trajectories, recovery, made = complete(tmp_path, grid={"d": d})
    assert (made.blocks, made.reused) == (len(d), kept)
    assert_as_fresh(tmp_path, (trajectories, recovery), grid={"d": d})


def test_a_point_that_arrives_changes_its_block_only(tmp_path):
    sweep, grid = make_sweep(grid=THREE)
    absent = grid.points[2]
    for point in grid.points:
        if point is not absent:
            write_segment(tmp_path / "store", fabricate([point], (0, 3), (0, 50)))
    *_, partial = built(tmp_path, sweep, grid)
    assert (partial.complete, partial.missing, partial.reused) == (5, 1, 0)
    write_segment(tmp_path / "store", fabricate([absent], (0, 3), (0, 50)))
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    assert (made.complete, made.missing, made.reused) == (6, 0, 2)
    assert_as_fresh(tmp_path, (trajectories, recovery), grid=THREE)


def test_failures_are_part_of_a_block(tmp_path):
    sweep, grid = make_sweep(grid=THREE)
    for point in grid.points[1:]:
        write_segment(tmp_path / "store", fabricate([point], (0, 3), (0, 50)))
    built(tmp_path, sweep, grid)
    _, recovery, made = built(tmp_path, sweep, grid, {grid.points[0].point_id: "no"})
    assert (made.failed, made.reused) == (1, 2)
    assert (recovery.status.sel(grid.points[0].coords) == 2).all()


@pytest.mark.parametrize(
    "change",
    [
        {"sgd": {"replicas": 2}},
        {"sgd": {"steps": 40}},
        {"recovery": {"threshold": [0.5, 0.6]}},
        {"recovery": {"decided": 0.6}},
        {"sgd": {"seed": 1}},
    ],
)
def test_what_changes_every_block_rebuilds_every_block(tmp_path, change):
    complete(tmp_path, grid=THREE)
    sweep, grid = make_sweep(grid=THREE, **change)
    store_whole(tmp_path / "store", grid)
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    assert made.reused == 0
    assert_as_fresh(tmp_path, (trajectories, recovery), grid=THREE, **change)


def test_a_damaged_file_is_not_kept(tmp_path):
    """Case 5: a truncated shard is made again from the store."""
    _, trajectories, _, _ = complete(tmp_path, grid=THREE)
    shard = tmp_path / "x" / "trajectories.zarr" / "m" / "c" / "1" / "0" / "0" / "0" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:100])
    again, _, made = built(tmp_path, *make_sweep(grid=THREE))
    assert made.reused == 2
    xr.testing.assert_identical(again, trajectories)


def test_segments_put_together_give_other_blocks_of_the_same_bits(tmp_path):
    """Which files a block came from is part of its key, so that a point computed again is never shadowed."""
    _, trajectories, recovery, _ = complete(tmp_path, grid=THREE)
    shutil.rmtree(tmp_path / "store")
    again = complete(tmp_path, pack=2, grid=THREE)
    assert again[3].reused == 0
    xr.testing.assert_identical(again[1], trajectories)
    xr.testing.assert_identical(again[2], recovery)


def test_the_marker_of_an_earlier_version_is_understood(tmp_path):
    complete(tmp_path, grid=THREE)
    marker = tmp_path / "x" / MARKER
    content = json.loads(marker.read_text())
    del content["blocks"]
    marker.write_text(json.dumps(content))
    assert built(tmp_path, *make_sweep(grid=THREE))[2].reused == 0


def test_a_file_system_without_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_bytes(b"x")
    _link(tmp_path / "a", tmp_path / "deep" / "b")
    assert (tmp_path / "deep" / "b").read_bytes() == b"x"


def test_a_segment_that_moves_while_blocks_are_made_is_found_again(tmp_path, monkeypatch):
    """`ssi compact` in another process, on a store whose claims cannot be written."""
    sweep, grid = make_sweep(grid=THREE)
    paths = store_whole(tmp_path / "store", grid)
    refresh = SegmentIndex.refresh

    def compacted_after(self):
        warnings = refresh(self)
        if paths:
            write_segment(tmp_path / "store", fabricate(grid.points, (0, 3), (0, 50)))
            while paths:
                paths.pop().unlink()
        return warnings

    monkeypatch.setattr(SegmentIndex, "refresh", compacted_after)
    trajectories, _, made = built(tmp_path, sweep, grid)
    assert (made.complete, made.damaged) == (6, ())
    assert not np.isnan(trajectories.m.values).any()
    index = SegmentIndex(tmp_path / "store")
    index.refresh()
    assert missing(grid.points, index) == []
    assert trajectories.attrs["jax"] == PROVENANCE["jax"]
