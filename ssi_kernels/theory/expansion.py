"""Targets as finite sums of normalised Hermite polynomials: g = sum_alpha g_alpha h_alpha, alpha a sparse multi-index.

A multi-index is a tuple of (position, degree) pairs, positions increasing from 0 and degrees at least 1; () is the
constant. Exact for polynomials, whatever the length, as long as they have few terms written out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ssi_kernels import expressions
from ssi_kernels.model.targets import Expression, Hermite, Target

Index = tuple[tuple[int, int], ...]
MOST_TERMS = 20_000
_ROUNDING = 1e-14
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True)
class Expansion:
    """g_alpha by alpha."""

    terms: dict[Index, float]

    def square(self) -> Expansion | None:
        """The expansion of g^2, by linearisation of products; None where it has too many terms."""
        if len(self.terms) ** 2 > _MOST_PAIRS:
            return None
        total: dict[Index, float] = defaultdict(float)
        items = list(self.terms.items())
        for place, (left, x) in enumerate(items):
            for index, value in _product(left, left).items():
                total[index] += x * x * value
            for right, y in items[place + 1 :]:
                for index, value in _product(left, right).items():
                    total[index] += 2 * x * y * value
        return Expansion(dict(total))

    @property
    def degree(self) -> int:
        """The largest |alpha| of a term."""
        return max(map(order, self.terms), default=0)

    @property
    def second_moment(self) -> float:
        """E[g^2] = sum_alpha g_alpha^2."""
        return math.fsum(value * value for value in self.terms.values())

    def along(self, direction, xp=np):
        """E[g(z) h_k(v . z)], k = 0..degree, at v of norm at most 1, shape (L,): sum over |alpha| = k of
        g_alpha sqrt(k! / alpha!) v^alpha; for numpy and JAX."""
        terms = self.weights * self.monomials(direction, xp)
        if xp is np:
            return np.bincount(self.orders, terms, minlength=self.degree + 1)
        return xp.zeros(self.degree + 1).at[self.orders].add(terms)

    def along_without_rounding(self, direction: np.ndarray) -> np.ndarray:
        """The same, with 0 where the terms of an order cancel to rounding."""
        terms = np.abs(self.weights * self.monomials(direction))
        size = np.bincount(self.orders, terms, minlength=self.degree + 1)
        found = self.along(direction)
        return np.where(np.abs(found) > _ROUNDING * size, found, 0.0)

    def monomials(self, v, xp=np):
        """v^alpha for every term, shape (n,), at v of shape (L,)."""
        positions, degrees = self._padded
        return xp.prod(v[positions] ** degrees, axis=-1)

    @cached_property
    def orders(self) -> np.ndarray:
        """|alpha| of every term, shape (n,)."""
        return np.array([order(alpha) for alpha in self.terms], dtype=int)

    @cached_property
    def weights(self) -> np.ndarray:
        """g_alpha sqrt(|alpha|! / alpha!) of every term, shape (n,)."""
        logs = [math.lgamma(order(a) + 1) - sum(math.lgamma(k + 1) for _, k in a) for a in self.terms]
        return np.array(list(self.terms.values())) * np.exp(np.array(logs) / 2)

    @cached_property
    def _padded(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and degrees of every term, shape (n, w); padded with degree 0."""
        width = max((len(alpha) for alpha in self.terms), default=0) or 1
        rows = [tuple(alpha) + ((0, 0),) * (width - len(alpha)) for alpha in self.terms]
        table = np.array(rows, dtype=int).reshape(-1, width, 2)
        return table[..., 0], table[..., 1]


def dense_index(alpha: Index, length: int) -> tuple[int, ...]:
    """The degrees of all L fields."""
    degrees = [0] * length
    for position, degree in alpha:
        degrees[position] = degree
    return tuple(degrees)


def order(alpha: Index) -> int:
    """|alpha|."""
    return sum(degree for _, degree in alpha)


@lru_cache(maxsize=64)
def expand_target(target: Target, length: int) -> Expansion | None:
    """The expansion of a scalar polynomial target; None for other targets, or where it has too many terms."""
    if isinstance(target, Hermite):
        return Expansion({((i, target.sie),): 1 / math.sqrt(length) for i in range(length)})
    if not isinstance(target, Expression):
        return None
    value = expressions.to_sympy(target.text, length)
    if not _is_polynomial(value) or written_out_size(value) > MOST_TERMS:
        return None
    places = {symbol: int(symbol.name[1:]) - 1 for symbol in value.free_symbols}
    total: dict = defaultdict(int)
    for monomial, coefficient in value.expand().as_coefficients_dict().items():
        for index, weight in _hermite_terms(monomial, places).items():
            total[index] += coefficient * weight
    return Expansion({index: number for index, exact in total.items() if (number := _number(exact))})


def _number(exact) -> float:
    """A sum of numbers as a float, 0 where it cancels."""
    approximate = exact.evalf(40)
    if abs(approximate) < 1e-30:
        return 0.0
    return float(approximate)


def _is_polynomial(value) -> bool:
    return bool(value.is_polynomial(*value.free_symbols)) if value.free_symbols else True


def written_out_size(value) -> int:
    """A bound on the number of terms of an expression once it is written out."""
    if value.is_Add:
        return sum(written_out_size(part) for part in value.args)
    if value.is_Mul:
        return math.prod(written_out_size(part) for part in value.args)
    if value.is_Pow and value.exp.is_Integer and not value.base.is_Symbol and not value.is_number:
        terms = written_out_size(value.base)
        return math.comb(int(value.exp) + terms - 1, terms - 1) if terms < 2000 else MOST_TERMS + 1
    return 1


def _hermite_terms(monomial, places: dict) -> dict:
    """A product of powers of fields in terms of h_alpha, with sympy numbers as coefficients."""
    total = {(): _one()}
    factors = monomial.as_powers_dict().items()
    for base, power in sorted(factors, key=lambda item: places.get(item[0], -1)):
        if base not in places:
            total = {index: value * base**power for index, value in total.items()}
            continue
        row = _power(int(power))
        total = {
            (*index, (places[base], k)) if k else index: value * weight
            for index, value in total.items()
            for k, weight in row.items()
        }
    return total


def _one():
    import sympy

    return sympy.Integer(1)


@lru_cache(maxsize=256)
def _power(n: int) -> dict:
    """x^n = sum_k weight_k h_k(x), weight_k = n! / (2^j j! sqrt(k!)) with k = n - 2j."""
    import sympy

    return {
        n - 2 * j: sympy.factorial(n) / (2**j * sympy.factorial(j) * sympy.sqrt(sympy.factorial(n - 2 * j)))
        for j in range(n // 2 + 1)
    }


def _product(left: Index, right: Index) -> dict[Index, float]:
    """h_alpha h_beta in terms of h_gamma."""
    one, other = dict(left), dict(right)
    total: dict[Index, float] = {(): 1.0}
    for position in sorted(one.keys() | other.keys()):
        row = _linearised(one.get(position, 0), other.get(position, 0))
        total = {
            (*index, (position, k)) if k else index: value * weight
            for index, value in total.items()
            for k, weight in row
        }
    return total


@lru_cache(maxsize=4096)
def _linearised(m: int, n: int) -> tuple[tuple[int, float], ...]:
    """h_m h_n = sum_r C(m, r) C(n, r) r! sqrt((m + n - 2r)! / (m! n!)) h_{m + n - 2r}."""
    f = math.factorial
    return tuple(
        (m + n - 2 * r, math.comb(m, r) * math.comb(n, r) * f(r) * math.sqrt(f(m + n - 2 * r) / (f(m) * f(n))))
        for r in range(min(m, n) + 1)
    )
