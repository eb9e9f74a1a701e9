"""Numbers that may be 0: sympy's, and floating-point ones with an error."""

from __future__ import annotations

from dataclasses import dataclass

_ROUNDING = 4e-16
_NEGLIGIBLE = 1e-40


class Undecided(Exception):
    """A number that is 0 to forty digits, and that sympy shows neither to be 0 nor not to be."""


def shown_zero(number) -> bool:
    """Whether a sympy number is 0, shown by sympy after a look at fifty digits. Raises Undecided."""
    if not seems_zero(number):
        return False
    shown = number.equals(0)
    if shown is None:
        raise Undecided(str(number)[:60])
    return bool(shown)


def seems_zero(number) -> bool:
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


def rounded(number) -> Measured:
    """A sympy number in floating point."""
    value = 0.0 if (negligible := seems_zero(number)) else float(number)
    return Measured(value, _NEGLIGIBLE if negligible and number != 0 else _ROUNDING * abs(value))
