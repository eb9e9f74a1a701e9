"""Lane inputs of points: numbers per lane in the run's dtype, keys, frames and initial states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssi_kernels.kernels import chi_square, initial, streams
from ssi_kernels.kernels.lanes import Lanes
from ssi_kernels.kernels.program import dynamics_of
from ssi_kernels.kernels.shape import Shape, degrees_of_freedom
from ssi_kernels.model.model import Model
from ssi_kernels.model.starts import Start


def fresh_lanes(
    shape: Shape,
    model: Model,
    start: Start,
    *,
    d: int,
    learning_rate: float,
    thresholds: Sequence[float],
    decided: float,
    stream_id: str,
    replicas: tuple[int, int],
) -> Lanes:
    """Lanes of one point's replicas first..last-1 at step 0."""
    keys = streams.replica_keys(stream_id, *replicas)
    width = keys.shape[1]
    data = _numbers(shape, model, d, learning_rate, thresholds, decided, width)
    if shape.kernel != "reduced":
        directions = initial.frame(shape, d, keys)
        begin = initial.full_start(shape, start, d, keys, directions)
        data |= {name: x.astype(shape.dtype) for name, x in directions.items()}
    else:
        begin = initial.reduced_start(shape, start, d, keys)
    begin = {name: x.astype(shape.dtype) for name, x in begin.items()}
    nothing = np.full(width, np.nan)
    return Lanes(
        data, keys, dynamics_of(shape).initial(begin), np.tile(nothing, (len(thresholds), 1)), nothing, nothing
    )


def _numbers(shape, model, d, learning_rate, thresholds, decided, width) -> dict[str, np.ndarray]:
    dtype = np.dtype(shape.dtype)
    same = lambda x: np.full(width, x, dtype)  # noqa: E731
    eta = np.asarray(thresholds, dtype)
    data = {
        "inverse_h": same(d / learning_rate),
        "threshold_square": np.repeat((eta * eta)[:, None], width, axis=1),
        "decided": same(decided),
        **{name: same(value) for name, value in model.target.parameters().items()},
    }
    if shape.kernel == "reduced":
        nu = degrees_of_freedom(model, d, shape.length)
        data["nu"] = same(nu)
        if not shape.few_degrees:
            data["chi"] = np.repeat(chi_square.coefficients(nu)[:, None], width, axis=1).astype(dtype)
    return data


def beside(parts: Sequence[Lanes]) -> Lanes:
    """The lanes of several points of one shape as one batch."""

    def joined(trees):
        return {name: np.concatenate([t[name] for t in trees], axis=-1) for name in trees[0]}

    return Lanes(
        joined([p.data for p in parts]),
        np.concatenate([p.keys for p in parts], axis=1),
        joined([p.state for p in parts]),
        np.concatenate([p.recovery for p in parts], axis=1),
        np.concatenate([p.diverged for p in parts]),
        np.concatenate([p.stop for p in parts]),
    )
