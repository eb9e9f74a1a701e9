"""Figure: where runs end, against the weight of the positional part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from scipy.special import expit

from ssi_kernels.reduce.binomial import fraction
from ssi_kernels.report.boundaries import draw_boundary_curves, draw_boundary_lines
from ssi_kernels.report.choose import at, representative, varied
from ssi_kernels.report.labels import LONG, coordinates_math, with_interval
from ssi_kernels.report.style import cell_edges, legend_above, note, panels
from ssi_kernels.report.times import look

MOST_LINES = 6
MOST_PANELS = 4
_LEGEND_HEIGHT = 0.8
"""In inches, of the names of the theoretical boundaries."""


def draw_phase(phase: pd.DataFrame, transition: pd.DataFrame, boundaries: pd.DataFrame, axes: Sequence[str]) -> Figure:
    """The fraction of decided runs that end semantic: lines over omega, or a map over (omega, a) where a is swept; over
    it the theoretical boundaries (`theory_boundary_table`)."""
    phase = phase.assign(decided=phase[["semantic", "positional", "elsewhere"]].sum(axis=1))
    is_map = phase["a"].nunique() > 1 and phase["omega"].nunique() > 1
    inside = ("omega", "a") if is_map else ("omega", "a", "d")
    keys = varied(phase, [axis for axis in axes if axis not in inside])
    shown = representative(phase, keys, MOST_PANELS)
    parts = [({}, shown)] if not keys else _split(shown, keys)
    height = (3.4 if len(parts) == 1 else 2.9) + (_LEGEND_HEIGHT if len(boundaries) else 0.0)
    figure, grid = panels(len(parts), 2, height, sharex=True, sharey=True)
    for panel, (coords, rows) in zip(grid, parts, strict=True):
        here = _matching(transition, coords)
        theory = _matching(boundaries, {name: value for name, value in coords.items() if name in boundaries})
        mesh = _draw_map(panel, rows, here, theory) if is_map else _draw_lines(panel, rows, here, theory)
        if coords:
            panel.set_title(coordinates_math(coords))
    figure.supxlabel(LONG["omega"])
    if is_map:
        figure.supylabel(LONG["a"])
        figure.colorbar(mesh, ax=grid, label="fraction that ends semantic")
    else:
        figure.supylabel("fraction that ends semantic")
    legend_above(figure, grid[0])
    return figure


def _split(table: pd.DataFrame, keys: list[str]) -> list[tuple[dict, pd.DataFrame]]:
    return [(dict(zip(keys, values, strict=True)), rows) for values, rows in table.groupby(keys, sort=True)]


def _matching(table: pd.DataFrame, coords: dict) -> pd.DataFrame:
    return table[(table[list(coords)] == pd.Series(coords)).all(axis=1)] if coords else table


def _draw_lines(axes: Axes, phase: pd.DataFrame, transition: pd.DataFrame, boundaries: pd.DataFrame) -> None:
    """Fractions with Wilson intervals, the fitted curve, and the half-crossing with its interval as a band."""
    if phase["a"].nunique() == 1:
        for _, row in at(boundaries, {"a": phase["a"].iloc[0]}).head(1).iterrows():
            draw_boundary_lines(axes, row, _theory(row))
    keys = varied(phase, ["d", "a"])
    shown = representative(phase, keys, MOST_LINES)
    for index, (coords, rows) in enumerate(_split(shown, keys) if keys else [({}, shown)]):
        colour, marker = look(index)
        decided = rows[rows["decided"] > 0].sort_values("omega")
        found = [fraction(int(k), int(n)) for k, n in zip(decided["semantic"], decided["decided"], strict=True)]
        middle, low, high = np.array(found).reshape(-1, 3).T
        row = _matching(transition, coords).iloc[0]
        label = ": ".join(filter(None, [coordinates_math(coords), _half(row)]))
        style = {"color": colour, "marker": marker, "markersize": 4, "linestyle": "none", "elinewidth": 1.0}
        axes.errorbar(decided["omega"], middle, np.vstack([middle - low, high - middle]), label=label, **style)
        _draw_crossing(axes, row, decided["omega"], colour)
    if not phase["decided"].any():
        note(axes, "no decided runs")
    axes.set_ylim(-0.03, 1.03)


def _theory(row: pd.Series) -> str:
    """What a line of theory is called: with its loss, because the boundaries depend on it."""
    return f"theory, {row['loss']} loss: "


def _half(row: pd.Series) -> str:
    if np.isnan(row["omega_half"]):
        return "no crossing"
    middle, low, high = with_interval(row["omega_half"], row["omega_low"], row["omega_high"])
    return rf"half at $\omega$ = {middle} ({low} to {high})"


def _draw_crossing(axes: Axes, row: pd.Series, omegas: pd.Series, colour: str) -> None:
    if np.isnan(row["omega_half"]):
        return
    band = np.clip([row["omega_low"], row["omega_high"]], omegas.min(), omegas.max())
    axes.axvspan(*band, color=colour, alpha=0.18, linewidth=0)
    if np.isfinite(row["width"]):
        along = np.linspace(omegas.min(), omegas.max(), 300)
        odds = (row["omega_half"] - along) * 2.0 * np.log(9.0) / row["width"]
        axes.plot(along, expit(odds), color=colour, linewidth=1.1)


def _draw_map(axes: Axes, phase: pd.DataFrame, transition: pd.DataFrame, boundaries: pd.DataFrame) -> QuadMesh:
    """The fraction as colours, the half-crossing of every a with its interval, and the theoretical boundaries."""
    counts = phase.pivot_table(index="a", columns="omega", values=["semantic", "decided"], aggfunc="sum")
    with np.errstate(invalid="ignore"):
        values = counts["semantic"].to_numpy() / counts["decided"].to_numpy()
    omegas, strengths = counts["semantic"].columns.to_numpy(), counts["semantic"].index.to_numpy()
    mesh = axes.pcolormesh(
        cell_edges(omegas), cell_edges(strengths), values, cmap="cividis", vmin=0, vmax=1, rasterized=True
    )
    known = transition[transition["omega_half"].notna()]
    errors = [known["omega_half"] - known["omega_low"], known["omega_high"] - known["omega_half"]]
    style = {"color": "white", "markeredgecolor": "black", "ecolor": "white", "elinewidth": 1.2, "linestyle": "none"}
    axes.errorbar(
        known["omega_half"], known["a"], xerr=errors, marker="o", markersize=4, label="half semantic", **style
    )
    if len(boundaries):
        draw_boundary_curves(axes, boundaries, _theory(boundaries.iloc[0]), outlined=True)
    axes.set(xlim=cell_edges(omegas)[[0, -1]], ylim=cell_edges(strengths)[[0, -1]], facecolor="0.8")
    axes.grid(False)
    return mesh
