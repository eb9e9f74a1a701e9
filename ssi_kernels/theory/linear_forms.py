"""Powers of a field or of a linear form w . z + b, smoothed exactly: E[(w . (z + x) + b)^n] as a polynomial in x."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement

from ssi_kernels.theory.expansion import MOST_TERMS, Index

Series = dict[Index, object]
"""Coefficients of x^alpha, sympy numbers or `Measured`, by sparse multi-index."""


class NotPolynomial(Exception):
    """A part of an expression is no polynomial, or too large to be written out."""


def without_common_fields(factors) -> list[list]:
    """The factors in groups, of which no two share a field."""
    groups: list[tuple[set, list]] = []
    for factor in factors:
        fields, members = set(factor.free_symbols), [factor]
        for other in [group for group in groups if group[0] & fields]:
            groups.remove(other)
            fields |= other[0]
            members = other[1] + members
        groups.append((fields, members))
    return [members for _, members in groups]


@lru_cache(maxsize=256)
def smoothed_power(n: int) -> tuple:
    """E[(z + x)^n] = sum_j n! / (2^j j! (n - 2j)!) x^(n - 2j), as pairs of power and coefficient."""
    import sympy

    f = math.factorial
    return tuple((n - 2 * j, sympy.Integer(f(n) // (2**j * f(j) * f(n - 2 * j)))) for j in range(n // 2 + 1))


def power(value, degree: int) -> Series | None:
    """The series of a power of a field or of a linear form; None for other powers."""
    base, n = value.as_base_exp()
    if not (n.is_Integer and n > 0):
        return None
    if base.is_Symbol:
        place = place_of(base)
        return {((place, k),) if k else (): c for k, c in smoothed_power(int(n)) if k <= degree}
    form = linear(base)
    return None if form is None else _power_of_form(*form, int(n), degree)


def _power_of_form(weights: dict, constant, n: int, degree: int) -> Series:
    """E[(w . (z + x) + b)^n] = sum_m C(n, m) E[(|w| xi + b)^(n - m)] (w . x)^m."""
    import sympy

    check_count(len(weights), min(n, degree))
    square = sympy.Add(*(w * w for w in weights.values()))
    series: Series = {}
    for m in range(min(n, degree) + 1):
        outer = sympy.expand(math.comb(n, m) * _moment(square, constant, n - m))
        if outer == 0:
            continue
        for alpha in indices(weights, m):
            multinomial = math.factorial(m) // math.prod(math.factorial(k) for _, k in alpha)
            series[alpha] = outer * multinomial * sympy.Mul(*(weights[place] ** k for place, k in alpha))
    return series


def _moment(square, constant, n: int):
    """E[(s xi + b)^n] with s^2 = `square`."""
    f = math.factorial
    return sum(f(n) // (f(n - 2 * j) * 2**j * f(j)) * square**j * constant ** (n - 2 * j) for j in range(n // 2 + 1))


def indices(places, order: int) -> Iterator[Index]:
    for chosen in combinations_with_replacement(sorted(places), order):
        yield tuple(Counter(chosen).items())


def check_count(fields: int, order: int) -> None:
    if math.comb(fields + order, order) > MOST_TERMS:
        raise NotPolynomial(f"order {order} of a function of {fields} fields has too many terms")


def linear(value) -> tuple[dict, object] | None:
    """Weights by position and the constant of w . z + b; None for anything else."""
    weights: dict = defaultdict(int)
    constant = 0
    for term in value.args if value.is_Add else (value,):
        fields = term.free_symbols
        if not fields:
            constant += term
            continue
        weight = term.subs(fields.copy().pop(), 1) if _is_multiple(term) else None
        if weight is None:
            return None
        weights[place_of(fields.copy().pop())] += weight
    return dict(weights), constant


def _is_multiple(term) -> bool:
    """Whether a term is a number times a field."""
    symbols = [factor for factor in (term.args if term.is_Mul else (term,)) if not factor.is_number]
    return len(symbols) == 1 and symbols[0].is_Symbol


def place_of(symbol) -> int:
    return int(symbol.name[1:]) - 1
