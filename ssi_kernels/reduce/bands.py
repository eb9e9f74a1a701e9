"""What trajectories look like over the replicas of a point: median and the middle 80 %."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ssi_kernels.errors import Outcome, Status

QUANTILES = (0.1, 0.5, 0.9)


def trajectory_bands(trajectories: xr.Dataset, recovery: xr.Dataset, status: xr.DataArray) -> xr.Dataset:
    """Quantiles over the replicas of |m| and, where there is an encoding, of |e| = sqrt(sum_k e_k^2).

    Variables `m` and `e` over (axes..., step, quantile); lazy where the trajectories are dask arrays, and computed
    point by point then. A replica that its stop rule froze keeps its final value for as long as others of its point
    are recorded; diverged, missing and failed replicas are left out. NaN beyond the horizon of a point.

    Args:
        trajectories, recovery: the two datasets of a sweep, or the same selection of both.
        status: from `status_of`.
    """
    counted = (status == Status.COMPLETE) & (recovery["outcome"] != Outcome.DIVERGED).all("threshold")
    overlaps = {"m": (np.abs(trajectories["m"]), np.abs(recovery["final_m"]))}
    if "e" in trajectories:
        overlaps["e"] = tuple(_length(e) for e in (trajectories["e"], recovery["final_e"]))
    bands = {name: _bands(values, final, counted) for name, (values, final) in overlaps.items()}
    return xr.Dataset(bands).assign_coords(quantile=list(QUANTILES))


def _length(e: xr.DataArray) -> xr.DataArray:
    """|e| over the components that there are; NaN where there is none."""
    return np.sqrt((e**2).sum("component", min_count=1))


def _bands(values: xr.DataArray, final: xr.DataArray, counted: xr.DataArray) -> xr.DataArray:
    if values.chunks is not None:
        values = values.chunk({"replica": -1, "step": -1})
    return xr.apply_ufunc(
        _quantiles,
        values,
        final.astype(values.dtype),
        counted,
        input_core_dims=[["replica", "step"], ["replica"], ["replica"]],
        output_core_dims=[["step", "quantile"]],
        dask="parallelized",
        output_dtypes=[values.dtype],
        dask_gufunc_kwargs={"output_sizes": {"quantile": len(QUANTILES)}},
    )


def _quantiles(values: np.ndarray, final: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """(..., replica, step), (..., replica), (..., replica) -> (..., step, quantile)."""
    recorded = ~np.isnan(values)
    anyone = np.flip(np.maximum.accumulate(np.flip(recorded.any(axis=-2, keepdims=True), -1), axis=-1), -1)
    filled = np.where(recorded | ~anyone, values, final[..., None])
    kept = np.sort(np.where(counted[..., None], filled, np.nan), axis=-2)
    return np.stack([_quantile_of_sorted(kept, q) for q in QUANTILES], axis=-1).astype(values.dtype)


def _quantile_of_sorted(ordered: np.ndarray, q: float) -> np.ndarray:
    """Linear between order statistics, as `numpy.nanquantile`, which takes a Python call per number.

    (..., replica, step), increasing over replicas with NaN last -> (..., step); NaN where all are NaN.
    """
    last = np.maximum((~np.isnan(ordered)).sum(axis=-2, keepdims=True) - 1, 0)
    below = np.floor(q * last).astype(int)
    lower, upper = (np.take_along_axis(ordered, place, -2) for place in (below, np.minimum(below + 1, last)))
    return (lower + (q * last - below) * (upper - lower))[..., 0, :]
