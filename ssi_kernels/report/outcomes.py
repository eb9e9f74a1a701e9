"""Figure: what became of the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.reduce.runs import OUTCOMES
from ssi_kernels.reduce.subset import spread_out
from ssi_kernels.report.choose import main_axis
from ssi_kernels.report.labels import LONG, coordinates_math, number
from ssi_kernels.report.style import BLACK, GREEN, ORANGE, VERMILION, legend_above, panels
from ssi_kernels.report.times import thresholds

_COLOURS = dict(zip(OUTCOMES, (GREEN, ORANGE, VERMILION, "0.8", BLACK), strict=True))


def draw_outcomes(table: pd.DataFrame, axes: Sequence[str]) -> Figure:
    """Shares of the outcomes along the axis with the most values, summed over the others, one panel a threshold."""
    x, levels = main_axis(table, axes), thresholds(table)
    figure, grid = panels(len(levels), 1, 2.4 if len(levels) == 1 else 1.9, sharex=True)
    for panel, level in zip(grid, levels, strict=True):
        _draw_bars(panel, table[table["threshold"] == level], x)
        if len(levels) > 1:
            panel.set_title(coordinates_math({"threshold": level}))
    grid[-1].set_xlabel(LONG[x])
    figure.supylabel("share of replicas")
    legend_above(figure, grid[0])
    return figure


def _draw_bars(axes: Axes, rows: pd.DataFrame, x: str) -> None:
    counts = rows.groupby(x)[list(OUTCOMES)].sum()
    shares = counts.div(counts.sum(axis=1), axis=0)
    places, bottom = np.arange(len(shares)), np.zeros(len(shares))
    for outcome in OUTCOMES:
        height = shares[outcome].to_numpy()
        if outcome in ("recovered", "censored", "diverged") or height.any():
            axes.bar(places, height, 0.85, bottom, color=_COLOURS[outcome], label=outcome)
        bottom += height
    ticks = spread_out(list(places), 10)
    axes.set_xticks(ticks, [number(float(shares.index[place])) for place in ticks])
    axes.set(ylim=(0, 1), xlim=(-0.6, len(shares) - 0.4) if len(shares) > 2 else (-2, len(shares) + 1))
    axes.grid(axis="x", visible=False)
