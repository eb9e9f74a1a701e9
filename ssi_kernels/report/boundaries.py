"""The theoretical boundaries of the phase diagram, drawn over what was computed or measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

STYLES = {
    "dynamics": ("first direction turns positional", "-"),
    "global": ("global minimum turns positional", "--"),
    "positional_appears": ("positional minimum appears", ":"),
    "semantic_disappears": ("semantic minimum disappears", "-."),
}


def draw_boundary_curves(axes: Axes, boundaries: pd.DataFrame, label: str = "", outlined: bool = False) -> None:
    """Every boundary that exists as a curve over (omega, a); `outlined` in white, for dark grounds."""
    halo = [withStroke(linewidth=3.0, foreground="white")] if outlined else []
    table = boundaries.sort_values("a")
    for name, (words, style) in STYLES.items():
        known = table[np.isfinite(table[name])]
        if len(known):
            look = {"color": "black", "linewidth": 1.6, "marker": "|" if len(known) == 1 else None}
            axes.plot(known[name], known["a"], style, label=f"{label}{words}", path_effects=halo, **look)


def draw_boundary_lines(axes: Axes, row: pd.Series, label: str = "") -> None:
    """Every boundary that exists along one a as a vertical line over omega."""
    for name, (words, style) in STYLES.items():
        if np.isfinite(row[name]):
            axes.axvline(row[name], linestyle=style, color="black", linewidth=1.1, zorder=1, label=f"{label}{words}")
