"""All tables of a sweep, from its two datasets to `tables/*.csv`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import xarray as xr

from ssi_kernels.reduce import joint
from ssi_kernels.reduce.gains import gain_fit_table, gain_table
from ssi_kernels.reduce.joint import shared_axes
from ssi_kernels.reduce.names import table_names
from ssi_kernels.reduce.phase_map import phase_table, transition_table
from ssi_kernels.reduce.predicted_gains import with_predicted_exponents, with_predicted_gains
from ssi_kernels.reduce.predicted_scaling import with_predicted_slopes
from ssi_kernels.reduce.prediction import sweep_models
from ssi_kernels.reduce.recovery import recovery_table
from ssi_kernels.reduce.runs import axes_of, end_runs, point_facts, recovery_runs, status_of, untied_students
from ssi_kernels.reduce.scaling import scaling_table
from ssi_kernels.reduce.theory_boundaries import theory_boundary_table
from ssi_kernels.reduce.theory_flow import flow_table
from ssi_kernels.reduce.theory_points import theory_point_table
from ssi_kernels.store import open_recovery, open_trajectories
from ssi_kernels.store.atomic import write_bytes

_TEXT = (
    *("target", "student", "encoding", "untied", "protocol", "reason"),
    *("verdict", "why", "remedy", "loss", "predicted_law", "prediction", "pairing"),
)


def reduce_sweep(
    recovery_path: str | Path, trajectories_path: str | Path, tables_dir: str | Path, analyses: Iterable[str]
) -> dict[str, pd.DataFrame]:
    """Writes `<table>.csv` for every table of the analyses (`table_names`), each whole or not at all, and returns
    them by name.

    Undefined numbers are empty fields, with the reason in the column `reason`; an unbounded end of an interval is
    `inf`. Raises StoreError where a dataset is absent or a file cannot be written.
    """
    tables = make_tables(open_recovery(recovery_path), open_trajectories(trajectories_path), analyses)
    for name, table in tables.items():
        write_bytes(Path(tables_dir) / f"{name}.csv", table.to_csv(index=False).encode())
    return tables


def make_tables(recovery: xr.Dataset, trajectories: xr.Dataset, analyses: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The tables of the analyses by name, from the datasets as the store opens them, whatever their chunks.

    `recovery` is loaded whole; of `trajectories` only what its status looks at is read, chunk by chunk.
    """
    names = table_names(analyses)
    status = status_of(recovery, trajectories)
    recovery = recovery.drop_vars(["final_m", "final_e"], errors="ignore").compute()
    axes, facts, runs = axes_of(recovery), point_facts(recovery), recovery_runs(recovery, status)
    models, tables, shared = sweep_models(recovery), {}, shared_axes(recovery)
    if "recovery" in names:
        tables["recovery"] = recovery_table(runs, axes, facts)
        tables["theory_points"] = theory_point_table(facts, models)
        tables["theory_flow"] = flow_table(recovery, models)
    if "scaling" in names:
        tables["scaling"] = with_predicted_slopes(_scaling(runs, axes, shared), models)
    if "gain" in names:
        untied = untied_students(recovery)
        gain, gain_fit = _gains(runs, axes, untied, facts, shared)
        tables["gain"] = with_predicted_gains(gain, models)
        tables["gain_fit"] = with_predicted_exponents(gain_fit, tables["gain"])
    if "phase" in names:
        ends = end_runs(recovery, status)
        tables["phase"] = phase_table(ends, axes)
        tables["transition"] = _transitions(ends, tables["phase"], axes, shared)
        tables["theory_boundaries"] = theory_boundary_table(models)
    return {name: tables[name] for name in names}


def _scaling(runs: pd.DataFrame, axes: Sequence[Hashable], shared: Sequence[str]) -> pd.DataFrame:
    """Exponents over d, whose points may share random numbers."""
    if "d" not in shared:
        return scaling_table(runs, axes)
    return joint.jointly(
        lambda part: scaling_table(part, axes), runs, joint.SCALING, joint.of_scaling, ["pivot_time"], shared
    )


def _gains(
    runs: pd.DataFrame,
    axes: Sequence[Hashable],
    untied: Mapping[str, bool],
    facts: pd.DataFrame,
    shared: Sequence[str],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Gains and their fits over the length; the students may share random numbers."""

    def gain(part: pd.DataFrame) -> pd.DataFrame:
        return gain_table(part, axes, untied, facts)

    def gain_fit(part: pd.DataFrame) -> pd.DataFrame:
        return gain_fit_table(part, axes, untied, facts)

    if "student" not in shared:
        return gain(runs), gain_fit(runs)
    return (
        joint.jointly(gain, runs, joint.GAIN, joint.of_gain, ["gain"], shared),
        joint.jointly(gain_fit, runs, joint.GAIN_FIT, joint.of_gain_fit, ["pivot_gain"], shared),
    )


def _transitions(
    ends: pd.DataFrame, phase: pd.DataFrame, axes: Sequence[Hashable], shared: Sequence[str]
) -> pd.DataFrame:
    """Transitions over omega, whose points may share random numbers."""
    if "omega" not in shared:
        return transition_table(phase, axes)

    def transitions(part: pd.DataFrame) -> pd.DataFrame:
        return transition_table(phase_table(part, axes), axes)

    return joint.jointly(transitions, ends, joint.TRANSITION, joint.of_transition, ["width"], shared)


def read_tables(tables_dir: str | Path, analyses: Iterable[str]) -> dict[str, pd.DataFrame]:
    """What `reduce_sweep` wrote, by name."""
    return {name: _read(Path(tables_dir) / f"{name}.csv") for name in table_names(analyses)}


def _read(path: Path) -> pd.DataFrame:
    """A table with text where text was written, also where it says "nan" or a number."""
    columns = pd.read_csv(path, nrows=0).columns
    empty = {name: [""] for name in columns if name not in _TEXT}
    return pd.read_csv(path, dtype=dict.fromkeys(_TEXT, str), keep_default_na=False, na_values=empty)
