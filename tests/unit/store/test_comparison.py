"""Datasets are compared with the store value by value."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

from ssi_kernels.store import SegmentIndex
from ssi_kernels.store.comparison import ABSENT, EQUAL, OTHER, differences, state_of

from .fabricate import built, complete, make_sweep, store_whole


def index_of(tmp_path):
    index = SegmentIndex(tmp_path / "store")
    index.refresh()
    return index


def lines(tmp_path, grid):
    return list(differences(tmp_path / "x", grid, index_of(tmp_path), {}))


UNTIED = {
    "model": {"student": {"kind": "untied"}, "target": {"expression": "sum(z)"}, "encoding": None},
    "grid": {"omega": None, "a": None},
}


@pytest.mark.parametrize("parts", [{}, UNTIED], ids=["attention", "untied"])
def test_datasets_as_they_were_built_are_equal(tmp_path, parts):
    grid, *_ = complete(tmp_path, **parts)
    assert state_of(tmp_path / "x", grid, index_of(tmp_path), {}) == EQUAL
    assert lines(tmp_path, grid) == []


def test_states(tmp_path):
    sweep, grid = make_sweep()
    assert state_of(tmp_path / "x", grid, index_of(tmp_path), {}) == ABSENT
    paths = store_whole(tmp_path / "store", grid)
    built(tmp_path, sweep, grid)
    assert state_of(tmp_path / "x", make_sweep(sgd={"steps": 40})[1], index_of(tmp_path), {}) == OTHER
    paths[0].unlink()
    assert state_of(tmp_path / "x", grid, index_of(tmp_path), {}) == EQUAL
    assert lines(tmp_path, grid) == [], "what the store has lost is not compared"
    built(tmp_path, sweep, grid)
    assert state_of(tmp_path / "x", grid, index_of(tmp_path), {}) == EQUAL


@pytest.mark.parametrize(
    "dataset, name, told",
    [
        ("trajectories", "m", "1 values of m are not those stored, first at (1, 0, 0, 0) of the grid"),
        ("recovery", "outcome", "1 values of outcome"),
        ("recovery", "status", "1 values of status"),
        ("trajectories", "omega", "omega is not that of the sweep"),
        ("recovery", "horizon", "horizon is not that of the sweep"),
    ],
)
def test_a_changed_value_is_told(tmp_path, dataset, name, told):
    grid, *_ = complete(tmp_path)
    array = zarr.open_group(tmp_path / "x" / f"{dataset}.zarr", mode="r+")[name]
    where = (0,) if array.ndim == 1 else (1,) + (0,) * (array.ndim - 1)
    array[where] = np.asarray(array[where]) + 1
    found = [line for line in lines(tmp_path, grid) if "of another size" not in line]
    assert len(found) == 1 and told in found[0] and dataset in found[0]


def test_what_is_lost_or_cannot_be_read_is_told(tmp_path):
    grid, *_ = complete(tmp_path)
    (tmp_path / "x" / "trajectories.zarr" / "omega" / "zarr.json").unlink()
    shard = tmp_path / "x" / "trajectories.zarr" / "m" / "c" / "0" / "0" / "0" / "0" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:-40])
    found = lines(tmp_path, grid)
    assert any("m/c/0" in line and "of another size" in line for line in found)
    assert any("omega/zarr.json: lost" in line for line in found)
    assert any("m cannot be read" in line for line in found)
