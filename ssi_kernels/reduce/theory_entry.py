"""From an entry of `theory` to its dataset and tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from ssi_kernels.provenance import provenance
from ssi_kernels.reduce.landscapes import landscape_dataset, landscape_table
from ssi_kernels.reduce.names import theory_table_names
from ssi_kernels.reduce.phase_theory import boundary_table, region_table
from ssi_kernels.store.atomic import write_bytes
from ssi_kernels.store.whole import read_dataset, write_dataset
from ssi_kernels.sweep import effective_entry
from ssi_kernels.sweep.theory_entries import LandscapeEntry, PhaseDiagramEntry

_MAKERS = {"phase_boundaries": boundary_table, "phase_regions": region_table, "landscapes": landscape_table}


def compute_entry(
    name: str,
    entry: PhaseDiagramEntry | LandscapeEntry,
    fingerprint: str,
    dataset_path: str | Path,
    tables_dir: str | Path,
) -> dict[str, pd.DataFrame]:
    """Writes the dataset of an entry and `<table>.csv` for each of its tables (`theory_table_names`), each whole or not
    at all, the marker with the `fingerprint` last; returns the tables by name.
    """
    dataset = entry_dataset(entry)
    configuration = json.dumps({"theory": {name: effective_entry(entry)}})
    dataset.attrs = {**dataset.attrs, "configuration": configuration, **provenance()}
    tables = entry_tables(entry.kind, dataset)
    for table_name, table in tables.items():
        write_bytes(Path(tables_dir) / f"{table_name}.csv", table.to_csv(index=False).encode())
    write_dataset(dataset, Path(dataset_path), fingerprint)
    return tables


def entry_dataset(entry: PhaseDiagramEntry | LandscapeEntry) -> xr.Dataset:
    """What an entry asks for. Raises ConfigError for a model that the theory does not cover."""
    if isinstance(entry, LandscapeEntry):
        return landscape_dataset(entry)
    from ssi_kernels.theory.diagram import phase_diagram

    return phase_diagram(np.array(entry.omega), np.array(entry.a), loss=entry.loss)


def entry_tables(kind: str, dataset: xr.Dataset) -> dict[str, pd.DataFrame]:
    """The tables of an entry by name, from its dataset."""
    return {name: _MAKERS[name](dataset) for name in theory_table_names(kind)}


def read_entry(kind: str, dataset_path: str | Path) -> tuple[xr.Dataset, dict[str, pd.DataFrame]]:
    """The dataset that `compute_entry` wrote, and the tables that follow from it."""
    dataset = read_dataset(Path(dataset_path))
    return dataset, entry_tables(kind, dataset)
