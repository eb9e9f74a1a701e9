"""Where runs end, and where along omega half of them end semantic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ssi_kernels.reduce.binomial import crossing, fraction
from ssi_kernels.reduce.counts import grouped, series

KINDS = ("semantic", "positional", "elsewhere", "undecided")
_DECIDED = KINDS[:3]
VALUES = (
    "runs",
    *KINDS,
    "diverged",
    "missing",
    "failed",
    *(f"{kind}_{part}" for kind in KINDS for part in ("fraction", "low", "high")),
)
TRANSITION_VALUES = (
    "omegas",
    "fitted",
    "decided",
    "undecided",
    "diverged",
    "missing",
    "failed",
    "omega_half",
    "omega_low",
    "omega_high",
    "width",
    "width_low",
    "width_high",
    "dispersion",
    "reason",
)


def phase_table(ends: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Counts and fractions of the ends of every point, with 95 % intervals by Wilson's score.

    The fractions are of `runs`: the complete runs that did not diverge, undecided ones included.

    Args:
        ends: from `end_runs`.
        axes: the grid axes, among them `omega`.
    """
    groups = grouped(ends, axes)
    counts = groups.counts(ends["end"])
    counts["runs"] = counts[list(KINDS)].sum(axis=1)
    fractions = pd.DataFrame([_fractions(row) for row in counts.to_dict("records")])
    return pd.concat([groups.values, counts, fractions], axis=1).reindex(columns=[*axes, *VALUES])


def transition_table(phase: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Where half of the decided runs end semantic, for every series: one value of all axes but omega.

    Decided runs end semantic, positional or elsewhere. `omega_half` is where a logistic curve in omega crosses one
    half and `width` the distance over which it goes from 90 % to 10 % (`binomial.crossing`), each with its 95 %
    interval, which is widened by `dispersion` where the curve does not fit. Of the `omegas` that have decided runs,
    `fitted` lie around the crossing and enter. NaN with a `reason` where they are undefined.

    Args:
        phase: from `phase_table`.
        axes: the grid axes, among them `omega`.
    """
    keys = [axis for axis in axes if axis != "omega"]
    rows = [values | _transition(group) for values, group in series(phase, keys)]
    return pd.DataFrame(rows, columns=[*keys, *TRANSITION_VALUES])


def _fractions(counts: dict) -> dict:
    """The fraction of every kind of end, with its interval."""
    row = {}
    for kind in KINDS:
        found = fraction(counts[kind], counts["runs"])
        row |= dict(zip((f"{kind}_fraction", f"{kind}_low", f"{kind}_high"), found, strict=True))
    return row


def _transition(points: pd.DataFrame) -> dict:
    decided = points[list(_DECIDED)].sum(axis=1).to_numpy()
    found = crossing(points["omega"].to_numpy(), points["semantic"].to_numpy(), decided)
    return {
        "omegas": int(np.count_nonzero(decided)),
        "decided": int(decided.sum()),
        "fitted": found.fitted,
        **{word: int(points[word].sum()) for word in ("undecided", "diverged", "missing", "failed")},
        **dict(zip(("omega_half", "omega_low", "omega_high"), found.half, strict=True)),
        **dict(zip(("width", "width_low", "width_high"), found.width, strict=True)),
        "dispersion": found.dispersion,
        "reason": found.reason,
    }
