"""Figure: overlaps against time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.reduce.bands import trajectory_bands
from ssi_kernels.reduce.runs import status_of
from ssi_kernels.reduce.subset import panel_places
from ssi_kernels.report.choose import at
from ssi_kernels.report.labels import coordinates_math
from ssi_kernels.report.style import BLUE, VERMILION, legend_above, note, panels

_OVERLAPS = (("m", BLUE, "semantic $|m|$"), ("e", VERMILION, "positional $|e|$"))


def draw_trajectories(recovery: xr.Dataset, trajectories: xr.Dataset, flow: pd.DataFrame) -> Figure:
    """Median and 10 to 90 % band of |m| and |e| over replicas against the step, for at most 12 points of the grid, and
    dashed the gradient flow, from `flow_table`."""
    selection = panel_places(recovery)
    bands = _selected_bands(recovery, trajectories, selection)
    titles = [name for name, values in selection.items() if recovery.sizes[name] > 1]
    points = list(_points(bands, selection))
    figure, grid = panels(len(points), 3, 1.9 if len(points) > 3 else 2.6, sharex=True, sharey=True)
    for axes, point in zip(grid, points, strict=True):
        _draw_point(axes, point)
        _draw_flow(axes, at(flow, {name: point[name].item() for name in selection}))
        axes.set_title(coordinates_math({name: point[name].item() for name in titles}))
    grid[0].set(xscale="log", ylim=(0, 1.02))
    if flow["m"].notna().any():
        grid[0].plot([], [], "--", color="0.25", label="gradient flow")
    figure.supxlabel("SGD step (one fresh sample each)")
    figure.supylabel("overlap")
    legend_above(figure, grid[0])
    return figure


def _selected_bands(recovery: xr.Dataset, trajectories: xr.Dataset, selection: dict[str, list]) -> xr.Dataset:
    recovery, trajectories = recovery.isel(selection), trajectories.isel(selection)
    return trajectory_bands(trajectories, recovery, status_of(recovery, trajectories)).compute()


def _points(bands: xr.Dataset, selection: dict[str, list]):
    for place in pd.MultiIndex.from_product([range(len(values)) for values in selection.values()]):
        yield bands.isel(dict(zip(selection, place, strict=True)))


def _draw_point(axes: Axes, point: xr.Dataset) -> None:
    """One panel; step 0 has no place on a logarithmic axis."""
    later = point.sel(step=point["step"] > 0)
    for name, colour, label in _OVERLAPS:
        if name not in later or bool(later[name].isnull().all()):
            continue
        low, middle, high = (later[name].sel(quantile=q) for q in (0.1, 0.5, 0.9))
        axes.fill_between(later["step"], low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(later["step"], middle, color=colour, label=label)
    if not np.isfinite(later["m"]).any():
        note(axes, "no run to show")


def _draw_flow(axes: Axes, flow: pd.DataFrame) -> None:
    """What theory says for large d, from the typical start."""
    later = flow[flow["step"] > 0]
    for name, colour, _ in _OVERLAPS:
        if later[name].notna().any():
            axes.plot(later["step"], later[name], "--", color=colour, linewidth=1.2)
