"""The smoothed target G(x) = E[g(z + x)], z ~ N(0, I): its Taylor coefficients are the Hermite coefficients of g.

d^alpha G(0) = E[g He_alpha], so G = E g + sum_alpha E[g He_alpha] x^alpha / alpha! (Arnaboldi et al. 2025, section 3).
Structure is kept: a sum is smoothed term by term, a product of factors without common fields factor by factor; only
factors that share fields are written out. So the lowest orders cost little, however many terms the whole has.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from operator import attrgetter

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.theory.expansion import MOST_TERMS, Index, written_out_size
from ssi_kernels.theory.rules import split

Series = dict[Index, object]
"""Coefficients of x^alpha, sympy numbers or `Measured`, by sparse multi-index."""

_REACH, _MARGIN = 20, 2
_ORDER = 24
_ROUNDING = 4e-16
_NEGLIGIBLE = 1e-40
_LEAST = 1e-13
_LOST = 1e-6
_UNSETTLED = 0.1


class NotPolynomial(Exception):
    """A part of an expression is no polynomial, or too large to be written out."""


class Undecided(Exception):
    """A number that is 0 to forty digits, and that sympy shows neither to be 0 nor not to be."""


def smoothed_taylor(value, degree: int, is_zero: Callable | None = None) -> Series:
    """The coefficients of x^alpha in G, |alpha| <= degree, that are not 0: exact, for a polynomial sympy expression.

    `is_zero` decides what is 0 (`shown_zero`; by default, a number that is 0 to forty digits is). Raises NotPolynomial.
    """
    is_zero = is_zero or _seems_zero
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


def shown_zero(number) -> bool:
    """Whether a sympy number is 0, shown by sympy after a look at fifty digits. Raises Undecided."""
    if not _seems_zero(number):
        return False
    shown = number.equals(0)
    if shown is None:
        raise Undecided(str(number)[:60])
    return bool(shown)


def _seems_zero(number) -> bool:
    import sympy

    number = sympy.sympify(number)
    return bool(number == 0) if number.is_Rational else bool(abs(number.evalf(50)) < _NEGLIGIBLE)


@dataclass(frozen=True)
class Measured:
    """A number in floating point and a bound on its error."""

    value: float
    error: float

    def __add__(self, other: Measured) -> Measured:
        value = self.value + other.value
        return Measured(value, self.error + other.error + _ROUNDING * abs(value))

    def __mul__(self, other: Measured) -> Measured:
        value = self.value * other.value
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        return Measured(value, error + _ROUNDING * abs(value))

    @property
    def is_zero(self) -> bool:
        """Whether it cannot be told from 0."""
        return abs(self.value) <= self.error


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
        return _power(value, degree) if value.is_Symbol or value.is_Pow else None

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
        return _rounded(value)

    def whole(self, value, degree: int) -> Series | None:
        exact = super().whole(value, degree)
        if exact is not None:
            return {alpha: _rounded(c) for alpha, c in exact.items()}
        if value.is_polynomial(*value.free_symbols):
            return None
        found = _of_linear_form(value)
        return None if found is None else _ridge(*found, degree)

    def kept(self, part: Series, parts: list[Series]) -> Series:
        """All terms where these are few, for the errors of those that cannot be told from 0."""
        return part if math.prod(map(len, parts)) <= MOST_TERMS else super().kept(part, parts)

    def opened(self, value):
        return _split_signs(value.expand())


def _sum(parts: Iterator[Series]) -> Series:
    total: Series = {}
    for part in parts:
        for index, coefficient in part.items():
            total[index] = total[index] + coefficient if index in total else coefficient
    return total


def _one():
    import sympy

    return sympy.Integer(1)


def _rounded(number) -> Measured:
    value = 0.0 if (negligible := _seems_zero(number)) else float(number)
    return Measured(value, _NEGLIGIBLE if negligible and number != 0 else _ROUNDING * abs(value))


def _order(alpha: Index) -> int:
    return sum(degree for _, degree in alpha)


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


# Powers of a field or of a linear form, exactly


@lru_cache(maxsize=256)
def smoothed_power(n: int) -> tuple:
    """E[(z + x)^n] = sum_j n! / (2^j j! (n - 2j)!) x^(n - 2j), as pairs of power and coefficient."""
    import sympy

    f = math.factorial
    return tuple((n - 2 * j, sympy.Integer(f(n) // (2**j * f(j) * f(n - 2 * j)))) for j in range(n // 2 + 1))


def _power(value, degree: int) -> Series | None:
    """The series of a power of a field or of a linear form; None for other powers."""
    base, n = value.as_base_exp()
    if not (n.is_Integer and n > 0):
        return None
    if base.is_Symbol:
        place = _place(base)
        return {((place, k),) if k else (): c for k, c in smoothed_power(int(n)) if k <= degree}
    form = _linear(base)
    return None if form is None else _power_of_form(*form, int(n), degree)


def _power_of_form(weights: dict, constant, n: int, degree: int) -> Series:
    """E[(w . (z + x) + b)^n] = sum_m C(n, m) E[(|w| xi + b)^(n - m)] (w . x)^m."""
    import sympy

    _check_count(len(weights), min(n, degree))
    square = sympy.Add(*(w * w for w in weights.values()))
    series: Series = {}
    for m in range(min(n, degree) + 1):
        outer = sympy.expand(math.comb(n, m) * _moment(square, constant, n - m))
        if outer == 0:
            continue
        for alpha in _indices(weights, m):
            multinomial = math.factorial(m) // math.prod(math.factorial(k) for _, k in alpha)
            series[alpha] = outer * multinomial * sympy.Mul(*(weights[place] ** k for place, k in alpha))
    return series


def _moment(square, constant, n: int):
    """E[(s xi + b)^n] with s^2 = `square`."""
    f = math.factorial
    return sum(f(n) // (f(n - 2 * j) * 2**j * f(j)) * square**j * constant ** (n - 2 * j) for j in range(n // 2 + 1))


def _indices(places, order: int) -> Iterator[Index]:
    for chosen in combinations_with_replacement(sorted(places), order):
        yield tuple(Counter(chosen).items())


def _check_count(fields: int, order: int) -> None:
    if math.comb(fields + order, order) > MOST_TERMS:
        raise NotPolynomial(f"order {order} of a function of {fields} fields has too many terms")


def _linear(value) -> tuple[dict, object] | None:
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
        weights[_place(fields.copy().pop())] += weight
    return dict(weights), constant


def _is_multiple(term) -> bool:
    """Whether a term is a number times a field."""
    symbols = [factor for factor in (term.args if term.is_Mul else (term,)) if not factor.is_number]
    return len(symbols) == 1 and symbols[0].is_Symbol


def _place(symbol) -> int:
    return int(symbol.name[1:]) - 1


# Functions of one linear form, by one-dimensional rules


def _of_linear_form(value):
    """F, weights w and constant b with value = F(w . z + b), F an expression in one symbol; None where there are none.

    An argument such as that of relu(3*z1 - 1) is preferred to the field itself, so that a kink is where the rule's is.
    """
    import sympy

    u = sympy.Symbol("z", real=True)
    for part in sympy.preorder_traversal(value):
        if part.is_Add and part.free_symbols == value.free_symbols and (form := _linear(part)) is not None:
            function = value.xreplace({part: u})
            if function.free_symbols == {u}:
                return function, *form
    if len(value.free_symbols) > 1:
        return None
    (field,) = value.free_symbols
    return value.xreplace({field: u}), {_place(field): _one()}, 0


def _ridge(function, weights: dict, constant, degree: int) -> dict[Index, Measured]:
    """E[F(w . z + b) He_alpha] / alpha! = (w / |w|)^alpha sqrt(k!) / alpha! E[F(|w| xi + b) h_k(xi)], k = |alpha|."""
    _check_count(len(weights), degree)
    numbers = {place: float(weight) for place, weight in weights.items()}
    size = math.hypot(*numbers.values())
    moments, error = _moments(function, size, float(constant), 64 * (1 + degree // 64))
    series = {}
    for k in range(degree + 1):
        for alpha in _indices(numbers, k):
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


def _split_signs(value):
    """sign and the absolute value of a product as products."""
    import sympy

    def product(x):
        return x.func in (sympy.sign, sympy.Abs) and x.args[0].is_Mul

    return value.replace(product, lambda x: sympy.Mul(*(x.func(factor) for factor in x.args[0].args)))
