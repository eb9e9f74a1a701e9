"""What becomes of a results folder when datasets are built in it, and when that is disturbed."""

import os
import signal
import subprocess
import sys

import pytest
import xarray as xr

from ssi_kernels.errors import StoreError
from ssi_kernels.store import (
    consolidate,
    stale,
)

from .fabricate import complete, make_sweep

pytestmark = pytest.mark.filterwarnings("error")


def test_foreign_files_stay(tmp_path):
    """Case 6."""
    complete(tmp_path)
    foreign = [tmp_path / "x" / "notes.txt", tmp_path / "x" / "trajectories.zarr" / "notes.txt", tmp_path / "n.txt"]
    for path in foreign:
        path.write_text("mine")
    (_, _, _, made) = complete(tmp_path, grid={"omega": [0.1, 0.2, 0.3]})
    assert [path.read_text() for path in foreign] == ["mine"] * 3
    assert stale(tmp_path / "x", made.fingerprint) is None
    names = {"notes.txt", "trajectories.zarr", "recovery.zarr", "consolidated.json"}
    assert set(os.listdir(tmp_path / "x")) == names


def test_killed_while_building_the_earlier_datasets_open_and_the_next_run_cleans_up(tmp_path):
    """Case 6."""
    _, before, results, _ = complete(tmp_path)
    code = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from ssi_kernels.store import consolidation\n"
        "from store.fabricate import make_sweep, store_whole\n"
        "root = Path(sys.argv[2]); sweep, grid = make_sweep(grid={'omega': [0.1, 0.7]})\n"
        "store_whole(root / 'store', grid)\n"
        "gather, calls = consolidation.gather, []\n"
        "def killed(*args):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return gather(*args)\n"
        "consolidation.gather = killed\n"
        "consolidation.consolidate(sweep, grid, root / 'store', root / 'x')\n"
    )
    tests = os.path.dirname(os.path.dirname(__file__))
    process = subprocess.run([sys.executable, "-c", code, tests, str(tmp_path)])
    assert process.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path / "x")) == 5
    xr.testing.assert_identical(xr.open_zarr(tmp_path / "x" / "trajectories.zarr").load(), before)
    xr.testing.assert_identical(xr.open_zarr(tmp_path / "x" / "recovery.zarr").load(), results)
    complete(tmp_path, grid={"omega": [0.1, 0.7]})
    assert sorted(os.listdir(tmp_path / "x")) == ["consolidated.json", "recovery.zarr", "trajectories.zarr"]


def test_a_full_disk_is_named_and_leaves_the_earlier_datasets(tmp_path, monkeypatch):
    """Case 40."""
    _, before, _, _ = complete(tmp_path)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ssi_kernels.store.dataset.DatasetWriter.write", refuse)
    sweep, grid = make_sweep(sgd={"replicas": 2})
    with pytest.raises(StoreError, match="x: cannot be written: No space left on device: free some space"):
        consolidate(sweep, grid, tmp_path / "store", tmp_path / "x")
    xr.testing.assert_identical(xr.open_zarr(tmp_path / "x" / "trajectories.zarr").load(), before)
    assert sorted(os.listdir(tmp_path / "x")) == ["consolidated.json", "recovery.zarr", "trajectories.zarr"]


def test_a_file_in_the_place_of_a_dataset_is_not_overwritten(tmp_path):
    sweep, grid = make_sweep()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "recovery.zarr").write_text("mine")
    with pytest.raises(StoreError, match=r"recovery\.zarr: is not a folder"):
        consolidate(sweep, grid, tmp_path / "store", tmp_path / "x")
    assert os.listdir(tmp_path / "x") == ["recovery.zarr"]


def test_few_files(tmp_path):
    """Case 33: docs/storage.md states the bound."""
    omega = {"start": 0, "stop": 1, "num": 50}
    grid, trajectories, recovery, _ = complete(tmp_path, grid={"omega": omega}, sgd={"steps": 5})
    assert len(grid.points) == 100
    blocks = 2
    for dataset, name, by_block in ((trajectories, "trajectories.zarr", 4), (recovery, "recovery.zarr", 8)):
        files = [p for p in (tmp_path / "x" / name).rglob("*") if p.is_file()]
        assert len(files) <= 1 + 2 * len(dataset.variables) + by_block * (blocks - 1)


def test_datasets_open_without_a_warning(tmp_path):
    """Case 35: in a fresh interpreter, the label axis included."""
    student = [{"name": "one", "kind": "attention"}, {"name": "two", "kind": "attention", "reduction": "identity"}]
    complete(tmp_path, grid={"student": student}, model={"student": None}, recovery={"threshold": ["1/sqrt(d)"]})
    code = (
        "import sys, xarray as xr\n"
        "for name in ('trajectories.zarr', 'recovery.zarr'):\n"
        "    ds = xr.open_zarr(f'{sys.argv[1]}/x/{name}').load()\n"
        "    assert ds.sel(student='two', omega=0.1, d=16).status.shape == (1, 1, 3), ds\n"
        "    xr.open_zarr(f'{sys.argv[1]}/x/{name}', consolidated=False).load()\n"
        "from ssi_kernels.store import open_recovery, open_trajectories\n"
        "open_trajectories(f'{sys.argv[1]}/x/trajectories.zarr').load()\n"
        "open_recovery(f'{sys.argv[1]}/x/recovery.zarr').load()\n"
        "assert 'jax' not in sys.modules and 'ray' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, str(tmp_path)], check=True)
