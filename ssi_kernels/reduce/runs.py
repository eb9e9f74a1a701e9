"""The runs of a sweep as tidy tables: one row per replica, with one word for what became of it.

`recovery.zarr` holds a few numbers per replica and is read whole; `trajectories.zarr` is never read whole.
"""

from __future__ import annotations

import json
from collections.abc import Hashable

import numpy as np
import pandas as pd
import xarray as xr

from ssi_kernels.errors import End, Outcome, Status

OUTCOMES = ("recovered", "censored", "diverged", "missing", "failed")
ENDS = ("semantic", "positional", "elsewhere", "undecided", "diverged", "missing", "failed")
_NOT_AXES = ("replica", "threshold", "step", "component", "position", "quantile")


def axes_of(dataset: xr.Dataset) -> list[Hashable]:
    """The grid axes of a dataset in its own order: those of `status` but the replica."""
    return [name for name in dataset["status"].dims if name not in _NOT_AXES]


def status_of(recovery: xr.Dataset, trajectories: xr.Dataset) -> xr.DataArray:
    """What is there of every replica, int8 of `Status` over (axes..., replica), loaded.

    Complete only where both datasets are: of a replica whose trajectory was lost after it was written nothing is
    counted, so that tables and figures speak of the same runs. The datasets must come from `store.open_recovery` and
    `store.open_trajectories`, whose status tells lost blocks (which read as NaN, or as a code) from measured values.
    """
    both = xr.concat([recovery["status"], trajectories["status"]], "dataset").compute()
    failed, complete = (both == Status.FAILED).any("dataset"), (both == Status.COMPLETE).all("dataset")
    lacking = xr.where(failed, np.int8(Status.FAILED), np.int8(Status.MISSING))
    return xr.where(complete, np.int8(Status.COMPLETE), lacking).transpose(*recovery["status"].dims)


def recovery_runs(recovery: xr.Dataset, status: xr.DataArray) -> pd.DataFrame:
    """One row per (axes..., replica, threshold): `time` in steps and `outcome`, a word of `OUTCOMES`.

    `time` is the recovery step, or the step up to which a censored run was followed; NaN otherwise.
    """
    coded = recovery["outcome"]
    words = _words(
        (coded == Outcome.RECOVERED, "recovered"),
        (coded == Outcome.CENSORED, "censored"),
        (coded == Outcome.DIVERGED, "diverged"),
        status=status,
    )
    time = xr.where(words == OUTCOMES.index("recovered"), recovery["recovery_step"], recovery["observed_until"])
    time = time.where(words <= OUTCOMES.index("censored"))
    return _tidy({"time": time, "outcome": words}, "outcome", OUTCOMES, [*status.dims, "threshold"])


def end_runs(recovery: xr.Dataset, status: xr.DataArray) -> pd.DataFrame:
    """One row per (axes..., replica): `end`, a word of `ENDS`."""
    coded = recovery["end"]
    diverged = (recovery["outcome"] == Outcome.DIVERGED).any("threshold")
    ends = [(coded == End[word.upper()], word) for word in ENDS[:4]]
    words = _words(*ends, (diverged, "diverged"), status=status, vocabulary=ENDS)
    return _tidy({"end": words}, "end", ENDS, list(status.dims))


def _words(
    *conditions: tuple[xr.DataArray, str], status: xr.DataArray, vocabulary: tuple[str, ...] = OUTCOMES
) -> xr.DataArray:
    """Positions in the vocabulary: the last condition that holds, and what is lacking above all; `missing` where
    none."""
    lacking = [(status != Status.COMPLETE, "missing"), (status == Status.FAILED, "failed")]
    positions = xr.full_like(conditions[0][0], vocabulary.index("missing"), dtype=np.int8)
    for condition, word in (*conditions, *lacking):
        positions = xr.where(condition, np.int8(vocabulary.index(word)), positions)
    return positions


def _tidy(variables: dict, word: str, vocabulary: tuple[str, ...], order: list[Hashable]) -> pd.DataFrame:
    dataset = xr.Dataset(variables).reset_coords(drop=True).compute()
    frame = dataset.to_dataframe(dim_order=order).reset_index()
    frame[word] = pd.Categorical.from_codes(frame[word].astype(int), vocabulary)
    return frame


def point_facts(recovery: xr.Dataset) -> pd.DataFrame:
    """One row per point: its axes, `learning_rate` and `horizon`."""
    names = [name for name in ("learning_rate", "horizon") if name in recovery.data_vars]
    axes = axes_of(recovery)
    facts = recovery[names].broadcast_like(recovery["status"].isel(replica=0, drop=True))
    return facts.reset_coords(drop=True).to_dataframe(dim_order=axes).reset_index()


def untied_students(recovery: xr.Dataset) -> dict[str, bool]:
    """Whether each entry of the axis `student` is untied, by the configuration in the dataset's attributes."""
    (sweep,) = json.loads(recovery.attrs["configuration"])["sweeps"].values()
    return {entry["name"]: entry["kind"] == "untied" for entry in sweep["grid"]["student"]}
