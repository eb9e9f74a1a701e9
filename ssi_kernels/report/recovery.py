"""Figure: recovery times against the main axis of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.report.choose import main_axis
from ssi_kernels.report.labels import coordinates_math
from ssi_kernels.report.style import numeric_axis, panels
from ssi_kernels.report.times import draw_medians, finish_times, look, series_of, thresholds


def draw_recovery(table: pd.DataFrame, axes: Sequence[str]) -> Figure:
    """Median recovery times against the axis with the most values, one panel a threshold, one line a series."""
    x, levels = main_axis(table, axes), thresholds(table)
    figure, grid = panels(len(levels), 2, 3.6 if len(levels) == 1 else 3.0, sharey=True)
    for panel, level in zip(grid, levels, strict=True):
        rows = table[table["threshold"] == level]
        for index, (coords, line) in enumerate(series_of(rows, x, axes)):
            _draw_line(panel, line, x, index, coordinates_math(coords) or None)
        numeric_axis(panel, "x", x, table[x])
        if len(levels) > 1:
            panel.set_title(coordinates_math({"threshold": level}))
    finish_times(figure, grid, table)
    return figure


def _draw_line(axes: Axes, rows: pd.DataFrame, x: str, index: int, label: str | None) -> None:
    known = rows[rows["median"] > 0]
    axes.plot(known[x], known["median"], color=look(index)[0], linewidth=0.9, alpha=0.5)
    draw_medians(axes, rows, x, index, label)
