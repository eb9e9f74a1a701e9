"""Local minima on the arc, for many (omega, a) at once.

Along the arc D(u) decides (`arc_table`): a minimum inside the arc is a root at which D falls with u = e^2; u = 1
(positional) is one where D > 0 there, u = 0 (semantic) where D < 0 there. At every one of them the radial derivative is
R_m / m = -2 (1 - omega) T_m / m <= 0, so it is a minimum in the disc too, and there is none inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from ssi_kernels.theory.arc_table import arc_table, slope_weights

_SCAN = np.linspace(0, 1, 129)
_STEPS = 80
_ROUNDING = 1e-15
AXIS = 1e-6
"""A minimum within this distance of an axis is on it: `semantic` or `positional`."""


@dataclass(frozen=True)
class Minima:
    """Minima of many points: the number of the point, and u, both of shape (n,)."""

    point: np.ndarray
    u: np.ndarray


def arc_minima(omega: np.ndarray, a: np.ndarray) -> Minima:
    """All local minima at omega and a of shape (points,).

    Between the extremal points of omega_c(u), the omega at which u is critical, D has at most one root for any omega,
    so that no pair of close roots is missed.
    """
    found = [_at_ends(omega, a)]
    strengths, rows = np.unique(a, return_inverse=True)
    for row, strength in enumerate(strengths):
        here = np.flatnonzero(rows == row)
        found.append(_inside(here, omega[here], strength))
    return Minima(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _at_ends(omega: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table, weights = arc_table(), slope_weights(omega, a)
    positional = np.flatnonzero(table.at(1.0, weights) > 0)
    semantic = np.flatnonzero(table.at(0.0, weights) < 0)
    return np.concatenate([positional, semantic]), np.repeat([1.0, 0.0], [positional.size, semantic.size])


def _inside(points: np.ndarray, omega: np.ndarray, a: float) -> tuple[np.ndarray, np.ndarray]:
    """Minima inside the arc for one a."""
    table, weights = arc_table(), slope_weights(omega, a)
    turns = turning_points(a)
    order = np.argsort(np.concatenate([_SCAN, turns]))
    u = np.concatenate([_SCAN, turns])[order]
    values = np.hstack([weights @ _scanned(), table.at(turns[None, :], weights[:, None, :])])[:, order]
    place, cell = np.nonzero((values[:, :-1] > 0) & (values[:, 1:] <= 0))
    if not place.size:
        return points[:0], np.zeros(0)
    kept = weights[place]
    root = falling_root(lambda x: table.at(x, kept), lambda x: table.at(x, kept, derivative=True), u[cell], u[cell + 1])
    inside = (root > AXIS**2) & (root < 1 - AXIS**2)
    return points[place[inside]], root[inside]


@lru_cache(maxsize=1)
def _scanned() -> np.ndarray:
    """The parts of D at the nodes of the scan, shape (3, n)."""
    return np.stack([arc_table().at(_SCAN, row) for row in np.eye(3)])


def falling_root(function, derivative, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Roots of a smooth function that is positive at `low` and not at `high`, for all intervals at once.

    Newton's steps inside an interval that bisection halves whenever they leave it; quadratic convergence to rounding.
    """
    middle = (low + high) / 2
    for _ in range(_STEPS):
        value = function(middle)
        low, high = np.where(value > 0, middle, low), np.where(value > 0, high, middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = middle - value / derivative(middle)
        inside = (step >= low) & (step <= high)
        new = np.where(inside, step, (low + high) / 2)
        if np.abs(new - middle).max() <= _ROUNDING:
            return new
        middle = new
    return middle


def critical_omega(u, a: float) -> np.ndarray:
    """omega_c(u), the only omega at which (sqrt(u), sqrt(1 - u)) is critical along the arc: D is linear in omega."""
    at_0, at_1 = (arc_table().at(u, slope_weights(omega, a)) for omega in (0.0, 1.0))
    return at_0 / (at_0 - at_1)


@lru_cache(maxsize=4096)
def turning_points(a: float) -> np.ndarray:
    """Where omega_c(u) turns inside (0, 1): there two critical points meet and vanish."""
    ends = [_combined(slope_weights(omega, a)) for omega in (0.0, 1.0)]
    difference = chebyshev.chebsub(ends[0], ends[1])
    slope = chebyshev.chebsub(
        chebyshev.chebmul(chebyshev.chebder(ends[0]), difference),
        chebyshev.chebmul(ends[0], chebyshev.chebder(difference)),
    )
    x = np.linspace(-1, 1, 8 * _SCAN.size)
    values = chebyshev.chebval(x, slope)
    cell = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    if not cell.size:
        return np.zeros(0)
    sign, steeper = np.sign(values[cell]), chebyshev.chebder(slope)
    roots = falling_root(
        lambda y: sign * chebyshev.chebval(y, slope),
        lambda y: sign * chebyshev.chebval(y, steeper),
        x[cell],
        x[cell + 1],
    )
    return (roots + 1) / 2


def _combined(weights: np.ndarray) -> np.ndarray:
    return weights @ arc_table().slopes
