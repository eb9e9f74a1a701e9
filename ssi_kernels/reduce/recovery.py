"""Recovery times, point by point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ssi_kernels.reduce.counts import group_outcomes, grouped
from ssi_kernels.reduce.lognormal import student_quantile
from ssi_kernels.reduce.survival import median_time

VALUES = (
    "runs",
    "recovered",
    "at_step_0",
    "censored",
    "diverged",
    "missing",
    "failed",
    "median",
    "median_low",
    "median_high",
    "mean",
    "mean_low",
    "mean_high",
    "reason",
)
_SUMMARY = VALUES[VALUES.index("median") : -1]
_COUNTED = ("recovered", "censored", "diverged")


def recovery_table(runs: pd.DataFrame, axes: Sequence[str], facts: pd.DataFrame) -> pd.DataFrame:
    """Counts of outcomes and the median recovery time of every point at every threshold.

    `median` is that of Kaplan and Meier over the recovered and censored runs, undefined when more than half of them
    are censored; `mean` is the ordinary mean, defined only when none is. Diverged, missing and failed replicas enter
    neither. Times in steps; a time of 0 (a start at or above the threshold) is a time like any other here.

    Args:
        runs: from `recovery_runs`.
        axes: the grid axes.
        facts: from `point_facts`; its columns follow the threshold.
    """
    keys = [*axes, "threshold"]
    groups = grouped(runs, keys)
    counts = group_outcomes(runs, groups)
    observed, time = (runs["outcome"] == "recovered").to_numpy(), runs["time"].to_numpy(dtype=float)
    kept = observed | (runs["outcome"] == "censored").to_numpy()
    rows = [_summary(time, observed, rows[kept[rows]]) for rows in map(groups.rows, range(len(groups)))]
    table = pd.concat([groups.values, counts, pd.DataFrame(rows, columns=_SUMMARY)], axis=1)
    table["reason"] = [_reason(row, row["median"]) for row in table[[*_COUNTED, "median"]].to_dict("records")]
    table = table[[*keys, *VALUES]].merge(facts, on=axes, how="left", validate="many_to_one")
    return table[[*keys, *facts.columns.difference(axes, sort=False), *VALUES]]


def _summary(time: np.ndarray, observed: np.ndarray, rows: np.ndarray) -> tuple[float, ...]:
    """Median and mean, each with its interval, of the timed runs of a point, which are those in `rows`."""
    times, seen = time[rows], observed[rows]
    mean, reach = _mean(times) if seen.all() else (np.nan, np.nan)
    return *median_time(times, seen), mean, mean - reach, mean + reach


def _mean(times: np.ndarray) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval (Student's t)."""
    if times.size < 2:
        return (float(times[0]), np.nan) if times.size else (np.nan, np.nan)
    reach = student_quantile(times.size - 1) * times.std(ddof=1) / np.sqrt(times.size)
    return float(times.mean()), float(reach)


def _reason(counts: dict[str, int], median: float) -> str:
    """Why there is no median, where there is none."""
    if np.isfinite(median):
        return ""
    if counts["recovered"]:
        return "median undefined: more than half of the runs are censored"
    if counts["censored"]:
        return "median undefined: no run recovered"
    return "median undefined: every run diverged" if counts["diverged"] else "median undefined: no run was made"
