"""Opening the datasets: what was lost reads as missing, what is damaged is named."""

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.errors import End, Outcome, Status, StoreError
from ssi_kernels.store import (
    consolidate,
    open_recovery,
    open_trajectories,
    write_segment,
)

from .fabricate import complete, fabricate, make_sweep

pytestmark = pytest.mark.filterwarnings("error")


def test_a_chunk_is_a_group_of_one_d_and_one_length(tmp_path):
    made = complete(tmp_path)[-1]
    for dataset in (open_trajectories(made.trajectories), open_recovery(made.recovery)):
        assert dataset.chunksizes["d"] == (1, 1)
        assert dataset.chunksizes["omega"] == (2,)
    xr.testing.assert_identical(open_recovery(made.recovery).load(), xr.open_zarr(made.recovery).load())
    xr.testing.assert_identical(open_trajectories(made.trajectories).load(), xr.open_zarr(made.trajectories).load())


def test_whole_trajectories_are_not_read_to_verify_their_status(tmp_path, monkeypatch):
    made = complete(tmp_path)[-1]
    monkeypatch.delattr("ssi_kernels.store.readable._has_start")
    assert (open_trajectories(made.trajectories).status == Status.COMPLETE).all()


def test_without_a_marker_the_trajectories_themselves_tell_what_is_lost(tmp_path):
    """Case 7: a dataset that was copied elsewhere."""
    made = complete(tmp_path)[-1]
    (tmp_path / "x" / "consolidated.json").unlink()
    delete_chunk(made.trajectories, "m")
    assert (open_trajectories(made.trajectories).status.load().sel(d=16) == Status.MISSING).all()


@pytest.mark.parametrize("variable", ["m", "norm", "e", "status"])
def test_a_deleted_chunk_of_the_trajectories_is_missing(tmp_path, variable):
    """Case 7."""
    made = complete(tmp_path)[-1]
    delete_chunk(made.trajectories, variable)
    status = open_trajectories(made.trajectories).status.load()
    assert (status.sel(d=16) == Status.MISSING).all()
    assert (status.sel(d=32) == Status.COMPLETE).all()
    assert status.dtype == np.int8 and "flag_values" in status.attrs


def test_a_deleted_chunk_of_the_positions_is_missing(tmp_path):
    """Case 7."""
    grid = {"omega": None, "a": None, "sie": 2}
    model = {
        "target": {"family": "hermite"},
        "student": {"kind": "untied", "activation": "He2"},
        "encoding": "none",
    }
    made = complete(tmp_path, grid=grid, model=model)[-1]
    delete_chunk(made.trajectories, "m_position")
    status = open_trajectories(made.trajectories).status.load()
    assert (status.sel(d=16) == Status.MISSING).all() and (status.sel(d=32) == Status.COMPLETE).all()


@pytest.mark.parametrize(
    "variable",
    ["recovery_step", "outcome", "end", "final_m", "final_e", "final_step", "observed_until", "status"],
)
def test_a_deleted_chunk_of_the_recovery_is_not_run(tmp_path, variable):
    """Case 7: neither diverged nor recovered at 0. The lowest threshold is crossed by every replica."""
    made = complete(tmp_path, recovery={"threshold": [0.05]})[-1]
    delete_chunk(made.recovery, variable)
    lost, kept = (open_recovery(made.recovery).load().sel(d=d) for d in (16, 32))
    assert (lost.status == Status.MISSING).all()
    assert (lost.outcome == Outcome.NOT_RUN).all() and (lost.end == End.NOT_RUN).all()
    for name in ("recovery_step", "final_m", "final_e", "final_step", "observed_until"):
        assert lost[name].isnull().all() and kept[name].notnull().all()
    assert (kept.outcome == Outcome.RECOVERED).all()
    assert lost.outcome.dtype == np.int8


def test_diverged_replicas_are_whole(tmp_path):
    sweep, grid = make_sweep(grid={"d": 16, "omega": 0.1})
    write_segment(tmp_path / "store", fabricate(grid.points, (0, 3), (0, 50), diverged={1: 1, 2: 44}))
    made = consolidate(sweep, grid, tmp_path / "store", tmp_path / "x")
    assert open_recovery(made.recovery).outcome.values.ravel().tolist()[1:] == [Outcome.DIVERGED] * 2
    assert (open_recovery(made.recovery).status == Status.COMPLETE).all()
    assert (open_trajectories(made.trajectories).status == Status.COMPLETE).all()


def test_a_folder_that_is_not_there(tmp_path):
    for read in (open_trajectories, open_recovery):
        with pytest.raises(StoreError, match="nowhere: there is no dataset: run snakemake"):
            read(tmp_path / "nowhere")


def test_metadata_that_are_not_whole(tmp_path):
    made = complete(tmp_path)[-1]
    metadata = made.trajectories / "zarr.json"
    metadata.write_bytes(metadata.read_bytes()[:-100])
    with pytest.raises(StoreError, match="is not a whole dataset") as caught:
        open_trajectories(made.trajectories)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("variable", "change"), [("m", "truncate"), ("d", "delete"), ("horizon", "delete")])
def test_damage_that_no_status_tells_of_is_named(tmp_path, variable, change):
    """Case 5: a truncated chunk, or a coordinate that would read as 0."""
    made = complete(tmp_path)[-1]
    chunk = next(p for p in sorted((made.trajectories / variable / "c").rglob("*")) if p.is_file())
    chunk.unlink() if change == "delete" else chunk.write_bytes(chunk.read_bytes()[:-9])
    with pytest.raises(StoreError, match=f"trajectories.zarr/{variable}/c.*: lost or damaged"):
        open_trajectories(made.trajectories)


def delete_chunk(dataset, variable):
    """Deletes the file of a variable that holds d = 16."""
    next(p for p in sorted((dataset / variable / "c" / "0").rglob("*")) if p.is_file()).unlink()
