"""How recovery times grow with the dimension: the exponent alpha of T ~ d^alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ssi_kernels.reduce.counts import group_outcomes, grouped
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
    groups = grouped(runs, keys)
    series, counts = _Series.of(runs), group_outcomes(runs, groups)
    fits = pd.DataFrame([_fitted(series.at(groups.rows(i))) for i in range(len(groups))])
    return pd.concat([groups.values, counts, fits], axis=1).reindex(columns=[*keys, *VALUES])


@dataclass(frozen=True)
class _Series:
    """Some runs: dimension, time in steps, and whether they recovered (True) or were censored, after step 0.

    `kept` tells which of the runs have a time whose logarithm exists.
    """

    d: np.ndarray
    time: np.ndarray
    observed: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, runs: pd.DataFrame) -> _Series:
        time, observed = runs["time"].to_numpy(dtype=float), (runs["outcome"] == "recovered").to_numpy()
        kept = (observed | (runs["outcome"] == "censored").to_numpy()) & (time > 0)
        return cls(runs["d"].to_numpy(dtype=float), time, observed, kept)

    def at(self, rows: np.ndarray) -> _Series:
        """Those in some rows."""
        return _Series(self.d[rows], self.time[rows], self.observed[rows], self.kept[rows])


def _fitted(runs: _Series) -> dict:
    observed = runs.observed[runs.kept]
    dimensions = len(np.unique(runs.d[runs.kept][observed]))
    if dimensions < 2:
        return {"dimensions": dimensions, "reason": _too_few(runs, dimensions)}
    log_d = np.log(runs.d[runs.kept])
    fit = fit_log_times(np.log(runs.time[runs.kept]), observed, log_d)
    if fit is None:
        return {"dimensions": dimensions, "reason": "undefined: the likelihood has no finite maximum"}
    return {"dimensions": dimensions, **_line(fit, log_d.mean())}


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


def _too_few(runs: _Series, dimensions: int) -> str:
    """Why there is no exponent."""
    if len(np.unique(runs.d)) < 2:
        return "undefined: one value of d"
    if dimensions:
        return "undefined: one value of d has runs that recovered after step 0"
    return "undefined: no run recovered after step 0"
