"""The population risk of a model and its derivatives, by the best method that there is for it.

x = (e_1..e_r, m), or (m_1..m_L) for untied students (Arnaboldi et al. 2025, sections 2 and 3).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.theory import sampled
from ssi_kernels.theory.product import MOST_FIELDS, ProductSeries
from ssi_kernels.theory.summed import SummedSeries
from ssi_kernels.theory.surface import Surface, interpolate
from ssi_kernels.theory.target_series import target_series
from ssi_kernels.theory.untied import UntiedSeries

if TYPE_CHECKING:
    from collections.abc import Callable

    from ssi_kernels.model import Model

NODES = {0: 1, 1: 41, 2: 29}
"""Chebyshev nodes per positional overlap, by rank."""


class Landscape(ABC):
    """R(x) = E l(y, f) with its gradient and Hessian, and the noise N(x) = E|q|^2, q = dl/dz, of one model.

    Arguments are arrays of shape (..., n) over `coordinates`; values have shape (...), (..., n), (..., n, n), (...).
    `error` estimates the absolute error of R, and `method` says how it is computed.
    """

    def __init__(self, model: Model, length: int):
        self.model, self.length = model, length

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the overlaps."""
        if self.model.student.is_untied:
            return tuple(f"m{i + 1}" for i in range(self.length))
        return (*(f"e{k + 1}" for k in range(self.model.rank(self.length))), "m")

    method: str
    error: float

    @abstractmethod
    def risk(self, x) -> np.ndarray:
        """R(x)."""

    @abstractmethod
    def gradient(self, x) -> np.ndarray:
        """dR/dx."""

    @abstractmethod
    def hessian(self, x) -> np.ndarray:
        """d^2 R / dx^2."""

    @abstractmethod
    def noise(self, x) -> np.ndarray:
        """E|q|^2."""

    @abstractmethod
    def rates(self) -> Callable:
        """A JAX function of x, shape (n,): the gradient and the noise there."""


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
        return self._interpolated(self._series.noise)

    def _interpolated(self, values) -> Surface:
        rank = self.model.rank(self.length)
        return interpolate(values, rank, NODES[rank])

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

    def rates(self):
        from jax import numpy as jnp

        first, noise = self.surface.gradient, self.noise_surface
        return lambda x: (jnp.stack([part(x, jnp) for part in first]), noise(x, jnp))


class _JaxLandscape(Landscape):
    """A landscape given by JAX functions of one x."""

    @abstractmethod
    def _risk(self, x):
        """R at x of shape (n,)."""

    @abstractmethod
    def _noise(self, x):
        """E|q|^2 at x of shape (n,)."""

    def risk(self, x):
        return self._mapped("risk", x)

    def gradient(self, x):
        return self._mapped("gradient", x)

    def hessian(self, x):
        return self._mapped("hessian", x)

    def noise(self, x):
        return self._mapped("noise", x)

    def rates(self):
        import jax

        gradient = jax.grad(self._risk)
        return lambda x: (gradient(x), self._noise(x))

    def _mapped(self, name: str, x) -> np.ndarray:
        """One of the functions over all leading axes of x."""
        import jax

        x = np.asarray(x, dtype=float)
        with jax.enable_x64(True):
            found = [np.asarray(self._compiled[name](one)) for one in x.reshape(-1, x.shape[-1])]
        return np.array(found).reshape((*x.shape[:-1], *found[0].shape)) if found else np.zeros(x.shape[:-1])

    @cached_property
    def _compiled(self) -> dict:
        import jax

        gradient = jax.grad(self._risk)
        functions = {"risk": self._risk, "gradient": gradient, "noise": self._noise, "hessian": self._hessian(gradient)}
        return {name: jax.jit(function) for name, function in functions.items()}

    def _hessian(self, gradient):
        import jax

        return jax.jacfwd(gradient)


class UntiedLandscape(_JaxLandscape):
    """Of untied students whose target has a series."""

    def __init__(self, model: Model, length: int, series: UntiedSeries):
        super().__init__(model, length)
        self._series = series
        self.method, self.error = series.method, series.error

    def _risk(self, x):
        from jax import numpy as jnp

        return self._series.value(self._series.risk_terms, x, jnp)

    def _noise(self, x):
        from jax import numpy as jnp

        return self._series.value(self._series.noise_terms, x, jnp)


class SampledLandscape(_JaxLandscape):
    """By quasi-Monte Carlo."""

    def __init__(self, model: Model, length: int):
        super().__init__(model, length)
        self._average = sampled.SampledAverage(model, length)
        self.method = self._average.method

    @cached_property
    def error(self) -> float:
        """The standard error of R at 0."""
        import jax

        with jax.enable_x64(True):
            return self._average.risk_error(np.zeros(len(self.coordinates)))

    def _risk(self, x):
        return self._average.risk(x)

    def _noise(self, x):
        return self._average.noise(x)

    def _hessian(self, gradient):
        from jax import numpy as jnp

        def differences(x):
            steps = sampled.STEP * jnp.eye(x.shape[0])
            rows = jnp.stack([(gradient(x + step) - gradient(x - step)) / (2 * sampled.STEP) for step in steps])
            return (rows + rows.T) / 2

        return differences


@lru_cache(maxsize=64)
def landscape(model: Model, length: int) -> Landscape:
    """The landscape of a model at one length. Raises ConfigError where the model has no meaning at this length."""
    model.check(10**9, length)
    if model.loss == "squared":
        found = _series_landscape(model, length)
        if found is not None:
            return found
    return SampledLandscape(model, length)


def _series_landscape(model: Model, length: int) -> Landscape | None:
    """The landscape by series, where there are any."""
    if not model.student.is_untied and model.rank(length) not in NODES:
        return None
    if not model.student.sees_sum:
        possible = length <= MOST_FIELDS
        return SurfaceLandscape(model, length, ProductSeries(model, length)) if possible else None
    target = target_series(model, length)
    if target is None or target.square is None:
        return None
    if model.student.is_untied:
        return UntiedLandscape(model, length, UntiedSeries(model, length, target))
    return SurfaceLandscape(model, length, SummedSeries(model, length, target))


def length_of(model: Model, length: int | None) -> int:
    """The length given, or the one that the encoding, the target's pattern or the student's projection fixes.

    Raises ConfigError where there is neither.
    """
    if length is not None:
        return length
    encoding, target, student = model.encoding, model.target, model.student
    fixed = [
        2 if encoding.name == "opposite-pair" else None,
        *(len(part) for part in (encoding.rows, encoding.injected, getattr(target, "pattern", None)) if part),
        *(len(part) for part in (getattr(student, "a_left", None),) if part),
    ]
    for found in fixed:
        if found:
            return found
    raise ConfigError("length", None, "is needed: nothing in this model fixes the length of the sequence")


def argument(model: Model, length: int, e, m) -> np.ndarray:
    """(e, m) as an array over the coordinates of a landscape; e and m broadcast.

    `e` has shape (...) for rank one, (..., r) beyond; for untied students `m` is one number for all positions or has
    shape (..., L). Raises ConfigError outside the unit ball.
    """
    m = np.asarray(m, dtype=float)
    if model.student.is_untied:
        x = m if m.ndim and m.shape[-1] == length and length > 1 else np.repeat(m[..., None], length, axis=-1)
        inside = (x**2).sum(axis=-1) <= length * (1 + 1e-9)
    else:
        rank = model.rank(length)
        e = np.zeros((rank,)) if e is None else np.asarray(e, dtype=float)
        e = e[..., None] if rank <= 1 and not (e.ndim and e.shape[-1] == rank == 0) else e
        e = e[..., :rank] if rank else np.zeros((*np.broadcast_shapes(e.shape[:-1]), 0))
        shape = np.broadcast_shapes(e.shape[:-1], m.shape)
        x = np.concatenate([np.broadcast_to(e, (*shape, rank)), np.broadcast_to(m[..., None], (*shape, 1))], axis=-1)
        inside = (x**2).sum(axis=-1) <= 1 + 1e-9
    if not np.all(inside):
        worst = x.reshape(-1, x.shape[-1])[np.argmin(inside.ravel())]
        raise ConfigError("m, e", [float(f"{v:.6g}") for v in worst], "must satisfy m^2 + |e|^2 <= 1")
    return x
