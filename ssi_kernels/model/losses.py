"""Losses of the residual r = f - y, and their gradients with respect to the student's output f.

`squared`    L = |r|^2 (no factor 1/2; Frobenius norm squared for matrices).
`frobenius`  L = |r|, not squared: what the authors' code uses for its positional/semantic runs.
"""

from __future__ import annotations

from ssi_kernels.errors import ConfigError

LOSSES = ("squared", "frobenius")


def check_loss(name: object) -> str:
    """Raises ConfigError (key `loss`) unless `name` is one of LOSSES."""
    if name not in LOSSES:
        raise ConfigError("loss", name, "use squared or frobenius")
    return name


def value_and_cotangent(name: str, residual, matrix: bool):
    """Loss, shape (...), and dL/df, shape of `residual`: (...) or (L, L, ...) where `matrix`.

    The gradient of `frobenius` at a zero residual is 0 by definition.
    """
    from jax import numpy as jnp

    square = jnp.sum(residual * residual, axis=(0, 1)) if matrix else residual * residual
    if name == "squared":
        return square, 2 * residual
    positive = square > 0
    inverse = jnp.where(positive, 1 / jnp.sqrt(jnp.where(positive, square, 1)), 0)
    return square * inverse, residual * inverse
