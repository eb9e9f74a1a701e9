"""Recovery times that the flow predicts, from exact overlaps or averaged over random starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.escape import escape
from ssi_kernels.theory.flow import recovery_time
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import length_of

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.model.starts import Start
    from ssi_kernels.theory.landscape_base import Landscape

_LOG2_STARTS = 5
_SEED = 20250602
_LONGEST = 1e5


@dataclass(frozen=True)
class Prediction:
    """Steps to weak recovery: `typical` is exp(E log T) over the starts that get there, `median` that of all of them
    (None where half do not), `recovered` the fraction that gets there."""

    typical: float | None
    median: float | None
    recovered: float


def predicted_recovery(
    model: Model,
    *,
    d: int,
    learning_rate: float,
    length: int | None = None,
    start: Start | None = None,
    threshold: float = 0.5,
    steps: int | None = None,
) -> Prediction:
    """Recovery time of the flow in steps, d / gamma times its own time.

    For random starts (`start` None or random) the average is over quasi-random starts with independent overlaps N(0,
    1/d), those of a uniform direction for large d. The flow leaves out that SGD's own noise moves small overlaps, so
    that a flow from the wrong side, or from 0, may never arrive where SGD does. `steps` is the horizon.
    """
    length = length_of(model, length)
    surface = landscape(model, length)
    starts = start_points(model, d, length, start)
    horizon = _LONGEST if steps is None else steps * learning_rate / d
    times = recovery_time(surface, learning_rate, starts, threshold, horizon) * (d / learning_rate)
    there = times[np.isfinite(times)]
    with np.errstate(divide="ignore"):
        typical = float(np.exp(np.log(there).mean())) if there.size else None
    median = float(np.median(np.where(np.isfinite(times), times, np.inf)))
    return Prediction(typical, median if math.isfinite(median) else None, there.size / times.size)


def typical_start(model: Model, d: int, length: int, start: Start | None = None) -> np.ndarray | None:
    """One start to follow the flow from, shape (n,): exact overlaps, or norm 1/sqrt(d) in the escape direction.

    None for a start at 0, from where the flow does not move, and for random ones of a model that does not learn.
    """
    n = len(landscape(model, length).coordinates)
    if start is not None and not start.random:
        x = exact_point(model, length, start)
        return x if x.any() else None
    found = escape(model, length)
    if found.direction is None:
        return None
    size = math.sqrt(length) if model.student.is_untied else 1.0
    return np.array(found.direction).reshape(n) * (size / math.sqrt(d))


def exact_point(model: Model, length: int, start: Start) -> np.ndarray:
    """The overlaps of an exact start over the coordinates of the landscape, shape (n,)."""
    if model.student.is_untied:
        return np.full(length, start.m)
    return np.array([*start.components(model.rank(length)), start.m])


def start_points(model: Model, d: int, length: int, start: Start | None = None) -> np.ndarray:
    """Starts to average over, shape (starts, n)."""
    if start is not None and not start.random:
        return exact_point(model, length, start)[None]
    n = len(landscape(model, length).coordinates)
    points = _sphere(n, _LOG2_STARTS) / math.sqrt(d)
    size = math.sqrt(length) if model.student.is_untied else 1.0
    norms = np.linalg.norm(points, axis=1, keepdims=True) / size
    return points / np.maximum(1.0, norms / 0.999)


@lru_cache(maxsize=64)
def _sphere(n: int, log2: int) -> np.ndarray:
    from scipy.special import ndtri
    from scipy.stats import qmc

    points = qmc.Sobol(n, rng=np.random.default_rng(_SEED)).random_base2(log2)
    return ndtri(np.clip(points, 2.0**-33, 1 - 2.0**-33))


def best_rate(
    model: Model, *, d: int, length: int | None = None, start: Start | None = None, threshold: float = 0.5
) -> tuple[float, Prediction] | None:
    """The learning rate with the shortest typical recovery time, and that time; None where nothing is learned.

    T = (d / gamma) t(gamma): small rates are slow, rates near the noise bound let the overlap grow slowly. Found by a
    bounded search over log gamma below the bound.
    """
    from scipy.optimize import minimize_scalar

    from ssi_kernels.theory.bound import noise_bound

    length = length_of(model, length)
    bound = noise_bound(model, length, d, start, threshold)
    if bound is None:
        return None
    surface: Landscape = landscape(model, length)
    starts = start_points(model, d, length, start)

    def log_time(log_rate: float) -> float:
        rate = math.exp(log_rate)
        times = recovery_time(surface, rate, starts, threshold, _LONGEST)
        there = times[np.isfinite(times) & (times > 0)]
        lost = 1 - there.size / times.size
        return float(np.log(there).mean()) - log_rate + 10 * lost if there.size else 1e3 + log_rate

    found = minimize_scalar(
        log_time, bounds=(math.log(1e-3 * bound), math.log(bound)), method="bounded", options={"xatol": 1e-4}
    )
    rate = math.exp(float(found.x))
    prediction = predicted_recovery(model, d=d, length=length, learning_rate=rate, start=start, threshold=threshold)
    return rate, prediction
