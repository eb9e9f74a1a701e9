"""Figure: the phase diagram of the positional-semantic target (Arnaboldi et al. 2025, figure 4)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from ssi_kernels.reduce.phase_theory import flag_names, mixed_minima
from ssi_kernels.report.boundaries import draw_boundary_curves
from ssi_kernels.report.labels import LONG
from ssi_kernels.report.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    cell_edges,
    legend_above,
    panels,
)

COLOURS = {
    "unique-semantic": BLUE,
    "unique-semantic-misaligned": YELLOW,
    "global-semantic": SKY,
    "global-semantic-positional-dynamics": GREEN,
    "global-positional": ORANGE,
    "unique-positional": VERMILION,
    "unique-positional-misaligned": PURPLE,
    "global-positional-semantic-dynamics": "#999999",
}


def draw_phase_diagram(diagram: xr.Dataset, boundaries: pd.DataFrame) -> Figure:
    """Regimes as colours over (omega, a), boundaries as curves, and a dot where some minimum is mixed."""
    figure, (axes,) = panels(1, 1, 5.0)
    _draw_regimes(axes, diagram)
    draw_boundary_curves(axes, boundaries)
    _draw_mixed(axes, diagram)
    omegas, strengths = (cell_edges(diagram[name].to_numpy()) for name in ("omega", "a"))
    axes.set(xlabel=LONG["omega"], ylabel=LONG["a"], xlim=omegas[[0, -1]], ylim=strengths[[0, -1]])
    axes.grid(False)
    legend_above(figure, axes)
    return figure


def _draw_regimes(axes: Axes, diagram: xr.Dataset) -> None:
    """One colour a regime; only those that occur are in the legend."""
    names = flag_names(diagram["regime"])
    codes = diagram["regime"].transpose("a", "omega").to_numpy()
    found = [code for code in names if (codes == code).any()]
    places = np.full(codes.shape, -1)
    for place, code in enumerate(found):
        places[codes == code] = place
    colours = ListedColormap([COLOURS[names[code]] for code in found])
    norm = BoundaryNorm(np.arange(len(found) + 1) - 0.5, len(found)) if len(found) > 1 else None
    omegas, strengths = (cell_edges(diagram[name].to_numpy()) for name in ("omega", "a"))
    shown = np.ma.masked_less(places, 0)
    axes.pcolormesh(omegas, strengths, shown, cmap=colours, norm=norm, alpha=0.75, rasterized=True)
    for code in found:
        style = {"color": COLOURS[names[code]], "alpha": 0.75, "markersize": 9, "linestyle": "none"}
        axes.plot([], [], "s", label=names[code].replace("-", " "), **style)


def _draw_mixed(axes: Axes, diagram: xr.Dataset) -> None:
    rows, columns = np.nonzero(mixed_minima(diagram))
    if rows.size:
        where = diagram["omega"].to_numpy()[columns], diagram["a"].to_numpy()[rows]
        axes.plot(*where, ".", color="black", markersize=1.5, rasterized=True, label="mixed minimum")
