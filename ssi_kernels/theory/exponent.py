"""The sequence information exponent of a target, and its leading Hermite tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels import expressions
from ssi_kernels.model import encodings, targets
from ssi_kernels.model.numbers import whole
from ssi_kernels.model.targets import Expression, Hermite, Target
from ssi_kernels.theory import numerical
from ssi_kernels.theory.evaluate import in_basis
from ssi_kernels.theory.expansion import Index, dense_index
from ssi_kernels.theory.linear_forms import NotPolynomial
from ssi_kernels.theory.measured import Measured, Undecided, shown_zero
from ssi_kernels.theory.smoothed import polynomial_degree, smoothed_taylor, smoothed_values
from ssi_kernels.theory.tensor import CLEAR, is_orthogonally_decomposable, operator_norm, tensor_form

if TYPE_CHECKING:
    from ssi_kernels.model.encodings import Encoding

_RULES = 1e-13  # of the factors of long products, whose coefficients below it are left out
_LEAST_ORDER, _MOST_ORDER = 8, 64


@dataclass(frozen=True)
class Exponent:
    """The smallest k >= 1 with C_k = E[g(z) He_k-tensor(z)] != 0, and C_k itself (Arnaboldi et al. 2025, section 3).

    `sie` is None for a constant. `coefficients` maps alpha, a tuple of L degrees of sum k, to g_alpha = E[g h_alpha],
    for a matrix target to L rows of L numbers. `norm` is the Frobenius norm of C_k, norm^2 = k! sum_alpha g_alpha^2;
    `operator_norm` the largest |C_k(v, .., v)| over unit vectors v (see the function of that name); `on_ones` is
    C_k(1, .., 1) with every entry of the vector 1; `orthogonally_decomposable` says whether C_k is a sum of powers of
    orthogonal vectors, and is None where that is not decided. For a matrix target the norm is over all entries, and
    these three are None. `exact` means shown by symbolic calculation; else `tolerance` bounds the error of the
    coefficients, and `note` says how they were found and what cannot be told from 0.
    """

    sie: int | None
    exact: bool
    tolerance: float
    coefficients: dict[tuple[int, ...], float | tuple[tuple[float, ...], ...]]
    norm: float
    operator_norm: float | None
    on_ones: float | None
    orthogonally_decomposable: bool | None
    note: str


def sie(target: Target | str, length: int) -> int | None:
    """The sequence information exponent of a target or of an expression; None for a constant. Raises ConfigError."""
    return exponent(target, length).sie


def exponent(target: Target | str, length: int, encoding: Encoding | None = None) -> Exponent:
    """The exponent of a target, or of an expression given as text.

    Exact for polynomials; by one-dimensional rules for sums and products of functions of one linear form each, up to
    order 8 L but at most the larger of 64 and L; else by `numerical`, up to order `numerical.MOST_ORDER`. `encoding`
    gives positional-semantic and mixed-logit targets their pattern. Raises ConfigError where the target does not fit
    the length, or where its square has no finite expectation.
    """
    target = target if isinstance(target, Target) else targets.expression(target)
    encoding = encodings.none() if encoding is None else encoding
    length = whole("length", length, 1)
    target.check(length, encoding)
    return _exponent(target, length, encoding)


@lru_cache(maxsize=256)
def _exponent(target: Target, length: int, encoding: Encoding) -> Exponent:
    if isinstance(target, Hermite):
        return _of_family(target.sie, length)
    if isinstance(target, Expression):
        value = expressions.to_sympy(target.text, length)
        for method in (_symbolic, _by_parts):
            try:
                return method(value, length)
            except (NotPolynomial, Undecided):
                pass
    return _sampled(target, length, encoding)


# Where the coefficients of x^alpha in E[g(z + x)], t_alpha = g_alpha / sqrt(alpha!), come from


def _of_family(order: int, length: int) -> Exponent:
    """sum_i h_k(z_i) / sqrt(L)."""
    weight = 1 / math.sqrt(length * math.factorial(order))
    leading = {((i, order),): weight for i in range(length)}
    return _described(leading, order, length, math.factorial(order) * weight * length, "exact: by definition")


def _symbolic(value, length: int) -> Exponent:
    import sympy

    for order in range(1, polynomial_degree(value) + 1):
        series = smoothed_taylor(value, order, shown_zero)
        leading = {alpha: c for alpha, c in series.items() if _order(alpha) == order}
        if leading:
            total = sympy.factorial(order) * sympy.Add(*leading.values())
            on_ones = 0.0 if shown_zero(total) else float(total)
            numbers = {alpha: float(c) for alpha, c in leading.items()}
            return _described(numbers, order, length, on_ones, "exact: symbolic")
    return _constant(True, 0.0, "exact: symbolic; the target is constant")


def _by_parts(value, length: int) -> Exponent:
    """From one-dimensional rules for the parts of an expression."""
    most, within = max(min(_LEAST_ORDER * length, _MOST_ORDER), length), 0.0
    for order in range(1, most + 1):
        here = {alpha: c for alpha, c in smoothed_values(value, order).items() if _order(alpha) == order}
        leading = {alpha: c for alpha, c in here.items() if not c.is_zero}
        if leading:
            return _measured(leading, order, length, "one-dimensional rules", within)
        within = max([within, *(c.error * _root(alpha) for alpha, c in here.items())])
    within = within or _RULES
    words = f"no order up to {most} is above the tolerance {within:.1e}: constant within it"
    return _constant(False, within, f"numerical: one-dimensional rules; {words}")


def _sampled(target: Target, length: int, encoding: Encoding) -> Exponent:
    """From rules over all fields, or from quasi-Monte Carlo."""
    found = numerical.leading(target, length, encoding)
    if found.order is None:
        return _constant(False, found.tolerance, f"{found.note}; the answer is within the tolerance of a constant")
    words = found.note.removeprefix("numerical: ")
    if target.is_matrix(length):
        return _of_matrix(found, length, words)
    leading = {
        _sparse(alpha): Measured(value, found.tolerance) * Measured(1 / _root(_sparse(alpha)), 0.0)
        for alpha, value in found.coefficients.items()
    }
    return _measured(leading, found.order, length, words, found.tolerance)


# What is told of them


def _measured(leading: dict[Index, Measured], order: int, length: int, words: str, within: float) -> Exponent:
    """`within`: what the coefficients of lower orders are 0 within."""
    numbers = {alpha: c.value for alpha, c in leading.items()}
    total = math.factorial(order) * math.fsum(numbers.values())
    slack = math.factorial(order) * math.fsum(c.error for c in leading.values())
    tolerance = max(c.error * _root(alpha) for alpha, c in leading.items())
    largest = max(abs(c.value) * _root(alpha) for alpha, c in leading.items())
    vanishes = len(leading) > 1 and abs(total) <= slack
    remarks = [f"numerical: {words}"]
    if order > 1:
        remarks.append(f"lower orders are 0 within {max(within, tolerance):.1e}")
    if largest < CLEAR * tolerance:
        remarks.append(f"the answer is close to the tolerance {tolerance:.1e}")
    if vanishes:
        remarks.append(f"the value on ones is 0 within {slack:.1e}")
    return _described(numbers, order, length, 0.0 if vanishes else total, "; ".join(remarks), tolerance)


def _described(
    leading: dict[Index, float], order: int, length: int, on_ones: float, note: str, tolerance: float | None = None
) -> Exponent:
    """`tolerance` None: exact."""
    form = tensor_form(leading, order, length)
    coefficients = {dense_index(alpha, length): value * _root(alpha) for alpha, value in leading.items()}
    norm = _norm(order, list(coefficients.values()))
    slack = 0.0 if tolerance is None else tolerance * math.sqrt(math.factorial(order)) / norm
    return Exponent(
        sie=order,
        exact=tolerance is None,
        tolerance=tolerance or 0.0,
        coefficients=coefficients,
        norm=norm,
        operator_norm=operator_norm(form, order),
        on_ones=on_ones,
        orthogonally_decomposable=is_orthogonally_decomposable(form, order, slack),
        note=note,
    )


def _of_matrix(found: numerical.Leading, length: int, words: str) -> Exponent:
    """Entries from the rotated outputs of `in_basis`."""
    units = np.eye(length * length).reshape(length, length, -1)
    outputs = np.array(list(found.coefficients.values()), dtype=float)
    entries = (outputs @ in_basis(units)).reshape(-1, length, length)
    rows = [tuple(tuple(row) for row in matrix) for matrix in entries.tolist()]
    below = f"; lower orders are 0 within {found.tolerance:.1e}" if found.order > 1 else ""
    return Exponent(
        sie=found.order,
        exact=False,
        tolerance=found.tolerance,
        coefficients=dict(zip(found.coefficients, rows, strict=True)),
        norm=_norm(found.order, outputs),
        operator_norm=None,
        on_ones=None,
        orthogonally_decomposable=None,
        note=f"numerical: {words}{below}",
    )


def _constant(exact: bool, tolerance: float, note: str) -> Exponent:
    return Exponent(None, exact, tolerance, {}, 0.0, 0.0, 0.0, None, note)


def _norm(order: int, coefficients) -> float:
    """The Frobenius norm of C_k from all g_alpha; of numbers whose squares may underflow."""
    return math.sqrt(math.factorial(order)) * math.hypot(*np.ravel(coefficients).tolist())


def _order(alpha: Index) -> int:
    return sum(degree for _, degree in alpha)


def _root(alpha: Index) -> float:
    """sqrt(alpha!)."""
    return math.sqrt(math.prod(math.factorial(degree) for _, degree in alpha))


def _sparse(alpha: tuple[int, ...]) -> Index:
    return tuple((position, degree) for position, degree in enumerate(alpha) if degree)
