"""Activations of tied and untied students, by name."""

from __future__ import annotations

import re

from ssi_kernels.errors import ConfigError
from ssi_kernels.hermite import he, normalised

NAMED = ("identity", "relu", "tanh", "sigmoid", "square")
_HERMITE = re.compile(r"(He|h)_?([0-9]{1,2})$")


def canonical_name(name: object) -> str:
    """The one spelling of an activation. Raises ConfigError (key `student.activation`) for unknown names."""
    if name in NAMED:
        return name
    match = _HERMITE.match(name) if isinstance(name, str) else None
    if not match or not 1 <= int(match[2]) <= 64:
        raise ConfigError("student.activation", name, f"use one of {', '.join(NAMED)}, He1, He2, ... or h1, h2, ...")
    return f"{match[1]}{int(match[2])}"


def evaluate(name: str, x):
    """sigma(x), elementwise, for a canonical name."""
    import jax

    if name == "identity":
        return x
    if name == "square":
        return x * x
    if name in NAMED:
        return getattr(jax.nn, name)(x)
    family, degree = _HERMITE.match(name).groups()
    return (he if family == "He" else normalised)(int(degree), x)
