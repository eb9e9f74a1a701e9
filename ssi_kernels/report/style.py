"""One look for all figures: a palette that colour-blind readers can tell apart, and files that repeat to the byte."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from ssi_kernels.reduce.names import FORMATS
from ssi_kernels.report.labels import LONG, number
from ssi_kernels.store.atomic import write_bytes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
"""Okabe and Ito's palette."""
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
WIDTH = 6.4
_LOG_RATIO = 8.0
_MOST_TICKS = 8
_LEGEND_CHARACTERS = 90
_METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}}
_SETTINGS = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.labelsize": 10.5,
    "figure.labelsize": 10.5,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "font.size": 10,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
    "svg.fonttype": "path",
    "svg.hashsalt": "ssi-kernels",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


def save(draw: Callable[[], Figure], stem: Path) -> list[Path]:
    """Draws a figure in this style and writes it beside `stem` as png, svg and pdf; returns their paths."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in FORMATS]
    with matplotlib.rc_context(_SETTINGS):
        figure = draw()
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for path, suffix in zip(paths, FORMATS, strict=True):
            content = io.BytesIO()
            figure.savefig(content, format=suffix, metadata=_METADATA[suffix])
            write_bytes(path, content.getvalue())
    return paths


def panels(count: int, columns: int, height: float, **shared: bool) -> tuple[Figure, list[Axes]]:
    """A figure of this many panels of one height in inches, and its axes in reading order."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH, rows * height))
    grid = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for unused in grid[count:]:
        unused.set_axis_off()
    return figure, list(grid[:count])


def legend_above(figure: Figure, axes: Axes) -> None:
    """One legend for a figure, above its panels, from the labels of one of them; as many columns as fit."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        widest = max(len(re.sub(r"[${}^\\]", "", label)) for label in labels)
        columns = max(1, min(len(labels), _LEGEND_CHARACTERS // (widest + 6)))
        figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def log_axis(axes: Axes, direction: str, low: float, high: float) -> None:
    """A logarithmic axis; below two decades, ticks at 1, 2 and 5 times powers of ten, written as plain numbers."""
    axes.set(**{f"{direction}scale": "log"})
    if high < 100 * low:
        axis = getattr(axes, f"{direction}axis")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(float(value))))
        axis.set_minor_locator(NullLocator())


def numeric_axis(axes: Axes, direction: str, name: str, values: Sequence[float]) -> None:
    """Scale, ticks and label of an axis of the grid: logarithmic where its values span much, ticks at the values
    where few."""
    values = np.unique(np.asarray(values, dtype=float))
    axis = getattr(axes, f"{direction}axis")
    logarithmic = name not in ("omega", "a", "sie") and values[0] > 0 and values[-1] >= _LOG_RATIO * values[0]
    if logarithmic:
        log_axis(axes, direction, values[0], values[-1])
    if values.size <= _MOST_TICKS:
        axis.set_major_locator(FixedLocator(values))
        axis.set_minor_locator(NullLocator())
    if values.size <= _MOST_TICKS or not logarithmic:
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(float(value))))
    axes.set(**{f"{direction}label": LONG[name]})


def cell_edges(centers: np.ndarray) -> np.ndarray:
    """Borders of the cells around sorted centers; a single one gets a cell of its own width."""
    if centers.size == 1:
        return centers[0] + np.array([-0.5, 0.5])
    between = 0.5 * (centers[1:] + centers[:-1])
    return np.concatenate([[2 * centers[0] - between[0]], between, [2 * centers[-1] - between[-1]]])


def note(axes: Axes, text: str) -> None:
    """A sentence in the middle of an empty panel."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="0.35", wrap=True)
