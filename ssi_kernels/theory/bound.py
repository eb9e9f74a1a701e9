"""The largest useful learning rate: where the shrinking by noise balances the drift."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.escape import escape
from ssi_kernels.theory.flow import norm, velocity
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import length_of

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.model.starts import Start

_POINTS = 48
FRACTION = 0.3
"""Of the bound, as the default learning rate."""


@lru_cache(maxsize=1024)
def noise_bound(
    model: Model, length: int | None = None, d: int = 1000, start: Start | None = None, threshold: float = 0.5
) -> float | None:
    """The largest gamma at which the overlap still grows all the way from its start to the threshold.

    On the straight line x = rho v in the escape direction v the norm obeys d rho / dt = D(rho) - (gamma / 2) rho N
    (`flow`), so the bound is the smallest of 2 D / (rho N) for rho between the start, 1/sqrt(d) where it is random or
    at 0, and the threshold: constant in d for escape order 2, ~ d^-(k/2 - 1) for order k (Arnaboldi et al. 2025,
    section 3). None where the model does not learn.
    """
    length = length_of(model, length)
    found = escape(model, length)
    if found.order is None:
        return None
    smallest = min(start_norm(model, d, length, start), 0.9 * threshold)
    rho = np.geomspace(smallest, threshold, _POINTS)
    x = rho[:, None] * np.array(found.direction) * _scale(model, length)
    surface = landscape(model, length)
    gradients, noises = surface.gradient(x), surface.noise(x)
    move = velocity(model, length)
    drift = np.array([p @ move(p, g, 0.0, 0.0) for p, g in zip(x, gradients, strict=True)])
    shrinking = np.array([p @ move(p, 0 * p, n, 1.0) for p, n in zip(x, noises, strict=True)])
    ratio = float(np.min(drift / -shrinking))
    return ratio if ratio > 0 else None


def default_rate(model: Model, length: int, d: int, start: Start | None = None) -> float | None:
    """FRACTION of the bound at three significant digits, so that rounding errors never change a point's identity."""
    bound = noise_bound(model, length, d, start)
    return None if bound is None else float(f"{FRACTION * bound:.3g}")


def start_norm(model: Model, d: int, length: int, start: Start | None) -> float:
    """The norm of exact overlaps, or 1/sqrt(d) for random ones and for a start at 0."""
    if start is None or start.random:
        return d**-0.5
    x = np.array([*start.components(model.rank(length)), start.m])
    return float(np.linalg.norm(x)) or d**-0.5


def _scale(model: Model, length: int) -> float:
    """|x| at norm 1."""
    return 1 / float(norm(model, length, np.eye(length)[0])) if model.student.is_untied else 1.0
