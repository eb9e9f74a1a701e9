"""The population risk of a model and its derivatives, by the best method that there is for it.

x = (e_1..e_r, m), or (m_1..m_L) for untied students (Arnaboldi et al. 2025, sections 2 and 3).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.theory import form, sampled
from ssi_kernels.theory.form import Form
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

NOISE_NODES = 25
"""The most for the noise, of which no derivatives are taken: 1e-9 up to the edge of the disc."""

NODES_OF_LONG = {3: 25, 4: 17}
"""The same for students that see three or four fields one by one, whose rules are less exact anyway."""


_ROUNDING = 2e-14
"""Coefficients below it, relative to the largest, are rounding."""

_ORDERS = 12
"""Up to which order an untied student is asked whether it sees its target."""

_MOST_TERMS = 20_000

_SIGNIFICANT = 6.0
"""Standard errors that a sampled derivative must exceed to count."""


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
    def rates(self) -> tuple[Callable, object]:
        """A JAX function of (parameters, x), x of shape (n,), to the gradient and the noise there; and its parameters.

        Landscapes of one kind share the function, so that it is compiled once for all of a shape.
        """

    @abstractmethod
    def taylor(self, order: int) -> Form | None:
        """The part of R of one order in x around 0; None where it cannot be told from 0."""

    @property
    def depends_on_target(self) -> bool | None:
        """Whether R depends on the overlaps with w*; None where that is not resolved."""
        return None


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


class _JaxLandscape(Landscape):
    """A landscape given by compiled JAX functions of one x."""

    @abstractmethod
    def _compiled(self, name: str) -> Callable:
        """R, its `gradient`, `hessian` or the `noise` at x of shape (n,)."""

    def risk(self, x):
        return self._mapped("risk", x)

    def gradient(self, x):
        return self._mapped("gradient", x)

    def hessian(self, x):
        return self._mapped("hessian", x)

    def noise(self, x):
        return self._mapped("noise", x)

    def _mapped(self, name: str, x) -> np.ndarray:
        """One of the functions over all leading axes of x."""
        import jax

        x = np.asarray(x, dtype=float)
        with jax.enable_x64(True):
            found = [np.asarray(self._compiled(name)(one)) for one in x.reshape(-1, x.shape[-1])]
        return np.array(found).reshape((*x.shape[:-1], *found[0].shape)) if found else np.zeros(x.shape[:-1])


class UntiedLandscape(_JaxLandscape):
    """Of untied students whose target has a series."""

    def __init__(self, model: Model, length: int, series: UntiedSeries):
        super().__init__(model, length)
        self._series = series
        self.method, self.error = series.method, series.error

    def taylor(self, order):
        if math.comb(self.length + order - 1, order) > _MOST_TERMS and order > 2:
            return None
        _, ((series, sigma),) = self._series.risk_terms
        table, weights = form.of_order(series, order, self.length)
        factor = sigma[order] * math.sqrt(math.factorial(order)) if order < sigma.size else 0.0
        return Form(table, factor * weights / self.length ** (order / 2), 0.0)

    @property
    def depends_on_target(self):
        orders = [k for k in range(1, _ORDERS + 1) if math.comb(self.length + k - 1, k) <= _MOST_TERMS]
        if any(not self.taylor(order).vanishes for order in orders):
            return True
        return False if len(orders) == _ORDERS else None

    def rates(self):
        return self._rates, ()

    @cached_property
    def _rates(self) -> Callable:
        functions = self._functions
        return lambda _, x: (functions["gradient"](x), functions["noise"](x))

    def _compiled(self, name):
        return self._jitted[name]

    @cached_property
    def _jitted(self) -> dict[str, Callable]:
        import jax

        return {name: jax.jit(function) for name, function in self._functions.items()}

    @cached_property
    def _functions(self) -> dict[str, Callable]:
        import jax
        from jax import numpy as jnp

        def risk(x):
            return self._series.value(self._series.risk_terms, x, jnp)

        def noise(x):
            return self._series.value(self._series.noise_terms, x, jnp)

        gradient = jax.grad(risk)
        return {"risk": risk, "gradient": gradient, "hessian": jax.jacfwd(gradient), "noise": noise}


class SampledLandscape(_JaxLandscape):
    """By quasi-Monte Carlo."""

    method = sampled.METHOD

    def __init__(self, model: Model, length: int):
        super().__init__(model, length)
        self._average = sampled.Average(model.student, model.encoding, model.loss, length)
        self._points = sampled.points_of(model, length)

    @cached_property
    def error(self) -> float:
        """The standard error of R at 0, and halfway from there to the target."""
        n = len(self.coordinates)
        places = np.zeros((2, n))
        places[1, -1 if not self.model.student.is_untied else slice(None)] = 0.5
        import jax

        with jax.enable_x64(True):
            losses = [sampled.compiled(self._average, "losses")(self._points, x) for x in places]
            return max(sampled.standard_error(np.asarray(values)) for values in losses)

    def _compiled(self, name):
        return partial(sampled.compiled(self._average, name), self._points)

    def rates(self):
        return self._average.rates, self._points

    def taylor(self, order):
        """Of order 1 and 2 only: higher derivatives drown in the error of the average."""
        if order > 2:
            return None
        values, errors = self._derivatives(("gradient", "hessian")[order - 1])
        n = len(self.coordinates)
        if order == 1:
            return Form(np.eye(n, dtype=int), values, _SIGNIFICANT * float(errors.max()))
        rows = [(i, j) for i in range(n) for j in range(i, n)]
        coefficients = np.array([values[i, j] * (0.5 if i == j else 1.0) for i, j in rows])
        exponents = np.array([np.bincount([i, j], minlength=n) for i, j in rows])
        return Form(exponents, coefficients, _SIGNIFICANT * float(errors.max()))

    def _derivatives(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The gradient or Hessian at 0, averaged over the scramblings, and their standard errors."""
        import jax

        origin = np.zeros(len(self.coordinates))
        with jax.enable_x64(True):
            function = sampled.compiled(self._average, name)
            found = np.array([function(part, origin) for part in sampled.scrambled_parts(self._points)])
        return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found)) + 1e-12


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
    if target is None:
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


def _components(e, rank: int) -> np.ndarray:
    """e as an array of shape (..., rank); for rank one it comes without that axis."""
    if e is None or not rank:
        return np.zeros(rank)
    e = np.asarray(e, dtype=float)
    return e[..., None] if rank == 1 else e


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
        e = _components(e, model.rank(length))
        shape = np.broadcast_shapes(e.shape[:-1], m.shape)
        x = np.concatenate(
            [np.broadcast_to(e, (*shape, e.shape[-1])), np.broadcast_to(m[..., None], (*shape, 1))], axis=-1
        )
        inside = (x**2).sum(axis=-1) <= 1 + 1e-9
    if not np.all(inside):
        worst = x.reshape(-1, x.shape[-1])[np.argmin(inside.ravel())]
        raise ConfigError("m, e", [float(f"{v:.6g}") for v in worst], "must satisfy m^2 + |e|^2 <= 1")
    return x
