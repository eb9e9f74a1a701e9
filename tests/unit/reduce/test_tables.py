"""All tables of a sweep: lost data, chunks, files."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from ssi_kernels.errors import End, Status, StoreError
from ssi_kernels.reduce import figure_names, read_tables, reduce_sweep, table_names
from ssi_kernels.reduce.bands import trajectory_bands
from ssi_kernels.reduce.names import ANALYSES
from ssi_kernels.reduce.runs import OUTCOMES, status_of
from ssi_kernels.reduce.tables import make_tables

from .synthetic import synthetic, verified, write

AXES = {"d": [64, 128, 256], "length": [2, 4], "omega": [0.2, 0.6, 0.8], "a": [1.0], "student": ["tied", "untied"]}


def draw(coords, rng):
    factor = coords["length"] if coords["student"] == "untied" else 1
    time = np.ceil(coords["d"] * factor * np.exp(0.3 * rng.normal(size=16)))
    semantic = rng.uniform(size=16) > coords["omega"]
    return {"time": np.where(time <= 800, time, np.inf), "end": np.where(semantic, End.SEMANTIC, End.POSITIONAL)}


@pytest.fixture(scope="module")
def pair():
    return synthetic(AXES, draw, horizon=800)


def total(table, column):
    return int(table[column].sum())


@pytest.mark.parametrize("lost", ["m", "outcome", "recovery_step", "end", "final_m", "observed_until", "status"])
def test_a_lost_chunk_is_missing(pair, tmp_path, lost):
    """Case 7: the runs of a lost chunk are missing in every table: not recovered, not censored, not diverged."""
    recovery, trajectories = write(pair, tmp_path)
    whole = reduce_sweep(recovery, trajectories, tmp_path / "whole", ["recovery", "phase"])
    chunk = (trajectories if lost == "m" else recovery) / lost / "c"
    victim = sorted(path for path in chunk.rglob("*") if path.is_file())[0]
    victim.unlink()
    tables = reduce_sweep(recovery, trajectories, tmp_path / "lost", ["recovery", "phase"])
    for name in ("recovery", "phase"):
        table = tables[name]
        assert total(table, "missing") == 6 * 16
        others = table["missing"] == 0
        pd.testing.assert_frame_equal(table[others], whole[name][others])
    gone = tables["recovery"].query("missing > 0").iloc[0]
    assert gone[["runs", "recovered", "censored", "diverged", "at_step_0"]].sum() == 0
    assert np.isnan(gone["median"])
    assert gone["reason"] == "median undefined: no run was made"


def test_failed_points_are_counted_apart(pair):
    recovery, trajectories = (dataset.copy(deep=True) for dataset in pair)
    for dataset in (recovery, trajectories):
        dataset["status"].values[0, 0, 0] = Status.FAILED
    tables = make_tables(*verified((recovery, trajectories)), ANALYSES)
    assert total(tables["recovery"], "failed") == 2 * 16
    assert total(tables["recovery"], "missing") == 0
    assert total(tables["scaling"], "failed") == total(tables["phase"], "failed") == 2 * 16


@pytest.mark.parametrize("size", [1, 1000])
def test_tables_do_not_depend_on_chunks(pair, size):
    """Case 34: chunks of 1 and of 1000 give the same tables to rounding."""
    whole = make_tables(*verified(pair), ANALYSES)
    chunks = {name: size for name in AXES}
    chunked = make_tables(*verified(dataset.chunk(chunks) for dataset in pair), ANALYSES)
    for name, table in whole.items():
        pd.testing.assert_frame_equal(chunked[name], table, rtol=1e-10)


def graph_size(omegas):
    axes = {"d": [64, 128], "omega": np.arange(omegas) / 100, "a": [1.0]}
    pair = synthetic(axes, lambda coords, rng: {"time": np.full(16, 5.0)})
    recovery, trajectories = verified(dataset.chunk({"d": 1}) for dataset in pair)
    bands = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    return len(bands["m"].__dask_graph__())


def test_the_graph_grows_with_the_shards():
    """Case 34: some tasks for each shard, however many points it holds."""
    assert graph_size(40) == graph_size(4) < 200


def test_files_and_returned_tables_agree(pair, tmp_path):
    tables = reduce_sweep(*write(pair, tmp_path), tmp_path / "tables", ANALYSES)
    assert tuple(tables) == table_names(ANALYSES)
    assert sorted(p.name for p in (tmp_path / "tables").iterdir()) == sorted(f"{n}.csv" for n in tables)
    back = read_tables(tmp_path / "tables", ANALYSES)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(back[name], table, check_dtype=False, rtol=1e-12)


def test_counts_add_up(pair):
    table = make_tables(*verified(pair), ["recovery"])["recovery"]
    assert (table[list(OUTCOMES)].sum(axis=1) == 16).all()


def test_an_absent_dataset_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"recovery\.zarr"):
        reduce_sweep(tmp_path / "recovery.zarr", tmp_path / "trajectories.zarr", tmp_path, ["recovery"])


def test_names():
    assert table_names(["gain", "recovery"]) == ("recovery", "theory_points", "theory_flow", "gain", "gain_fit")
    assert figure_names(ANALYSES) == ("trajectories", "recovery", "outcomes", "scaling", "gain", "phase")
    with pytest.raises(ValueError, match="scalings"):
        table_names(["scalings"])


def test_names_import_nothing_heavy():
    """A workflow asks for them while it parses."""
    code = "import sys; from ssi_kernels.reduce import table_names, figure_names; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "dask", "xarray", "scipy", "matplotlib", "jax", "ray"} & set(modules)
