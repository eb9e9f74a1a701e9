"""Functions of one linear form of the fields, F(w . z + b), smoothed by one-dimensional rules."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.theory.expansion import Index
from ssi_kernels.theory.linear_forms import check_count, indices, linear, place_of
from ssi_kernels.theory.measured import Measured
from ssi_kernels.theory.rules import split

_REACH, _MARGIN = 20, 2
_ORDER = 24
_LEAST = 1e-13
_LOST = 1e-6
_UNSETTLED = 0.1


def of_linear_form(value):
    """F, weights w and constant b with value = F(w . z + b), F an expression in one symbol; None where there are none.

    An argument such as that of relu(3*z1 - 1) is preferred to the field itself, so that a kink is where the rule's is.
    """
    import sympy

    u = sympy.Symbol("z", real=True)
    for part in sympy.preorder_traversal(value):
        if part.is_Add and part.free_symbols == value.free_symbols and (form := linear(part)) is not None:
            function = value.xreplace({part: u})
            if function.free_symbols == {u}:
                return function, *form
    if len(value.free_symbols) > 1:
        return None
    (field,) = value.free_symbols
    return value.xreplace({field: u}), {place_of(field): sympy.Integer(1)}, 0


def ridge(function, weights: dict, constant, degree: int) -> dict[Index, Measured]:
    """E[F(w . z + b) He_alpha] / alpha! = (w / |w|)^alpha sqrt(k!) / alpha! E[F(|w| xi + b) h_k(xi)], k = |alpha|."""
    check_count(len(weights), degree)
    numbers = {place: float(weight) for place, weight in weights.items()}
    size = math.hypot(*numbers.values())
    moments, error = _moments(function, size, float(constant), 64 * (1 + degree // 64))
    series = {}
    for k in range(degree + 1):
        for alpha in indices(numbers, k):
            logs = math.lgamma(k + 1) / 2 - sum(math.lgamma(j + 1) for _, j in alpha)
            factor = math.exp(logs) * math.prod((numbers[place] / size) ** j for place, j in alpha)
            series[alpha] = Measured(moments[k], error) * Measured(factor, 1e-14 * abs(factor))
    return series


@lru_cache(maxsize=512)
def _moments(function, size: float, constant: float, degree: int) -> tuple[list[float], float]:
    """E[F(s xi + b) h_k(xi)], k = 0..degree, and a bound on their errors: ten times the change from half the panels.

    Gauss-Legendre panels, split where the argument of F is 0: a kink there costs nothing.
    """
    import sympy

    compiled = sympy.lambdify(sympy.Symbol("z", real=True), function, modules="numpy")
    (coarse, _), (fine, squares) = (_projected(compiled, size, constant, degree, n) for n in (1, 2))
    _check_square(function, squares, _projected(compiled, size, constant, 0, 1)[1])
    error = max(10 * float(np.abs(fine - coarse).max()), _LEAST * math.sqrt(squares[0]))
    return fine.tolist(), error


def _projected(compiled, size: float, constant: float, degree: int, panels: int) -> tuple[np.ndarray, np.ndarray]:
    """The moments, and E[F^2] over all and over the outermost nodes."""
    shift = constant / size
    reach = math.ceil(_REACH + abs(shift))
    rule = split(reach, panels * reach, _ORDER)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(compiled(size * rule.nodes), dtype=float), rule.nodes.shape)
        weights = rule.weights(degree, shift)
        outer = np.abs(rule.nodes - shift) > _REACH - _MARGIN
        squares = np.array([weights[0] @ values**2, weights[0] @ np.where(outer, values**2, 0)])
        return weights @ values, squares


def _check_square(function, fine: np.ndarray, coarse: np.ndarray) -> None:
    """Raises ConfigError where E[F^2] is dominated by large arguments, or does not settle."""
    settled = np.isfinite(fine).all() and abs(fine[0] - coarse[0]) <= _UNSETTLED * fine[0]
    if not settled or fine[1] > _LOST * fine[0]:
        remedy = "its square has no finite expectation, or one too large to be computed; it has no Hermite series"
        raise ConfigError("expression", str(function), remedy)


def split_signs(value):
    """sign and the absolute value of a product as products."""
    import sympy

    def product(x):
        return x.func in (sympy.sign, sympy.Abs) and x.args[0].is_Mul

    return value.replace(product, lambda x: sympy.Mul(*(x.func(factor) for factor in x.args[0].args)))
