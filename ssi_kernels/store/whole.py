"""Datasets that are computed in one piece and written whole: those of `theory`."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import StoreError
from ssi_kernels.store.atomic import cannot_write, exchange, is_temporary, remove, remove_stale, temporary_beside
from ssi_kernels.store.marker import MARKER, changed_files, write_marker

if TYPE_CHECKING:
    import xarray as xr


def write_dataset(dataset: xr.Dataset, place: Path, fingerprint: str) -> None:
    """Writes `dataset` beside `place` and exchanges it with what is there; notes the fingerprint in the marker.

    Interrupted at any moment, it leaves the earlier dataset whole or the marker absent. Raises StoreError when it
    cannot write.
    """
    if place.exists() and not place.is_dir():
        raise StoreError(f"{place}: is not a folder, and stands where a dataset goes: move it away")
    build = temporary_beside(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead_builds(place.parent)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
            dataset.to_zarr(build, mode="w-", zarr_format=3, consolidated=True)
        (place.parent / MARKER).unlink(missing_ok=True)
        if (earlier := exchange(build, place)) is not None:
            remove(earlier)
    except OSError as error:
        raise cannot_write(place, error) from error
    finally:
        remove(build)
    write_marker(place.parent, fingerprint, [place.name])


def read_dataset(place: Path) -> xr.Dataset:
    """The whole dataset in memory. Raises StoreError, one line, where it is absent or damaged."""
    import xarray as xr

    lost = [name for name in changed_files(place.parent) if name.startswith(f"{place.name}/")]
    if lost:
        raise StoreError(f"{place.parent / lost[0]}: lost or damaged: run snakemake again to compute it")
    try:
        with xr.open_zarr(place, chunks=None) as dataset:
            return dataset.load()
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"{place}: is not a whole dataset ({error}): run snakemake again to compute it") from error


def _remove_dead_builds(folder: Path) -> None:
    for entry in os.scandir(folder):
        if is_temporary(entry.name):
            remove_stale(Path(entry.path))
