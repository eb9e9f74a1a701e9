"""The smoothed target G(x) = E[g(z + x)], z ~ N(0, I): its Taylor coefficients are the Hermite coefficients of g.

d^alpha G(0) = E[g He_alpha], so G = E g + sum_alpha E[g He_alpha] x^alpha / alpha! (Arnaboldi et al. 2025, section 3).
Structure is kept: a sum is smoothed term by term, a product of factors without common fields factor by factor; only
factors that share fields are written out. So the lowest orders cost little, however many terms the whole has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from ssi_kernels.theory.expansion import MOST_TERMS, Index, written_out_size
from ssi_kernels.theory.linear_forms import NotPolynomial, Series, power, without_common_fields
from ssi_kernels.theory.measured import Measured, rounded, seems_zero
from ssi_kernels.theory.ridges import of_linear_form, ridge, split_signs


def smoothed_taylor(value, degree: int, is_zero: Callable | None = None) -> Series:
    """The coefficients of x^alpha in G, |alpha| <= degree, that are not 0: exact, for a polynomial sympy expression.

    `is_zero` decides what is 0 (`shown_zero`; by default, a number that is 0 to forty digits is). Raises NotPolynomial.
    """
    is_zero = is_zero or seems_zero
    series = _Exact(is_zero).smoothed(value, degree)
    return {alpha: c for alpha, c in series.items() if not is_zero(c)}


def smoothed_values(value, degree: int) -> dict[Index, Measured]:
    """The same in floating point, with an error for each, for sums and products of functions of one linear form each.

    Each such function takes one-dimensional rules. In products of many terms, a factor's coefficient within its own
    error counts as 0. Raises NotPolynomial for anything else, and ConfigError for a function whose square has no finite
    expectation.
    """
    return _Numerical(attrgetter("is_zero")).smoothed(value, degree)


def polynomial_degree(value) -> int:
    """A bound on the total degree. Raises NotPolynomial."""
    if value.is_number:
        return 0
    if value.is_Symbol:
        return 1
    if value.is_Add:
        return max(map(polynomial_degree, value.args))
    if value.is_Mul:
        return sum(map(polynomial_degree, value.args))
    if value.is_Pow and value.exp.is_Integer and value.exp > 0:
        return int(value.exp) * polynomial_degree(value.base)
    raise NotPolynomial(str(value)[:60])


@dataclass(frozen=True)
class _Exact:
    """Smooths an expression by its structure, down to powers of fields and of linear forms."""

    is_zero: Callable

    def smoothed(self, value, degree: int) -> Series:
        import sympy

        if value.is_number:
            return {(): self.number(value)}
        if value.is_Add:
            return _sum(self.smoothed(part, degree) for part in value.args)
        if value.is_Mul:
            groups = without_common_fields(value.args)
            if len(groups) > 1:
                return self._multiplied([self._connected(sympy.Mul(*group), degree) for group in groups], degree)
        return self._connected(value, degree)

    def number(self, value):
        """A number of the expression as a coefficient."""
        return value

    def whole(self, value, degree: int) -> Series | None:
        """The series of an expression that is smoothed as it stands, else None."""
        return power(value, degree) if value.is_Symbol or value.is_Pow else None

    def _connected(self, value, degree: int) -> Series:
        """Smooths an expression that is no product of parts without common fields."""
        if value.is_number or value.is_Add:
            return self.smoothed(value, degree)
        found = self.whole(value, degree)
        if found is not None:
            return found
        if written_out_size(value) > MOST_TERMS:
            raise NotPolynomial(f"{str(value)[:60]} has too many terms")
        expanded = self.opened(value)
        if expanded == value:
            raise NotPolynomial(str(value)[:60])
        return self.smoothed(expanded, degree)

    def kept(self, part: Series, parts: list[Series]) -> Series:
        """The terms of a factor that a product takes up."""
        return {alpha: c for alpha, c in part.items() if not self.is_zero(c)}

    def opened(self, value):
        """An expression written out."""
        polynomial_degree(value)
        return value.expand()

    def _multiplied(self, parts: list[Series], degree: int) -> Series:
        """The product of series without common fields, cut at a total degree."""
        kept = [self.kept(part, parts) for part in parts]
        if not all(kept):
            return {}
        lowest = [min(map(_order, part)) for part in kept]
        total: Series = {(): self.number(_one())}
        for place, part in enumerate(kept):
            room = degree - sum(lowest[place + 1 :])
            product: Series = {}
            for left, x in total.items():
                for right, y in part.items():
                    if _order(left) + _order(right) <= room:
                        product[tuple(sorted(left + right))] = x * y
            total = product
        return total


@dataclass(frozen=True)
class _Numerical(_Exact):
    """The same with floating-point numbers, down to any function of one linear form."""

    def number(self, value):
        return rounded(value)

    def whole(self, value, degree: int) -> Series | None:
        exact = super().whole(value, degree)
        if exact is not None:
            return {alpha: rounded(c) for alpha, c in exact.items()}
        if value.is_polynomial(*value.free_symbols):
            return None
        found = of_linear_form(value)
        return None if found is None else ridge(*found, degree)

    def kept(self, part: Series, parts: list[Series]) -> Series:
        """All terms where these are few, for the errors of those that cannot be told from 0."""
        return part if math.prod(map(len, parts)) <= MOST_TERMS else super().kept(part, parts)

    def opened(self, value):
        return split_signs(value.expand())


def _sum(parts: Iterator[Series]) -> Series:
    total: Series = {}
    for part in parts:
        for index, coefficient in part.items():
            total[index] = total[index] + coefficient if index in total else coefficient
    return total


def _one():
    import sympy

    return sympy.Integer(1)


def _order(alpha: Index) -> int:
    return sum(degree for _, degree in alpha)
