"""Intervals for estimates that combine points which share random numbers: replicas are left out jointly.

Replica k of one point and replica k of another are then dependent, while different replicas are independent as ever.
So the runs fall into independent groups of replicas, each with all of its points. Leaving out one group after the other
gives the delete-a-group jackknife (Shao and Tu 1995, section 2.3): with G groups and estimates theta_g without group g,

    variance = (G - 1) / G sum_g (theta_g - mean theta)^2,    interval = theta +- t_{G-1} sqrt(variance),

which holds whatever the dependence between the points, and is narrower than that of independent points where sharing
makes a difference or a slope more precise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from ssi_kernels.reduce.lognormal import student_quantile

GROUPS, FEWEST = 20, 4
"""Most groups of replicas, and fewest: with less the variance itself is not known."""

STEP = "a step between"
"""How the reason of a transition begins that no omega resolves; its interval is the gap between two omegas."""

ENOUGH_FOR_STEP = 6
"""Replicas that all turn within the gap: that all lie on one side of the median has a probability of 2 / 2^6 = 3 %."""

NO_SCATTER = "interval undefined: the replicas do not scatter"
_ROUNDING = 1e-9

Values = dict[str, float]
Quantities = Callable[[Mapping, Mapping], Values]
"""From a row of a table and the same row of all runs: what is jackknifed, by column, on a scale without bounds."""


def shared_axes(recovery: xr.Dataset) -> tuple[str, ...]:
    """The axes along which points of a sweep share random numbers, from the configuration that its dataset carries."""
    try:
        (sweep,) = json.loads(recovery.attrs["configuration"])["sweeps"].values()
        return tuple(sweep["sgd"].get("common_random_numbers", ()))
    except (KeyError, ValueError, TypeError, AttributeError):
        return ()


def jointly(
    make: Callable[[pd.DataFrame], pd.DataFrame],
    runs: pd.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    quantities: Quantities,
    exponentiated: Sequence[str],
    shared: Sequence[str],
) -> pd.DataFrame:
    """The table that `make` gives for `runs`, with intervals that allow for random numbers shared over `shared`.

    Args:
        make: from runs to the table; called once more for every group of replicas that is left out.
        runs: with a column `replica`.
        columns: for every estimate the columns of the ends of its interval.
        quantities: what is compared between the tables, such as a logarithm.
        exponentiated: the estimates of which that is the logarithm.
        shared: axes, for the column `pairing`.

    Where an interval is undefined its ends are NaN, and `reason` says why.
    """
    table = make(runs)
    replicas = np.unique(runs["replica"])
    groups = min(GROUPS, len(replicas))
    part = runs["replica"].to_numpy() % groups if groups else np.zeros(len(runs), int)
    without = [make(runs[part != g]) for g in range(groups)] if groups >= FEWEST else []
    rows = [
        _with_interval(row, [_row(other, place) for other in without], columns, quantities, exponentiated)
        for place, row in enumerate(table.to_dict("records"))
    ]
    result = pd.DataFrame(rows, columns=table.columns)
    result.insert(result.columns.get_loc("reason"), "pairing", f"common random numbers over {', '.join(shared)}")
    return result


def _row(table: pd.DataFrame, place: int) -> dict:
    return table.iloc[place].to_dict() if place < len(table) else {}


def _with_interval(
    row: dict, others: Sequence[dict], columns: Mapping, quantities: Quantities, exponentiated: Sequence[str]
) -> dict:
    """One row with its intervals in place of those that take points for independent.

    A bound on what has no estimate, such as a gain of which one student never recovered, is about one point and stays.
    """
    whole = quantities(row, row)
    found = pd.DataFrame([quantities(other, row) if other else {} for other in others], columns=list(whole))
    changed, reasons = dict(row), []
    for name, ends in columns.items():
        if not np.isfinite(whole[name]):
            continue
        interval, reason = _interval(whole[name], found[name].to_numpy(dtype=float))
        if (
            interval is None
            and reason == NO_SCATTER
            and row["reason"].startswith(STEP)
            and len(found) >= ENOUGH_FOR_STEP
        ):
            continue  # every replica turns between the same two omegas
        interval = (np.nan, np.nan) if interval is None else interval
        changed |= dict(zip(ends, np.exp(interval) if name in exponentiated else interval, strict=True))
        reasons.append(reason)
    told = list(dict.fromkeys(filter(None, [row["reason"] if _stays(row["reason"]) else "", *reasons])))
    return changed | {"reason": "; ".join(told)}


def _interval(estimate: float, without: np.ndarray) -> tuple[tuple[float, float] | None, str]:
    """The interval of one estimate from those without each group; or None, and why there is none."""
    count = without.size
    if count < FEWEST:
        return None, f"interval undefined: fewer than {FEWEST} replicas"
    if not np.isfinite(without).all():
        return None, "interval undefined: without some of the replicas there is no estimate"
    error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    if error <= _ROUNDING * max(abs(estimate), 1.0):
        return None, NO_SCATTER
    reach = student_quantile(count - 1) * error
    return (estimate - reach, estimate + reach), ""


def _stays(reason: str) -> bool:
    """Whether what a table says for independent points is true of dependent ones: all but why an interval lacks."""
    return not reason.startswith("interval undefined")


def _log(value: object) -> float:
    return float(np.log(value)) if isinstance(value, int | float) and value > 0 else np.nan


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


SCALING = {"slope": ("slope_low", "slope_high"), "pivot_time": ("pivot_low", "pivot_high")}
GAIN = {"gain": ("gain_low", "gain_high")}
GAIN_FIT = {"exponent": ("exponent_low", "exponent_high"), "pivot_gain": ("pivot_low", "pivot_high")}
TRANSITION = {"omega_half": ("omega_low", "omega_high"), "width": ("width_low", "width_high")}


def of_scaling(row: Mapping, whole: Mapping) -> Values:
    """The slope, and the logarithm of the line's height at the pivot of all runs."""
    return _line(row, whole, ("slope", "pivot_d", "pivot_time"))


def of_gain_fit(row: Mapping, whole: Mapping) -> Values:
    """As `of_scaling`."""
    return _line(row, whole, ("exponent", "pivot_length", "pivot_gain"))


def of_gain(row: Mapping, whole: Mapping) -> Values:
    """The logarithm of the gain."""
    return {"gain": _log(row.get("gain"))}


def of_transition(row: Mapping, whole: Mapping) -> Values:
    """The place of the transition and the logarithm of its width."""
    return {"omega_half": _number(row.get("omega_half")), "width": _log(row.get("width"))}


def _line(row: Mapping, whole: Mapping, names: tuple[str, str, str]) -> Values:
    slope, pivot, height = names
    power = _number(row.get(slope))
    shift = _log(whole.get(pivot)) - _log(row.get(pivot))
    return {slope: power, height: _log(row.get(height)) + power * shift}
