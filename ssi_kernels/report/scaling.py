"""Figure: recovery times against the dimension, with the fitted power laws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.reduce.predicted_scaling import LOG
from ssi_kernels.report.labels import coordinates_math, power_math, with_interval
from ssi_kernels.report.style import note, numeric_axis, panels
from ssi_kernels.report.times import draw_medians, finish_times, look, series_of, thresholds


def draw_scaling(recovery: pd.DataFrame, scaling: pd.DataFrame, axes: Sequence[str]) -> Figure:
    """Median recovery times against d with their fits, one panel a threshold, one line a series."""
    if recovery["d"].nunique() == 1:
        return _without_exponent()
    levels = thresholds(recovery)
    figure, grid = panels(len(levels), 1, 3.8 if len(levels) == 1 else 3.2, sharex=True)
    for panel, level in zip(grid, levels, strict=True):
        rows = recovery[recovery["threshold"] == level]
        fits = scaling[scaling["threshold"] == level]
        for index, (coords, line) in enumerate(series_of(rows, "d", axes)):
            fit = fits.loc[(fits[list(coords)] == pd.Series(coords)).all(axis=1)].iloc[0]
            draw_medians(panel, line, "d", index, _label(coords, fit))
            _draw_fit(panel, fit, line["d"], look(index)[0])
            _draw_prediction(panel, fit, line["d"], look(index)[0])
        numeric_axis(panel, "x", "d", recovery["d"])
        panel.label_outer()
        if len(levels) > 1:
            panel.set_title(coordinates_math({"threshold": level}))
    finish_times(figure, grid, recovery, legends_beside=len(levels) > 1)
    return figure


def _without_exponent() -> Figure:
    figure, (axes,) = panels(1, 1, 1.2)
    note(axes, "one value of d: no exponent")
    return figure


def _label(coords: dict, fit: pd.Series) -> str:
    """The series and its exponent."""
    if np.isnan(fit["slope"]):
        law = "no exponent"
    else:
        slope, low, high = with_interval(fit["slope"], fit["slope_low"], fit["slope_high"])
        known = np.isfinite(fit["slope_low"])
        law = f"$d^{{{slope}}}$" + (f" ({low} to {high})" if known else "")
    if np.isfinite(fit["predicted_slope"]):
        law = f"{law}, theory {power_math(fit['predicted_law'])}"
    return ": ".join(filter(None, [coordinates_math(coords), law]))


def _draw_fit(axes: Axes, fit: pd.Series, d: pd.Series, colour: str) -> None:
    """T(d) = pivot_time (d / pivot_d)^slope with its 95 % band: the errors of pivot and slope are independent."""
    if np.isnan(fit["slope"]):
        return
    along = np.geomspace(d.min(), d.max(), 60)
    x = np.log(along / fit["pivot_d"])
    axes.plot(along, fit["pivot_time"] * np.exp(fit["slope"] * x), color=colour, linewidth=1.2)
    if np.isfinite(fit["slope_low"]):
        middle = np.log(fit["pivot_time"]) + fit["slope"] * x
        at_pivot = np.log(fit["pivot_high"] / fit["pivot_time"])
        reach = np.hypot(at_pivot, (fit["slope_high"] - fit["slope"]) * x)
        axes.fill_between(along, np.exp(middle - reach), np.exp(middle + reach), color=colour, alpha=0.15, linewidth=0)


def _draw_prediction(axes: Axes, fit: pd.Series, d: pd.Series, colour: str) -> None:
    """The predicted law, dashed through the fitted line's pivot: theory says how T grows, not how large it is here."""
    if np.isnan(fit["predicted_slope"]) or np.isnan(fit["slope"]):
        return
    along = np.geomspace(d.min(), d.max(), 50)
    law = (along / fit["pivot_d"]) ** fit["predicted_slope"]
    if fit["predicted_law"].endswith(LOG):
        law *= np.log(along) / np.log(fit["pivot_d"])
    axes.plot(along, fit["pivot_time"] * law, "--", color=colour, linewidth=1.0)
