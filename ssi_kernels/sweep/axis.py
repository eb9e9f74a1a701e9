"""One axis of a grid: a number, a list, or a range; as a sorted tuple of distinct values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.sweep.fields import Form, Integer, Number, Section, Written, validated
from ssi_kernels.sweep.quantities import read_integer, read_number
from ssi_kernels.sweep.refusals import refusal

MAX_VALUES = 1_000_000


class Range(Section):
    """`num` values from `start` to `stop`, both included exactly."""

    place: ClassVar[str] = "sweeps.<name>.grid.<axis>"
    start: Number = Field(description="First value.")
    stop: Number = Field(description="Last value, included.")
    num: Annotated[Integer, Field(ge=1, le=MAX_VALUES), Form("integer, at least 1")] = Field(
        description="How many values, both ends included."
    )
    scale: Literal["linear", "log"] = Field(
        "linear", description="Equal differences, or equal ratios (then both ends must have one sign)."
    )

    @model_validator(mode="after")
    def _check(self) -> Range:
        if self.num == 1 and self.start != self.stop:
            raise ConfigError("num", self.num, "cannot hold both start and stop; use 2 or more, or one number")
        if self.scale == "log" and self.start * self.stop <= 0:
            raise ConfigError("start", self.start, "start and stop of a log scale must not be 0 and must have one sign")
        return self

    def values(self) -> list[int | float]:
        """The values in order, at 12 significant digits."""
        if self.num == 1:
            return [canonical_number(self.start)]
        inner = self._log() if self.scale == "log" else self._linear()
        return [canonical_number(x) for x in (self.start, *inner, self.stop)]

    def _linear(self) -> list[float]:
        start, stop = (Fraction(repr(float(end))) for end in (self.start, self.stop))
        return [float(start + (stop - start) * Fraction(i, self.num - 1)) for i in range(1, self.num - 1)]

    def _log(self) -> list[float]:
        low, width = math.log(abs(self.start)), math.log(abs(self.stop)) - math.log(abs(self.start))
        sign = math.copysign(1, self.start)
        return [sign * math.exp(low + width * i / (self.num - 1)) for i in range(1, self.num - 1)]


def read_axis(value: object, read_value: Callable[[object], int | float]) -> tuple:
    """Distinct values in increasing order. Raises ConfigError for an empty axis or a value `read_value` refuses."""
    if isinstance(value, Mapping | Range):
        entries = validated(Range, value).values()
    else:
        entries = value if isinstance(value, list | tuple) else [value]
    if not entries:
        raise refusal(value, "is empty; give at least one value")
    return tuple(sorted({read_value(entry) for entry in entries}))


def read_count(value: object) -> int:
    """An integer of at least 1."""
    number = read_integer(value)
    if number < 1:
        raise refusal(value, "must be an integer of at least 1")
    return number


def read_fraction(value: object) -> float:
    """A number in [0, 1]."""
    number = read_number(value)
    if not 0 <= number <= 1:
        raise refusal(value, "must lie in [0, 1]")
    return float(number)


def read_positive(value: object) -> float:
    """A number above 0."""
    number = read_number(value)
    if number <= 0:
        raise refusal(value, "must be positive")
    return float(number)


_Input = Written | list[Written] | Range


def _axis(read_value: Callable[[object], int | float]) -> BeforeValidator:
    return BeforeValidator(lambda value: read_axis(value, read_value), json_schema_input_type=_Input)


_FORM = "number, list, or {start, stop, num, scale}"
Counts = Annotated[tuple[int, ...], _axis(read_count), Form(f"{_FORM}; integers of at least 1")]
Fractions = Annotated[tuple[float, ...], _axis(read_fraction), Form(f"{_FORM}; in [0, 1]")]
Positives = Annotated[tuple[float, ...], _axis(read_positive), Form(f"{_FORM}; above 0")]
