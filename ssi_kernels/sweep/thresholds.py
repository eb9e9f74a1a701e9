"""Weak-recovery thresholds: numbers, or text that follows the dimension and the length."""

from __future__ import annotations

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.quantities import evaluate

Label = int | float | str


def labels(written: tuple[Label, ...]) -> tuple[Label, ...]:
    """The thresholds of a sweep in one order, whatever the order they are written in: numbers, then text."""
    return tuple(sorted(written, key=lambda label: (isinstance(label, str), label)))


def resolve(written: tuple[Label, ...], d: int, length: int) -> dict[Label, float]:
    """The value of each threshold at one dimension and length.

    Raises ConfigError for a value outside (0, 1), and for two that are equal there.
    """
    values: dict[Label, float] = {}
    for label in labels(written):
        value = evaluate(label, d, length)
        if not 0 < value < 1:
            raise ConfigError("", label, f"is {value} at d = {d}, L = {length}; a threshold must lie inside (0, 1)")
        if value in values.values():
            raise ConfigError("", label, f"is {value} at d = {d}, L = {length}, like another threshold; keep one")
        values[label] = float(value)
    return values
