"""How the risk leaves zero overlaps: flatness index and escape order (Arnaboldi et al. 2025, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import length_of

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.theory.form import Form

MOST_ORDERS = 12
_SCAN = 720
_STARTS = 48


@dataclass(frozen=True)
class Escape:
    """R(rho v) = R(0) + rate rho^order + ... along the unit vector v = `direction` over `coordinates`.

    `flatness` is the smallest order of a non-zero derivative of R at 0, `order` the smallest at which R goes down in
    some direction in which all lower orders vanish; None where there is none up to `searched`. A positive curvature
    counts for the flatness, but does not help to escape.
    """

    coordinates: tuple[str, ...]
    flatness: int | None
    order: int | None
    direction: tuple[float, ...] | None
    rate: float | None
    searched: int
    method: str


@lru_cache(maxsize=256)
def escape(model: Model, length: int | None = None) -> Escape:
    """Flatness index and escape order of a model. Raises ConfigError where the model has no meaning.

    The direction is along straight lines: that lower orders may bend the path further is left out.
    """
    length = length_of(model, length)
    surface = landscape(model, length)
    flatness, basis, searched = None, np.eye(len(surface.coordinates)), 0
    for order in range(1, MOST_ORDERS + 1):
        form = surface.taylor(order)
        if form is None:
            break
        searched = order
        if form.vanishes:
            continue
        flatness = flatness or order
        v, value = lowest(form, order, basis)
        if value < -form.tolerance:
            direction = tuple(float(x) for x in v)
            return Escape(surface.coordinates, flatness, order, direction, value, searched, surface.method)
        basis = _flat(form, order, basis)
        if not basis.shape[1]:
            break
    return Escape(surface.coordinates, flatness, None, None, None, searched, surface.method)


def lowest(form: Form, order: int, basis: np.ndarray) -> tuple[np.ndarray, float]:
    """The unit vector in the span of the orthonormal columns of `basis` at which a form is lowest, and its value.

    Exact for orders 1 and 2 and for spans of up to two dimensions; beyond, the best of many searches. Of v and -v, the
    one with the larger sum is given where both are lowest.
    """
    if order <= 2 or basis.shape[1] == 1:
        candidates = _exact(form, order, basis)
    elif basis.shape[1] == 2:
        angles = np.linspace(0, 2 * np.pi, _SCAN, endpoint=False)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        candidates = [_refined(form, basis, circle[np.argmin(form(circle @ basis.T))])]
    else:
        normals = np.random.default_rng(0).normal(size=(_STARTS, basis.shape[1]))
        starts = [np.ones(basis.shape[1]), *np.eye(basis.shape[1])[:_STARTS], *normals]
        candidates = [_refined(form, basis, start) for start in starts]
    candidates = [sign * v for v in candidates for sign in (1, -1)]
    values = np.array([float(form(v)) for v in candidates])
    best = [v for v, value in zip(candidates, values, strict=True) if value <= values.min() + 1e-9 * abs(values.min())]
    return max(best, key=lambda v: v.sum()), float(values.min())


def _exact(form: Form, order: int, basis: np.ndarray) -> list[np.ndarray]:
    if basis.shape[1] == 1:
        return [basis[:, 0]]
    if order == 1:
        slope = basis.T @ form.gradient(np.zeros(basis.shape[0]))
        return [-basis @ slope / max(np.linalg.norm(slope), 1e-300)]
    return [basis @ np.linalg.eigh(_quadratic(form, basis))[1][:, 0]]


def _quadratic(form: Form, basis: np.ndarray) -> np.ndarray:
    """The matrix of a form of order 2 in the coordinates of `basis`."""
    matrix = np.array([form.gradient(row) for row in np.eye(basis.shape[0])]) / 2
    return basis.T @ matrix @ basis


def _refined(form: Form, basis: np.ndarray, start: np.ndarray) -> np.ndarray:
    from scipy.optimize import minimize

    def on_sphere(y):
        size = np.linalg.norm(y)
        v = y / size
        slope = basis.T @ form.gradient(basis @ v)
        return float(form(basis @ v)), (slope - v * (v @ slope)) / size

    found = minimize(on_sphere, start / np.linalg.norm(start), jac=True, method="BFGS", options={"gtol": 1e-12})
    return basis @ (found.x / np.linalg.norm(found.x))


def _flat(form: Form, order: int, basis: np.ndarray) -> np.ndarray:
    """Directions in the span of `basis` in which a form that never goes down stays at 0.

    For order 2 the null space of its matrix; beyond, only the axes and the whole span are tried.
    """
    if order == 2:
        values, vectors = np.linalg.eigh(_quadratic(form, basis))
        return basis @ vectors[:, values <= form.tolerance]
    kept = [v for v in basis.T if abs(form(v)) <= form.tolerance]
    return np.array(kept).T.reshape(basis.shape[0], -1)
