"""How recovery times grow with the dimension: the exponent alpha of T ~ d^alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ssi_kernels.reduce.counts import after_start, at_step_0, outcome_counts, series
from ssi_kernels.reduce.lognormal import LognormalFit, fit_lognormal_spreads, spread_designs

VALUES = (
    "dimensions",
    "runs",
    "recovered",
    "censored",
    "at_step_0",
    "diverged",
    "missing",
    "failed",
    "slope",
    "slope_low",
    "slope_high",
    "pivot_d",
    "pivot_time",
    "pivot_low",
    "pivot_high",
    "spread",
    "reason",
)


def scaling_table(runs: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """The exponent of every series: one value of all axes but d, and of the threshold.

    Maximum likelihood of log T = c + alpha log d + sigma(d) W with right-censoring (`fit_log_times`). `slope` is
    alpha; the fitted line is T(d) = pivot_time (d / pivot_d)^slope, with the pivot where the line is known best, so
    that the relative errors of `pivot_time` and of `slope` are independent. `spread` is sigma averaged over the runs.
    `at_step_0` counts the recovered runs that are left out because log 0 does not exist; diverged, missing and failed
    replicas are left out as well. NaN with a `reason` where fewer than two values of d have recovered runs.

    Args:
        runs: from `recovery_runs`.
        axes: the grid axes.
    """
    keys = [axis for axis in axes if axis != "d"]
    keys.append("threshold")
    rows = [values | _fitted(group) for values, group in series(runs, keys)]
    return pd.DataFrame(rows, columns=[*keys, *VALUES])


def _fitted(runs: pd.DataFrame) -> dict:
    kept = after_start(runs)
    observed = (kept["outcome"] == "recovered").to_numpy()
    log_d = np.log(kept["d"].to_numpy(dtype=float))
    dimensions = len(np.unique(log_d[observed]))
    row = {**outcome_counts(runs), "at_step_0": at_step_0(runs), "dimensions": dimensions}
    if dimensions < 2:
        return row | {"reason": _too_few(runs, dimensions)}
    fit = fit_log_times(np.log(kept["time"].to_numpy()), observed, log_d)
    if fit is None:
        return row | {"reason": "undefined: the likelihood has no finite maximum"}
    return row | _line(fit, log_d.mean())


def fit_log_times(log_time: np.ndarray, observed: np.ndarray, log_d: np.ndarray) -> LognormalFit | None:
    """Fit log T = c + alpha (log d - mean log d) + sigma(d) W; beta = (c, alpha), one row per run.

    log sigma is a line in log d, or has its own value at every d, whichever has the smaller information criterion
    (`spread_designs`).
    """
    line = np.column_stack([np.ones_like(log_d), log_d - log_d.mean()])
    return fit_lognormal_spreads(log_time, observed, line, spread_designs(observed, log_d[:, None], line))


def _line(fit: LognormalFit, center: float) -> dict:
    """The fitted line in the units of the table."""
    slope, low, high = fit.interval([0.0, 1.0])
    if not np.isfinite(low):
        pivot = 0.0
    else:
        pivot = -fit.covariance[0, 1] / fit.covariance[1, 1]
    time, time_low, time_high = np.exp(fit.interval([1.0, pivot]))
    return {
        "slope": slope,
        "slope_low": low,
        "slope_high": high,
        "pivot_d": float(np.exp(center + pivot)),
        "pivot_time": time,
        "pivot_low": time_low,
        "pivot_high": time_high,
        "spread": float(fit.sigma.mean()),
        "reason": "" if np.isfinite(low) else "interval undefined: the runs do not scatter about the line",
    }


def _too_few(runs: pd.DataFrame, dimensions: int) -> str:
    """Why there is no exponent."""
    if runs["d"].nunique() < 2:
        return "undefined: one value of d"
    if dimensions:
        return "undefined: one value of d has runs that recovered after step 0"
    return "undefined: no run recovered after step 0"
