"""The gain by the gradient flow, at the learning rates of a sweep."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ssi_kernels.errors import ConfigError
from ssi_kernels.reduce.prediction import SweepModels, attempted, refuse_sampled, threshold_value
from ssi_kernels.reduce.subset import spread_out

VALUES = ("predicted_gain", "prediction")
FIT_VALUES = ("predicted_exponent",)
MOST_GAINS = 8
"""Each takes some seconds, most of them for compiling."""


def with_predicted_gains(gain: pd.DataFrame, models: SweepModels) -> pd.DataFrame:
    """`gain_table` with `predicted_gain` before the reason, and in `prediction` why there is none.

    Typical times exp(E log T) of the flow, as those of the table, from the starts of the sweep. At most 8 rows, spread
    evenly.
    """
    chosen = set(spread_out(range(len(gain)), MOST_GAINS))
    rows = []
    for place, (_, row) in enumerate(gain.iterrows()):
        if place in chosen:
            found, reason = attempted(lambda r=row: _predicted(models, r.to_dict()))
            rows.append((np.nan if found is None else found, reason))
        else:
            rows.append((np.nan, f"not computed: only {MOST_GAINS} rows are"))
    return _inserted(gain, dict(zip(VALUES, zip(*rows, strict=True) if rows else ((), ()), strict=True)))


def with_predicted_exponents(fits: pd.DataFrame, gain: pd.DataFrame) -> pd.DataFrame:
    """`gain_fit_table` with the slope of log(predicted gain) over log(L); empty where fewer than two are predicted."""
    keys = [column for column in fits.columns if column in gain.columns and column not in ("reason", *VALUES)]
    groups = {key: rows for key, rows in gain.groupby(keys, sort=False)}
    slopes = [_slope(groups.get(tuple(row), None)) for row in fits[keys].itertuples(index=False)]
    return _inserted(fits, {"predicted_exponent": slopes})


def _predicted(models: SweepModels, row: Mapping) -> float:
    from ssi_kernels.theory.gain import predicted_gain

    coords = {axis: row[axis] for axis in models.axes if axis != "student"}
    student, untied = (models.at({**coords, "student": row[side]}) for side in ("student", "untied"))
    for point in (student, untied):
        refuse_sampled(point.model, point.length)
    found = predicted_gain(
        student.model,
        untied.model,
        d=student.d,
        length=student.length,
        tied_rate=student.learning_rate,
        untied_rate=untied.learning_rate,
        start=student.start,
        threshold=threshold_value(student, row["threshold"]),
    )
    if found.gain is None:
        raise ConfigError("student", [row["student"], row["untied"]], "the flow of one of them does not recover")
    return found.gain


def _slope(rows: pd.DataFrame | None) -> float:
    known = None if rows is None else rows[rows["predicted_gain"] > 0]
    if known is None or known["length"].nunique() < 2:
        return np.nan
    return float(np.polyfit(np.log(known["length"].astype(float)), np.log(known["predicted_gain"]), 1)[0])


def _inserted(table: pd.DataFrame, columns: Mapping[str, object]) -> pd.DataFrame:
    """The table with columns put before `reason`, which stays the last."""
    rest = table.drop(columns="reason").assign(**{name: list(values) for name, values in columns.items()})
    return rest.assign(reason=table["reason"])
