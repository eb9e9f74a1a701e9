"""Activations of tied and untied students, by name."""

from __future__ import annotations

from ssi_kernels.elementary import sigmoid, tanh
from ssi_kernels.errors import ConfigError
from ssi_kernels.grammar import MAX_DEGREE, hermite_of
from ssi_kernels.hermite import he, normalised

NAMED = ("identity", "relu", "tanh", "sigmoid", "square")


def canonical_name(name: object) -> str:
    """The one spelling of an activation. Raises ConfigError (key `student.activation`) for unknown names."""
    if name in NAMED:
        return name
    found = hermite_of(name) if isinstance(name, str) else None
    if not found or not 1 <= found[1] <= MAX_DEGREE:
        remedy = f"use one of {', '.join(NAMED)}, He1..He{MAX_DEGREE} or h1..h{MAX_DEGREE}"
        raise ConfigError("student.activation", name, remedy)
    return f"{found[0]}{found[1]}"


def evaluate(name: str, x):
    """sigma(x), elementwise, for a canonical name."""
    import jax

    if name == "identity":
        return x
    if name == "square":
        return x * x
    if name == "relu":
        return jax.nn.relu(x)
    if name in NAMED:
        return {"tanh": tanh, "sigmoid": sigmoid}[name](x)
    family, degree = hermite_of(name)
    return (he if family == "He" else normalised)(degree, x)
