"""The gradient flow beside the trajectories that are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from ssi_kernels.errors import ConfigError
from ssi_kernels.reduce.prediction import SweepModels, attempted, refuse_sampled
from ssi_kernels.reduce.runs import axes_of
from ssi_kernels.reduce.subset import panel_coordinates

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

VALUES = ("step", "m", "e", "start_m", "start_e", "reason")


def flow_table(recovery: xr.Dataset, models: SweepModels) -> pd.DataFrame:
    """|m| and |e| along the gradient flow, one row a step, for the points of `panel_places`.

    From the start of the sweep, or the typical one where that is random or a fixed point (`start_m`, `start_e`); up to
    the horizon. A point without a prediction has one row, with the reason. `e` is empty without an encoding.
    """
    parts = [_part(coords, models) for coords in panel_coordinates(recovery)]
    return pd.concat(parts, ignore_index=True)[[*axes_of(recovery), *VALUES]]


def _part(coords: dict, models: SweepModels) -> pd.DataFrame:
    found, reason = attempted(lambda: _flow(models.at(coords)))
    if found is None:
        found = pd.DataFrame([dict.fromkeys(VALUES[:-1], np.nan)])
    return found.assign(**coords, reason=reason)


def _flow(point: Point) -> pd.DataFrame:
    from ssi_kernels.theory.flow import flow
    from ssi_kernels.theory.recovery import typical_start

    refuse_sampled(point.model, point.length)
    start = typical_start(point.model, point.d, point.length, point.start)
    if start is None:
        at_0 = not point.start.random
        remedy = "the flow does not leave a start at 0" if at_0 else "the model does not learn from small overlaps"
        raise ConfigError("start", point.start.canonical(), remedy)
    m0, e0 = _overlaps(point, start)
    run = flow(
        point.model,
        d=point.d,
        length=point.length,
        learning_rate=point.learning_rate,
        steps=point.steps,
        m0=m0,
        e0=e0,
    )
    return _frame(run)


def _overlaps(point: Point, x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """A start over the coordinates of the landscape as the arguments m0 and e0 of the flow."""
    if point.model.student.is_untied:
        return x, None
    e = x[:-1]
    return x[-1], None if not e.size else e[0] if e.size == 1 else e


def _frame(run: xr.Dataset) -> pd.DataFrame:
    e = np.linalg.norm(run["e"].to_numpy(), axis=-1) if "e" in run else np.full(run.sizes["step"], np.nan)
    frame = pd.DataFrame({"step": run["step"].to_numpy(), "m": np.abs(run["m"].to_numpy()), "e": e})
    return frame.assign(start_m=frame["m"].iloc[0], start_e=frame["e"].iloc[0])
