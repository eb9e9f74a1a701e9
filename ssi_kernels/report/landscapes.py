"""Figure: population risk over the overlaps (Arnaboldi et al. 2025, figures 1, 2 and 6)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ssi_kernels.reduce.subset import shares, spread_out
from ssi_kernels.report.labels import coordinates_math, number
from ssi_kernels.report.style import BLUE, VERMILION, panels

MOST_PANELS = 12
_MOST_COLUMNS = 3
_LEVELS = 25
_REACH = 0.55
"""Length of the arrow along the escape direction."""


def draw_landscapes(dataset: xr.Dataset) -> Figure:
    """R(e, m) - R(0) as contours on the unit disc, or R(m) as a curve, with what is known at 0, one panel a model."""
    places = _places(dataset)
    models = [dataset.isel(dict(zip(places, place, strict=True))) for place in itertools.product(*places.values())]
    figure, grid = panels(len(models), _columns([len(values) for values in places.values()]), 3.1)
    titles = [name for name in places if dataset.sizes[name] > 1]
    for axes, model in zip(grid, models, strict=True):
        (_draw_disc if int(model["rank"]) else _draw_curve)(axes, model)
        axes.set(box_aspect=1, xticks=[-1, 0, 1])
        axes.set_title("\n".join(coordinates_math({name: model[name].item()}) for name in titles))
        axes.set_xlabel(f"semantic $m$\n{_told(model)}", fontsize=8.5)
    return figure


def _places(dataset: xr.Dataset) -> dict[str, list[int]]:
    """Which places of each axis are drawn: at most 12 models, spread evenly over every axis."""
    sizes = {axis: dataset.sizes[axis] for axis in dataset["flatness"].dims}
    taken = shares(sizes, MOST_PANELS)
    return {axis: spread_out(range(size), taken[axis]) for axis, size in sizes.items()}


def _columns(sizes: list[int]) -> int:
    """A row for the values of the last axis that varies, where they fit; else as square as it can be."""
    last = next((size for size in reversed(sizes) if size > 1), 1)
    return last if last <= _MOST_COLUMNS else min(_MOST_COLUMNS, math.ceil(math.sqrt(math.prod(sizes))))


def _draw_disc(axes: Axes, model: xr.Dataset) -> None:
    """Contours of R - R(0), red above and blue below, m along x; and the direction in which R goes down first."""
    risk = model["risk"].transpose("e", "m").to_numpy() - float(model["risk_at_0"])
    bound = float(np.nanmax(np.abs(risk))) or 1.0
    levels = np.linspace(-bound, bound, _LEVELS)
    m, e = model["m"].to_numpy(), model["e"].to_numpy()
    axes.contourf(m, e, risk, levels, cmap="RdBu_r", vmin=-bound, vmax=bound)
    axes.contour(m, e, risk, levels, colors="black", linewidths=0.3, linestyles="solid")
    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.3", linewidth=0.8))
    _draw_arrow(axes, model)
    axes.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), ylabel="positional $e$", yticks=[-1, 0, 1])
    axes.grid(False)


def _draw_arrow(axes: Axes, model: xr.Dataset) -> None:
    """Both ways where the order is even: then R is the same both ways to that order."""
    if not np.isfinite(model["escape_order"]):
        return
    tip = _REACH * np.array([float(model["direction_m"]), float(model["direction_e"])])
    signs = (1,) if int(model["escape_order"]) % 2 else (1, -1)
    for sign in signs:
        axes.annotate("", sign * tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1.6})


def _draw_curve(axes: Axes, model: xr.Dataset) -> None:
    """R(m) of a model without a positional overlap."""
    line = model["risk"].sel(e=0.0) if "e" in model["risk"].dims else model["risk"]
    axes.plot(model["m"], line, color=BLUE)
    axes.axhline(float(model["risk_at_0"]), color="0.5", linewidth=0.8, linestyle="--")
    axes.plot(0, float(model["risk_at_0"]), "o", color=VERMILION)
    axes.set_ylabel("risk $R$")


def _told(model: xr.Dataset) -> str:
    """Orders and curvatures at 0."""
    facts = {name: float(model[name]) for name in ("information_exponent", "flatness", "escape_order")}
    first, flat, order = (number(value) for value in facts.values())
    lines = [f"SIE {first}, flatness {flat}, " + (f"down at order {order}" if order != "–" else "never down")]
    entries = [("mm", "hessian_mm"), ("ee", "hessian_ee"), ("em", "hessian_em")]
    known = [(index, _small(float(model[name]))) for index, name in entries if np.isfinite(model[name])]
    lines.append(", ".join(f"$R_{{{index}}}$ = {number(value, 3)}" for index, value in known))
    slopes = [(index, _small(float(model[f"gradient_{index}"]))) for index in ("m", "e")]
    steep = [f"$R_{{{index}}}$ = {number(value, 3)}" for index, value in slopes if np.isfinite(value) and value]
    return "\n".join([*lines, ", ".join(steep)] if steep else lines)


def _small(value: float) -> float:
    """0 for what is rounding."""
    return 0.0 if abs(value) < 1e-9 else value
