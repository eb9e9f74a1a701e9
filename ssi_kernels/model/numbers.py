"""Numbers inside descriptions: checked once, and canonical at 12 significant digits."""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Real

from ssi_kernels.errors import ConfigError

DIGITS = 12


@lru_cache(maxsize=2**16)  # a grid repeats the values of its axes very often
def canonical_number(x: float) -> int | float:
    """`x` at 12 significant digits; integral values become integers, so that 1 and 1.0 are one value."""
    rounded = float(f"{float(x):.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def finite(key: str, value: object) -> float:
    """`value` as a float at 12 significant digits. Raises ConfigError where it is not a finite real number."""
    try:
        number = float(canonical_number(_real(value)))
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(key, value, "must be a finite number")
    return number


def whole(key: str, value: object, least: int) -> int:
    """`value` as an integer in [least, 2**63), all digits kept; 64.0 counts, 64.5 does not. Raises ConfigError."""
    try:
        number = _real(value)
        exact = int(number)
    except (TypeError, ValueError, OverflowError):
        number, exact = math.nan, least
    if exact != number or exact < least:
        raise ConfigError(key, value, f"must be an integer of at least {least}")
    if exact >= 2**63:
        raise ConfigError(key, value, "must be below 2**63")
    return exact


def _real(value: object) -> Real:
    """A real number, also out of an array without dimensions. Raises TypeError for anything else, booleans included."""
    if type(value) in (int, float):
        return value
    number = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{type(value).__name__} is not a real number")
    return number


def vector(key: str, values: object) -> tuple[float, ...]:
    """A non-empty list of finite numbers as a tuple."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple) or not values:
        raise ConfigError(key, values, "must be a list of numbers such as [0.5, 0.5]")
    return tuple(finite(f"{key}[{i}]", v) for i, v in enumerate(values))


def matrix(key: str, rows: object) -> tuple[tuple[float, ...], ...]:
    """A list of rows of equal length as a tuple of tuples; shape (L, r)."""
    if hasattr(rows, "tolist"):
        rows = rows.tolist()
    if not isinstance(rows, list | tuple) or not rows:
        raise ConfigError(key, rows, "must be a list of rows, one per position, such as [[1], [-1]]")
    checked = tuple(vector(f"{key}[{i}]", row) for i, row in enumerate(rows))
    if len({len(row) for row in checked}) != 1:
        raise ConfigError(key, rows, "must have rows of equal length")
    return checked
