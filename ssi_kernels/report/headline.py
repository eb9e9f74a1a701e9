"""The main results of a sweep in words, with their intervals and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from ssi_kernels.reduce.gains import FIT_VALUES
from ssi_kernels.reduce.phase_map import TRANSITION_VALUES
from ssi_kernels.reduce.runs import OUTCOMES
from ssi_kernels.reduce.scaling import VALUES as SCALING_VALUES
from ssi_kernels.report.choose import varied
from ssi_kernels.report.labels import coordinates_plain, number, with_interval

MOST_SENTENCES = 6


def headlines(tables: Mapping[str, pd.DataFrame]) -> list[Markup]:
    """Sentences, HTML-safe: exponents, gains and transitions that are defined, then why others are not, then the counts."""
    sentences = []
    for name, tell, values in (
        ("scaling", _exponent, SCALING_VALUES),
        ("gain_fit", _gain, FIT_VALUES),
        ("transition", _transition, TRANSITION_VALUES),
    ):
        if name in tables:
            sentences += _told(tables[name], tell, values)
    if "recovery" in tables:
        sentences.append(_counts(tables["recovery"]))
    return sentences


def _told(table: pd.DataFrame, tell: Callable[[pd.Series], Markup], values: Sequence[str]) -> list[Markup]:
    """A sentence for each of the first rows, defined ones first, and how many more there are."""
    keys = varied(table, [column for column in table.columns if column not in values or column in ("student", "untied")])
    undefined = table["reason"].str.startswith("undefined")
    rows = pd.concat([table[~undefined], table[undefined]])
    sentences = [tell(row) + _where(row[keys].to_dict()) for _, row in rows.head(MOST_SENTENCES).iterrows()]
    if len(rows) > MOST_SENTENCES:
        sentences[-1] += f" And {len(rows) - MOST_SENTENCES} more, in the table below."
    return sentences


def _where(coords: Mapping[str, object]) -> Markup:
    return escape(f" [{coordinates_plain(coords)}]" if coords else "")


def _interval(row: pd.Series, name: str) -> tuple[str, str]:
    """An estimate, and its interval in brackets where there is one."""
    estimate, low, high = with_interval(*(float(row[f"{name}{end}"]) for end in ("", "_low", "_high")))
    known = np.isfinite(row[f"{name}_low"])
    return estimate, f"95 % interval {low} to {high}" if known else "no interval"


def _exponent(row: pd.Series) -> Markup:
    if np.isnan(row["slope"]):
        return escape(f"The exponent of the recovery time in d is {row['reason']}.")
    slope, interval = _interval(row, "slope")
    counts = f"{number(int(row['dimensions']))} dimensions, {number(int(row['runs']))} runs"
    left = [f"{number(int(row[word]))} {word}" for word in ("censored", "diverged", "missing", "failed") if row[word]]
    left += [f"{number(int(row['at_step_0']))} left out because they recovered at step 0"] if row["at_step_0"] else []
    told = ", ".join([counts, *left] if left else [counts, "0 censored"])
    return Markup("Recovery time grows as d<sup>{}</sup> ({}), {}.").format(slope, interval, told)


def _gain(row: pd.Series) -> Markup:
    pair = f"{row['untied']} over {row['student']}"
    if np.isnan(row["exponent"]):
        return escape(f"The exponent of the gain ({pair}) in L is {row['reason']}.")
    exponent, interval = _interval(row, "exponent")
    return Markup("The gain ({}) grows as L<sup>{}</sup> ({}) at {} learning rates, {} lengths.").format(
        pair, exponent, interval, row["protocol"], int(row["lengths"])
    )


def _transition(row: pd.Series) -> Markup:
    if np.isnan(row["omega_half"]):
        return escape(f"The ω at which half of the decided runs end semantic is {row['reason']}.")
    half = with_interval(row["omega_half"], row["omega_low"], row["omega_high"])
    sentence = f"Half of the decided runs end semantic at ω = {half[0]} (95 % interval {half[1]} to {half[2]})"
    if np.isfinite(row["width"]):
        width = with_interval(row["width"], row["width_low"], row["width_high"])
        sentence += f"; the fraction falls from 90 % to 10 % over {width[0]} ({width[1]} to {width[2]})"
    elif np.isfinite(row["width_high"]):
        sentence += f"; the fraction falls from 90 % to 10 % over less than {number(float(row['width_high']), 2)}"
    return escape(f"{sentence}, {number(int(row['decided']))} decided runs.")


def _counts(recovery: pd.DataFrame) -> Markup:
    """Outcomes at every threshold."""
    told = []
    for level, rows in recovery.groupby("threshold", sort=False):
        totals = [f"{number(int(rows[word].sum()))} {word}" for word in OUTCOMES]
        total = number(int(rows[list(OUTCOMES)].to_numpy().sum()))
        told.append(f"{number(len(rows))} points with {total} replicas at threshold {level}: {', '.join(totals)}.")
    return escape(" ".join(told))
