"""Landscapes of students with one direction: powers of m, Chebyshev polynomials in e."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ssi_kernels.model import Model
from ssi_kernels.theory.form import Form
from ssi_kernels.theory.landscape_base import Landscape
from ssi_kernels.theory.surface import Surface, interpolate

NODES = {0: 1, 1: 41, 2: 29}
"""Chebyshev nodes per positional overlap, by rank."""

NOISE_NODES = 25
"""The most for the noise, of which no derivatives are taken: 1e-9 up to the edge of the disc."""

NODES_OF_LONG = {3: 25, 4: 17}
"""The same for students that see three or four fields one by one, whose rules are less exact anyway."""

_ROUNDING = 2e-14
"""Coefficients below it, relative to the largest, are rounding."""


class SurfaceLandscape(Landscape):
    """Of students with one direction: powers of m, Chebyshev polynomials in e."""

    def __init__(self, model: Model, length: int, series):
        super().__init__(model, length)
        self._series = series
        self.method = series.method

    @property
    def error(self) -> float:
        return self._series.error

    @cached_property
    def surface(self) -> Surface:
        """R as a surface."""
        return self._interpolated(self._series.risk)

    @cached_property
    def noise_surface(self) -> Surface:
        """E|q|^2 as a surface."""
        return self._interpolated(self._series.noise, NOISE_NODES)

    def _interpolated(self, values, most_nodes: int = NODES[1]) -> Surface:
        rank = self.model.rank(self.length)
        seen = self.length if not self.model.student.sees_sum else 1
        return interpolate(values, rank, min(NODES[rank], NODES_OF_LONG.get(seen, most_nodes), most_nodes))

    def risk(self, x):
        return self.surface(np.asarray(x, dtype=float))

    def gradient(self, x):
        x = np.asarray(x, dtype=float)
        return np.stack([first(x) for first in self.surface.gradient], axis=-1)

    def hessian(self, x):
        x = np.asarray(x, dtype=float)
        rows = [np.stack([second(x) for second in row], axis=-1) for row in self.surface.hessian]
        return np.stack(rows, axis=-2)

    def noise(self, x):
        return self.noise_surface(np.asarray(x, dtype=float))

    def taylor(self, order):
        rank = self.model.rank(self.length)
        exponents = [alpha for alpha in np.ndindex(*(order + 1,) * (rank + 1)) if sum(alpha) == order]
        derivatives = np.array([self._derivative(alpha) for alpha in exponents])
        rounding = np.array([self._rounding(alpha) for alpha in exponents])
        factorials = np.array([math.prod(map(math.factorial, alpha)) for alpha in exponents])
        found = np.where(np.abs(derivatives) > rounding, derivatives, 0.0) / factorials
        return Form(np.array(exponents), found, float(rounding.max()) if self.model.rank(self.length) else 0.0)

    def _rounding(self, alpha: tuple[int, ...]) -> float:
        """What a derivative must exceed to be told from 0; every power of m has its own series in e."""
        in_e = self.surface.coefficients[..., alpha[-1] : alpha[-1] + 1]
        nodes = self.surface.coefficients.shape[0] if self.model.rank(self.length) else 1
        size = float(np.abs(in_e).max(initial=0.0))
        return (_ROUNDING * size * nodes ** sum(alpha[:-1]) if nodes > 1 else 0.0) + self._unresolved

    def _derivative(self, alpha: tuple[int, ...]) -> float:
        surface = self.surface
        for coordinate, times in enumerate(alpha):
            for _ in range(times):
                surface = surface.derivative(coordinate)
        return float(surface(np.zeros(len(alpha))))

    @property
    def _unresolved(self) -> float:
        """What a coefficient must exceed to count, where the rule is not exact."""
        return self.error if self.error > 1e-9 * np.abs(self.surface.coefficients).max() else 0.0

    @property
    def depends_on_target(self):
        return bool((np.abs(self.surface.coefficients[..., 1:]) > self._unresolved).any())

    def rates(self):
        surfaces = (*self.surface.gradient, self.noise_surface)
        return _surface_rates, tuple(surface.coefficients for surface in surfaces)


def _surface_rates(coefficients, x):
    from jax import numpy as jnp

    *first, noise = (Surface(c)(x, jnp) for c in coefficients)
    return jnp.stack(first), noise
