"""Opening the consolidated datasets, so that what was lost since they were written reads as missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from ssi_kernels.errors import End, Outcome, Status, StoreError
from ssi_kernels.store.marker import changed_files, read_marker


def open_trajectories(path: str | Path) -> xr.Dataset:
    """`trajectories.zarr`, lazily, with one dask chunk a shard, that is a (d, length).

    Where a file is gone, or nothing tells which files there were, `status` is verified (`verify_complete`),
    which reads the trajectories when it is computed. Raises StoreError, one line, where there is no dataset or it
    is damaged beyond lost chunks.
    """
    path = Path(path)
    dataset = _open(path, like="m")
    whole = read_marker(path.parent) is not None and not changed_files(path.parent)
    return dataset if whole else verify_complete(dataset)


def open_recovery(path: str | Path) -> xr.Dataset:
    """`recovery.zarr`, lazily, with one dask chunk a (d, length), verified; raises as `open_trajectories`."""
    return verify_complete(_open(Path(path), like="end"))


def verify_complete(dataset: xr.Dataset) -> xr.Dataset:
    """The dataset with `status` 0 (missing) where it says complete but a value is not there.

    Of the trajectories the values at step 0 are looked at, which are never NaN in a replica that was run. In
    `recovery.zarr` all other variables are also set to what they are for a replica that was not run.
    """
    if "step" in dataset.dims:
        return dataset.assign(status=_verified(dataset.status, _has_start(dataset.isel(step=0))))
    dataset = dataset.assign(status=_verified(dataset.status, _has_results(dataset)))
    return _without_incomplete(dataset)


def _open(path: Path, like: str) -> xr.Dataset:
    """Chunked as the files of the variable `like` are along the grid, whole along other axes."""
    if not (path / "zarr.json").is_file():
        raise StoreError(f"{path}: there is no dataset: run snakemake for this sweep")
    try:
        dataset = xr.open_zarr(path, chunks=None)
        encoding = dataset[like].encoding
        files = encoding.get("shards") or encoding["chunks"]
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{path}: is not a whole dataset ({error}): run snakemake again to rebuild it") from error
    _refuse_damage(path, dataset)
    return dataset.chunk(dict(zip(dataset[like].dims, files, strict=True)))


def _refuse_damage(path: Path, dataset: xr.Dataset) -> None:
    """Raises StoreError for a file of another size than was written, or a lost one that no status tells of."""
    for name in changed_files(path.parent):
        folder, variable, *rest = name.split("/")
        if folder != path.name:
            continue
        told_by_status = variable in dataset.data_vars and "replica" in dataset[variable].dims
        lost = not (path.parent / name).exists()
        if not (lost and (told_by_status or rest == ["zarr.json"])):
            raise StoreError(f"{path.parent / name}: lost or damaged: run snakemake again to rebuild the dataset")


def _verified(status: xr.DataArray, present: xr.DataArray) -> xr.DataArray:
    return status.where(present | (status != Status.COMPLETE), np.int8(Status.MISSING))


def _has_start(start: xr.Dataset) -> xr.DataArray:
    """(grid..., replica): every trajectory has a value at step 0."""
    present = start["m"].notnull() & start["norm"].notnull()
    for name, axis, count in (("e", "component", "components"), ("m_position", "position", "positions")):
        if name in start:
            present = present & (start[name].notnull().sum(axis) >= start[count])
    return present


def _has_results(dataset: xr.Dataset) -> xr.DataArray:
    """(grid..., replica): outcome, end and the numbers that they promise are there."""
    outcome = dataset["outcome"]
    timed = (outcome != Outcome.RECOVERED) | dataset["recovery_step"].notnull()
    ended = dataset["final_m"].notnull() & dataset["final_step"].notnull()
    if "final_e" in dataset:
        ended = ended & (dataset["final_e"].notnull().sum("component") >= dataset["components"])
    ended = ended | (outcome == Outcome.DIVERGED).any("threshold")
    present = (timed & (outcome != Outcome.NOT_RUN)).all("threshold") & (dataset["end"] != End.NOT_RUN)
    return present & ended & dataset["observed_until"].notnull()


def _without_incomplete(recovery: xr.Dataset) -> xr.Dataset:
    """Sets every value of a replica that is not complete to that of one that was not run."""
    complete = recovery["status"] == Status.COMPLETE
    codes = {"outcome": np.int8(Outcome.NOT_RUN), "end": np.int8(End.NOT_RUN)}
    measured = [n for n, v in recovery.data_vars.items() if "replica" in v.dims and n != "status"]
    return recovery.assign({n: recovery[n].where(complete, codes.get(n, np.nan)) for n in measured})
