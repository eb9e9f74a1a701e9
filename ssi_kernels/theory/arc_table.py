"""The positional-semantic risk on the arc e^2 + m^2 = 1, for every omega and a at once (L = 2, opposite pair).

With S the student's attention matrix and y = (1 - omega) S(z*) + omega A(a), A = (J + kappa P) / 2, J all ones,
P = ((1, -1), (-1, 1)), kappa = tanh(a^2),
    R = E|y|^2 + F(e) - 2 (1 - omega) T(e, m) - 2 omega (1 + kappa g(e)),
    F = E|S(z + B e)|^2,  T = E S(z*) . S(z),  g = P . E S(z + B e) / 2:
omega and a stand outside the integrals (Arnaboldi et al. 2025, section 4). All are even in e and in m, so on the arc
they are smooth functions of u = e^2. There dR/dtheta = sin(theta) cos(theta) D with e = cos(theta) and
    D = R_m / m - R_e / e = -F'/e - 2 (1 - omega) (T_m / m - T_e / e) + 2 omega kappa g'/e.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.theory.evaluate import in_basis
from ssi_kernels.theory.product import ProductSeries
from ssi_kernels.theory.surface import Surface, chebyshev_basis, chebyshev_coefficients, interpolate

_NODES = 49
_WIDTH = 1.15
"""Interpolation reaches beyond |e| = 1, because derivatives at the end of a Chebyshev series lose digits."""

_ARC_NODES = 97
_P = np.array([[1.0, -1.0], [-1.0, 1.0]])


@dataclass(frozen=True)
class ArcTable:
    """F, T and g on the arc and at the origin.

    `values` holds the Chebyshev coefficients in 2 u - 1 of F, T, g, and `slopes` those of F'/e, T_m/m - T_e/e, g'/e,
    each of shape (3, n). At the origin: `curvatures` F'', T_ee, g'', and T_mm `curvature_m`, g `center`.
    `second_moment` is E|S|^2.
    """

    values: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray
    curvature_m: float
    center: float
    second_moment: float

    def at(self, u, weights: np.ndarray, derivative: bool = False) -> np.ndarray:
        """F'/e, T_m/m - T_e/e and g'/e combined with `weights`, shape (..., 3), at u, shape (...); or its d/du."""
        slopes = self._steeper if derivative else self.slopes
        return np.einsum("...j,...j->...", self._parts(u, slopes), np.asarray(weights))

    def _parts(self, u, coefficients: np.ndarray) -> np.ndarray:
        """Series with coefficients of shape (3, n) at u, shape (..., 3)."""
        basis = chebyshev_basis(2 * np.asarray(u, dtype=float) - 1, coefficients.shape[1])
        return basis @ coefficients.T

    @cached_property
    def _steeper(self) -> np.ndarray:
        return chebyshev.chebder(self.slopes, scl=2.0, axis=1)

    def risk(self, u, omega, a) -> np.ndarray:
        """R at (sqrt(u), sqrt(1 - u))."""
        f, t, g = np.moveaxis(self._parts(u, self.values), -1, 0)
        kappa = np.tanh(np.square(a))
        return self.label_norm(omega, kappa) + f - 2 * (1 - omega) * t - 2 * omega * (1 + kappa * g)

    def label_norm(self, omega, kappa):
        """E|y|^2."""
        mixed = 2 * omega * (1 - omega) * (1 + kappa * self.center)
        return (1 - omega) ** 2 * self.second_moment + mixed + omega**2 * (1 + kappa**2)


def slope_weights(omega, a) -> np.ndarray:
    """The weights, shape (..., 3), with which `ArcTable.at` gives D."""
    omega, kappa = np.broadcast_arrays(omega, np.tanh(np.square(np.asarray(a, dtype=float))))
    return np.stack([-np.ones_like(kappa), -2 * (1 - omega), 2 * omega * kappa], axis=-1)


@lru_cache(maxsize=1)
def arc_table() -> ArcTable:
    """The table, computed once in a process.

    Raises RuntimeError if the risk did not fall with m everywhere in the disc: only then could there be minima inside.
    """
    model = Model(targets.positional_semantic(0.0, 1.0), students.attention(), encodings.opposite_pair())
    series = ProductSeries(model, 2)
    pattern = in_basis(_P[:, :, None] / 2)[:, 0]
    both = interpolate(lambda x: _columns(series, pattern, _WIDTH * x), 1, _NODES)
    f, g, t = (Surface(both.coefficients[:, part]) for part in (slice(0, 1), slice(1, 2), slice(2, None)))
    _check_inside(t)
    u = (chebyshev.chebpts1(_ARC_NODES) + 1) / 2
    e, m = np.sqrt(u), np.sqrt(1 - u)
    arc = np.column_stack([e / _WIDTH, m])
    in_e = {part: part.gradient[0](arc) / (_WIDTH * e) for part in (f, t, g)}
    slopes = [in_e[f], t.gradient[1](arc) / m - in_e[t], in_e[g]]
    origin = np.zeros(2)
    return ArcTable(
        values=chebyshev_coefficients(np.array([part(arc) for part in (f, t, g)]), axis=1),
        slopes=chebyshev_coefficients(np.array(slopes), axis=1),
        curvatures=np.array([part.hessian[0][0](origin) for part in (f, t, g)]) / _WIDTH**2,
        curvature_m=float(t.hessian[1][1](origin)),
        center=float(g(origin)),
        second_moment=series.target.second_moment,
    )


def _columns(series: ProductSeries, pattern: np.ndarray, e: np.ndarray) -> np.ndarray:
    """F(e), g(e) and the coefficients of m^k in T(e, m)."""
    return np.concatenate([[series.own(e), pattern @ series.mean(e)], series.cross(e)])


def _check_inside(t: Surface) -> None:
    """T_m / m > 0 in the whole disc, so that R has no critical point with m > 0 inside."""
    along, across = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0.02, 1, 41))
    inside = along**2 + across**2 <= 1
    points = np.column_stack([along[inside] / _WIDTH, across[inside]])
    if not (t.gradient[1](points) / points[:, 1] > 0).all():
        raise RuntimeError("the semantic overlap does not lower the risk everywhere: search the disc instead")
