"""Recovery times as points with intervals: what the figures `recovery` and `scaling` share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.report.choose import representative, varied
from ssi_kernels.report.style import MARKERS, SERIES, legend_above, log_axis, note

MOST_SERIES = 8
MOST_PANELS = 3


def thresholds(table: pd.DataFrame) -> list:
    """The thresholds that get a panel."""
    return list(table["threshold"].unique())[:MOST_PANELS]


def series_of(table: pd.DataFrame, x: str, axes: Sequence[str]) -> list[tuple[dict, pd.DataFrame]]:
    """At most 8 lines along x: (the coordinates that tell them apart, their rows)."""
    keys = varied(table, [axis for axis in axes if axis != x])
    shown = representative(table, keys, MOST_SERIES)
    if not keys:
        return [({}, shown.sort_values(x))]
    groups = shown.groupby(keys, sort=True)
    return [(dict(zip(keys, values, strict=True)), rows.sort_values(x)) for values, rows in groups]


def look(index: int) -> tuple[str, str]:
    """Colour and marker of a line."""
    return SERIES[index % len(SERIES)], MARKERS[index % len(MARKERS)]


def draw_medians(axes: Axes, rows: pd.DataFrame, x: str, index: int, label: str | None) -> None:
    """Kaplan-Meier medians with their intervals; an open triangle at the horizon where more than half are censored.

    An interval without an upper end is drawn up to the horizon. Triangles grow with the index, so that those of several
    lines at one place can be told apart.
    """
    colour, marker = look(index)
    known = rows[rows["median"] > 0]
    low = known["median"] - known["median_low"]
    high = np.minimum(known["median_high"], np.maximum(known["horizon"], known["median"])) - known["median"]
    errors = np.vstack([low.clip(lower=0).fillna(0), high.clip(lower=0).fillna(0)])
    style = {"color": colour, "linestyle": "none", "zorder": 3}
    axes.errorbar(known[x], known["median"], errors, marker=marker, capsize=2.5, elinewidth=1.2, label=label, **style)
    beyond = rows[_over_half_censored(rows)]
    axes.plot(beyond[x], beyond["horizon"], "^", markerfacecolor="none", markersize=6 + 3 * index, **style)


def finish_times(figure: Figure, grid: list[Axes], table: pd.DataFrame, legends_beside: bool = False) -> None:
    """A logarithmic time axis and a legend; or a word on why there is nothing to see."""
    beyond, known = table[_over_half_censored(table)], table[table["median"] > 0]
    seen = np.concatenate([known["median"], known["median_low"].dropna(), beyond["horizon"]])
    for axes in grid:
        if seen.size:
            low, high = 0.6 * seen.min(), 2.0 * seen.max()
            log_axis(axes, "y", low, high)
            axes.set_ylim(low, high)
        else:
            note(axes, "no run recovered after step 0")
        if len(beyond):
            axes.plot([], [], "^", color="0.4", markerfacecolor="none", label="more than half censored")
        if legends_beside:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.supylabel("steps to weak recovery")
    if not legends_beside:
        legend_above(figure, grid[0])


def _over_half_censored(table: pd.DataFrame) -> pd.Series:
    return table["median"].isna() & (table["censored"] > 0)
