"""Medians of times of which some are censored."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats

_HALF = 0.5
_ROUNDING = 1e-9


def median_time(times: np.ndarray, observed: np.ndarray) -> tuple[float, float, float]:
    """Kaplan-Meier median and its 95 % interval.

    The median is where the survival curve S(t) = P(T > t) crosses 1/2: the middle of the stretch where S = 1/2, if
    there is one, so that it is the ordinary median when nothing is censored. NaN if S stays above 1/2: more than half
    are censored. The interval (Brookmeyer and Crowley 1982) holds the t whose log(-log S) interval contains 1/2; an
    upper end that the runs do not bound is inf, and one run alone has no interval. A censored run counts as at risk
    up to and including its last step.

    Args:
        times: (n,) recovery times, or the step up to which a censored run was followed.
        observed: (n,) bool, False where the run is censored.
    """
    times, observed = np.asarray(times, dtype=float), np.asarray(observed, dtype=bool)
    if not observed.any():
        return np.nan, np.nan, np.nan
    curve = stats.ecdf(stats.CensoredData(uncensored=times[observed], right=times[~observed])).sf
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The confidence interval is undefined")
        interval = curve.confidence_interval(method="log-log")
    events = np.isin(curve.quantiles, times[observed])
    low, high = (_first_below(side.probabilities, side.quantiles) for side in (interval.low, interval.high))
    middle = _median(curve.probabilities[events], curve.quantiles[events])
    return (middle, low, high) if np.isfinite(low) else (middle, np.nan, np.nan)


def _first_below(survival: np.ndarray, times: np.ndarray) -> float:
    """The first time at which a survival curve is at or below 1/2; inf if there is none."""
    below = np.flatnonzero(survival <= _HALF + _ROUNDING)
    return float(times[below[0]]) if below.size else np.inf


def _median(survival: np.ndarray, times: np.ndarray) -> float:
    first = _first_below(survival, times)
    if first == np.inf:
        return np.nan
    at = int(np.flatnonzero(times == first)[0])
    flat = abs(survival[at] - _HALF) < _ROUNDING and at + 1 < times.size
    return 0.5 * (first + float(times[at + 1])) if flat else first
