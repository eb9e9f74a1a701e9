"""The gain of sharing weights between positions: gain(L) = steps to weak recovery untied / steps of another student."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ssi_kernels.reduce.counts import after_start, at_step_0, outcome_counts, series
from ssi_kernels.reduce.lognormal import (
    LognormalFit,
    fit_lognormal,
    fit_lognormal_spreads,
    spread_designs,
    student_quantile,
)

_COUNTS = ("recovered", "censored", "at_step_0", "diverged", "missing", "failed")
_SIDES = ("student", "untied")
_FAR_APART = 1e3
"""Distance between the students in `_fit_gain`, so that a cell with few runs shares the spread of its own student."""
VALUES = (
    "student",
    "untied",
    "protocol",
    "gain",
    "gain_low",
    "gain_high",
    "student_time",
    "untied_time",
    *(f"{side}_{count}" for side in _SIDES for count in _COUNTS),
    "reason",
)
FIT_VALUES = (
    "student",
    "untied",
    "protocol",
    "lengths",
    "excluded",
    "exponent",
    "exponent_low",
    "exponent_high",
    "pivot_length",
    "pivot_gain",
    "pivot_low",
    "pivot_high",
    "reason",
)


def gain_table(
    runs: pd.DataFrame, axes: Sequence[str], untied: Mapping[str, bool], facts: pd.DataFrame
) -> pd.DataFrame:
    """The gain at every length, for every pair of an untied student and another one.

    Each student's time is the typical one of a lognormal law, exp(E log T), fitted by maximum likelihood with its
    censored runs (`fit_lognormal`), and log gain = E log T_untied - E log T_student. The interval adds the two
    variances (Student's t with the degrees of freedom of Welch and Satterthwaite). Where a student never recovers
    only a bound is known: `gain` is NaN, `gain_low` and `gain_high` hold the bound, `reason` says which.

    Args:
        runs: from `recovery_runs`.
        axes: the grid axes, among them `student`.
        untied: whether each student is untied.
        facts: from `point_facts`.
    """
    rows = []
    for head, student, baseline in _pairs(runs, axes, untied, facts):
        for length in sorted({*student["length"], *baseline["length"]}):
            pair = [side[side["length"] == length] for side in (student, baseline)]
            rows.append({**head, "length": length, **_gain(*pair)})
    order = [axis for axis in axes if axis != "student"]
    return pd.DataFrame(rows, columns=[*order, "threshold", *VALUES])


def gain_fit_table(
    runs: pd.DataFrame, axes: Sequence[str], untied: Mapping[str, bool], facts: pd.DataFrame
) -> pd.DataFrame:
    """The exponent beta of gain ~ L^beta for every pair of students, all axes but the length fixed.

    One fit over the runs of both students and all lengths, censored ones included,

        log T_student = t_L + sigma W,    log T_untied = t_L + g + beta log L + sigma W,

    with a free t_L at every length. A length at which the student has no recovered run tells nothing of the gain but
    a bound, and is `excluded`, with its count. The fitted line is gain(L) = pivot_gain (L / pivot_length)^exponent,
    as in `scaling_table`.

    Args: as in `gain_table`.
    """
    pairs = _pairs(runs, axes, untied, facts)
    rows = [head | _exponent(student, baseline) for head, student, baseline in pairs]
    keys = [axis for axis in axes if axis not in ("student", "length")]
    return pd.DataFrame(rows, columns=[*keys, "threshold", *FIT_VALUES])


def protocol(facts: pd.DataFrame, values: Mapping, student: str, baseline: str) -> str:
    """`equal` if the two students have the same learning rate at every length of a series, else `scaled`."""
    here = facts
    for axis, value in values.items():
        here = here[here[axis] == value] if axis in here else here
    rate = [here[here["student"] == name].set_index("length")["learning_rate"] for name in (student, baseline)]
    return "equal" if np.allclose(*rate, rtol=1e-12, atol=0.0) else "scaled"


def _pairs(
    runs: pd.DataFrame, axes: Sequence[str], untied: Mapping[str, bool], facts: pd.DataFrame
) -> Iterator[tuple[dict, pd.DataFrame, pd.DataFrame]]:
    """For every series and every pair: what names it, the runs of the student, and those of the untied one."""
    keys = [axis for axis in axes if axis not in ("student", "length")]
    for values, group in series(runs, [*keys, "threshold"]):
        sides = dict(iter(group.groupby("student", sort=True, observed=True)))
        for student, baseline in itertools.product(sides, sides):
            if untied[baseline] and not untied[student]:
                word = protocol(facts, values, student, baseline)
                head = {**values, "student": student, "untied": baseline, "protocol": word}
                yield head, sides[student], sides[baseline]


def _gain(student: pd.DataFrame, baseline: pd.DataFrame) -> dict:
    """The gain at one length."""
    sides = dict(zip(_SIDES, (student, baseline), strict=True))
    row = {}
    for side, runs in sides.items():
        counts = {**outcome_counts(runs), "at_step_0": at_step_0(runs)}
        row |= {f"{side}_{count}": counts[count] for count in _COUNTS}
    fits = {side: _typical_time(after_start(runs)) for side, runs in sides.items()}
    row |= {f"{side}_time": float(np.exp(fit.beta[0])) for side, fit in fits.items() if fit is not None}
    if None not in fits.values():
        return row | _ratio(fits["student"], fits["untied"])
    return row | _bound(after_start(student), after_start(baseline), fits)


def _typical_time(runs: pd.DataFrame) -> LognormalFit | None:
    """E log T of one student at one point; None where no run recovered after step 0."""
    observed = (runs["outcome"] == "recovered").to_numpy()
    if not observed.any():
        return None
    return fit_lognormal(np.log(runs["time"].to_numpy()), observed, np.ones((len(runs), 1)))


def _ratio(student: LognormalFit, baseline: LognormalFit) -> dict:
    variances = np.array([fit.covariance[0, 0] for fit in (student, baseline)])
    degrees = np.array([fit.degrees for fit in (student, baseline)])
    log_gain = baseline.beta[0] - student.beta[0]
    total = variances.sum()
    known = np.isfinite(total) and total > 0
    reach = student_quantile(total**2 / (variances**2 / degrees).sum()) * np.sqrt(total) if known else np.nan
    return {
        "gain": float(np.exp(log_gain)),
        "gain_low": float(np.exp(log_gain - reach)),
        "gain_high": float(np.exp(log_gain + reach)),
        "reason": "" if known else "interval undefined: the runs of a student do not scatter",
    }


def _bound(student: pd.DataFrame, baseline: pd.DataFrame, fits: Mapping[str, LognormalFit | None]) -> dict:
    """What is known of the gain where a student has no recovered run."""
    unknown = {"gain": np.nan, "gain_low": np.nan, "gain_high": np.nan}
    if student.empty or baseline.empty:
        return unknown | {"reason": "undefined: a student has no runs that were timed"}
    if fits["student"] is None and fits["untied"] is None:
        return unknown | {"reason": "undefined: neither student recovered"}
    horizons = {side: runs["time"].max() for side, runs in zip(_SIDES, (student, baseline), strict=True)}
    if fits["student"] is None:
        most = np.exp(_finite(fits["untied"].interval([1.0]), 2)) / horizons["student"]
        told = (
            f"untied only: the student never recovered within {horizons['student']:.0f} steps; gain at most {most:.3g}"
        )
        return unknown | {"gain_low": 0.0, "gain_high": float(most), "reason": told}
    least = horizons["untied"] / np.exp(_finite(fits["student"].interval([1.0]), 2))
    told = (
        f"student only: the untied one never recovered within {horizons['untied']:.0f} steps; gain at least {least:.3g}"
    )
    return unknown | {"gain_low": float(least), "gain_high": np.inf, "reason": told}


def _finite(interval: tuple[float, float, float], end: int) -> float:
    """One end of an interval, or its middle where it has none."""
    return interval[end] if np.isfinite(interval[end]) else interval[0]


def _exponent(student: pd.DataFrame, baseline: pd.DataFrame) -> dict:
    """The fit of log gain against log L."""
    both = pd.concat([after_start(student).assign(untied=0.0), after_start(baseline).assign(untied=1.0)])
    recovered = both[both["outcome"] == "recovered"]
    here = [set(recovered.loc[recovered["untied"] == side, "length"]) for side in (0.0, 1.0)]
    row = {"lengths": len(here[0] & here[1]), "excluded": both["length"].nunique() - len(here[0])}
    if both["length"].nunique() < 2:
        return row | {"reason": "undefined: one value of length"}
    if row["lengths"] < 2:
        return row | {"reason": "undefined: fewer than two lengths at which both students recovered"}
    kept = both[both["length"].isin(here[0])]
    fit, center = _fit_gain(kept)
    if fit is None:
        return row | {"reason": "undefined: the likelihood has no finite maximum"}
    return row | _line(fit, center)


def _fit_gain(runs: pd.DataFrame) -> tuple[LognormalFit | None, float]:
    """The model of `gain_fit_table`: beta = (g, beta, t_L...), with log L measured from its mean."""
    observed = (runs["outcome"] == "recovered").to_numpy()
    log_length = np.log(runs["length"].to_numpy(dtype=float))
    center = float(np.unique(log_length).mean())
    x, untied = log_length - center, runs["untied"].to_numpy()
    free = (log_length[:, None] == np.unique(log_length)[None, :]).astype(float)
    location = np.column_stack([untied, untied * x, free])
    line = np.column_stack([1.0 - untied, untied, (1.0 - untied) * x, untied * x])
    designs = spread_designs(observed, np.column_stack([x, _FAR_APART * untied]), line)
    return fit_lognormal_spreads(np.log(runs["time"].to_numpy()), observed, location, designs), center


def _line(fit: LognormalFit, center: float) -> dict:
    """The fitted line in the units of the table."""
    rest = np.zeros(fit.beta.size - 2)
    exponent, low, high = fit.interval(np.array([0.0, 1.0, *rest]))
    known = np.isfinite(low)
    pivot = -fit.covariance[0, 1] / fit.covariance[1, 1] if known else 0.0
    gain, gain_low, gain_high = np.exp(fit.interval(np.array([1.0, pivot, *rest])))
    return {
        "exponent": exponent,
        "exponent_low": low,
        "exponent_high": high,
        "pivot_length": float(np.exp(center + pivot)),
        "pivot_gain": gain,
        "pivot_low": gain_low,
        "pivot_high": gain_high,
        "reason": "" if known else "interval undefined: the runs do not scatter about the line",
    }
