"""The main results of a sweep in words, with their intervals and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from ssi_kernels.reduce.gains import FIT_VALUES
from ssi_kernels.reduce.phase_map import TRANSITION_VALUES
from ssi_kernels.reduce.predicted_gains import FIT_VALUES as PREDICTED_EXPONENTS
from ssi_kernels.reduce.predicted_scaling import VALUES as PREDICTED_SLOPES
from ssi_kernels.reduce.runs import OUTCOMES
from ssi_kernels.reduce.scaling import VALUES as SCALING_VALUES
from ssi_kernels.report.boundaries import STYLES
from ssi_kernels.report.choose import varied
from ssi_kernels.report.labels import coordinates_plain, number, power_html, with_interval

MOST_SENTENCES = 6


def headlines(tables: Mapping[str, pd.DataFrame]) -> list[Markup]:
    """Sentences, HTML-safe: what is defined of transitions, gains and exponents, then what is not and why, then the
    counts."""
    defined, undefined = [], []
    for name, told in _TOLD.items():
        if name in tables:
            table = tables[name]
            known = table[told.estimate].notna()
            defined += told.about(table[known])
            undefined += told.why_not(table[~known])
    defined += _boundaries(tables)
    counts = [_counts(tables["recovery"])] if "recovery" in tables else []
    return [*defined, *undefined, *counts]


@dataclass(frozen=True)
class _Told:
    """How to tell of one table: its estimate in words, the columns that do not name a series, and a sentence for a
    row."""

    estimate: str
    words: str
    values: Sequence[str]
    sentence: Callable[[pd.Series], Markup]

    def about(self, table: pd.DataFrame) -> list[Markup]:
        """A sentence for each row, or one for all where they are many."""
        if len(table) > MOST_SENTENCES:
            low, high = number(float(table[self.estimate].min()), 3), number(float(table[self.estimate].max()), 3)
            return [escape(f"{self.words} lies between {low} and {high} in {len(table)} series (table below).")]
        keys = varied(table, [column for column in table.columns if column not in self.values])
        return [_where(row[keys].to_dict()) + self.sentence(row) for _, row in table.iterrows()]

    def why_not(self, table: pd.DataFrame) -> list[Markup]:
        """A sentence for each reason."""
        reasons = table["reason"].value_counts(sort=False)
        many = "" if len(reasons) == 1 and len(table) == 1 else " in {} series"
        return [escape(f"{self.words} is {reason}{many.format(count)}.") for reason, count in reasons.items()]


def _where(coords: Mapping[str, object]) -> Markup:
    return Markup("<b>{}</b>: ").format(coordinates_plain(coords)) if coords else Markup()


def _interval(row: pd.Series, name: str) -> tuple[str, str]:
    """An estimate, and its interval in brackets where there is one."""
    estimate, low, high = with_interval(*(float(row[f"{name}{end}"]) for end in ("", "_low", "_high")))
    known = np.isfinite(row[f"{name}_low"])
    return estimate, f"95 % interval {low} to {high}" if known else "no interval"


def _exponent(row: pd.Series) -> Markup:
    slope, interval = _interval(row, "slope")
    counts = f"{number(int(row['dimensions']))} dimensions with recovered runs, {_many(int(row['runs']), 'run')}"
    left = [f"{number(int(row[word]))} {word}" for word in ("censored", "diverged", "missing", "failed") if row[word]]
    left += [f"{number(int(row['at_step_0']))} left out because they recovered at step 0"] if row["at_step_0"] else []
    told = ", ".join([counts, *left] if left else [counts, "0 censored"])
    sentence = Markup("Recovery time grows as d<sup>{}</sup> ({}), {}.").format(slope, interval, told)
    return sentence + _predicted_law(row)


def _predicted_law(row: pd.Series) -> Markup:
    """What theory says of the same series."""
    if not np.isfinite(row.get("predicted_slope", np.nan)) or not isinstance(row["predicted_law"], str):
        return Markup()
    return Markup(" Theory: {}.").format(power_html(row["predicted_law"]))


def _gain(row: pd.Series) -> Markup:
    pair = f"{row['untied']} over {row['student']}"
    exponent, interval = _interval(row, "exponent")
    return Markup("The gain ({}) grows as L<sup>{}</sup> ({}) at {} learning rates, {} lengths.").format(
        pair, exponent, interval, row["protocol"], int(row["lengths"])
    ) + _predicted_exponent(row)


def _predicted_exponent(row: pd.Series) -> Markup:
    """What theory says of the same pair."""
    if not np.isfinite(row.get("predicted_exponent", np.nan)):
        return Markup()
    return Markup(" Theory at the same rates: L<sup>{}</sup>.").format(number(float(row["predicted_exponent"]), 3))


def _transition(row: pd.Series) -> Markup:
    half = with_interval(row["omega_half"], row["omega_low"], row["omega_high"])
    sentence = f"Half of the decided runs end semantic at ω = {half[0]} (95 % interval {half[1]} to {half[2]})"
    if np.isfinite(row["width"]):
        width = with_interval(row["width"], row["width_low"], row["width_high"])
        sentence += f"; the fraction goes between 90 % and 10 % over {width[0]} ({width[1]} to {width[2]})"
    elif np.isfinite(row["width_high"]):
        sentence += f"; the fraction goes between 90 % and 10 % over less than {number(float(row['width_high']), 2)}"
    return escape(f"{sentence}, {number(int(row['decided']))} decided runs.")


def _boundaries(tables: Mapping[str, pd.DataFrame]) -> list[Markup]:
    """The theoretical boundaries at the values of a that were measured, at most at both ends."""
    if "theory_boundaries" not in tables:
        return []
    table = tables["theory_boundaries"].drop_duplicates("a")
    table = table[table["a"].isin([table["a"].min(), table["a"].max()])]
    return [sentence for _, row in table.iterrows() for sentence in _boundary(row)]


def _boundary(row: pd.Series) -> list[Markup]:
    words = [f"{words} at ω = {number(row[name])}" for name, (words, _) in STYLES.items() if np.isfinite(row[name])]
    if not words:
        return []
    where = coordinates_plain({"a": row["a"]})
    return [escape(f"Theory, {row['loss']} loss, {where}: {'; '.join(words)}.")]


def _counts(recovery: pd.DataFrame) -> Markup:
    """Outcomes at every threshold."""
    told = []
    for level, rows in recovery.groupby("threshold", sort=False):
        totals = [f"{number(int(rows[word].sum()))} {word}" for word in OUTCOMES]
        total = int(rows[list(OUTCOMES)].to_numpy().sum())
        told.append(f"{_many(len(rows), 'point')}, {_many(total, 'replica')}, threshold {level}: {', '.join(totals)}.")
    return escape(" ".join(told))


def _many(count: int, word: str) -> str:
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"


_TOLD = {
    "transition": _Told(
        "omega_half", "The ω at which half of the decided runs end semantic", TRANSITION_VALUES, _transition
    ),
    "gain_fit": _Told("exponent", "The exponent of the gain in L", (*FIT_VALUES, *PREDICTED_EXPONENTS), _gain),
    "scaling": _Told(
        "slope", "The exponent of the recovery time in d", (*SCALING_VALUES, *PREDICTED_SLOPES), _exponent
    ),
}
