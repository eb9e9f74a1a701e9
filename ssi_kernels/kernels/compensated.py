"""Updates that lose nothing in float32: differences instead of new values, and Kahan's residual.

A normalisation factor close to 1 rounds with a bias that adds up over millions of steps. So the factor
minus one, 1/n - 1, comes from |new|^2 - 1, and what an addition rounds away is carried to the next step.
"""

from __future__ import annotations

from jax import numpy as jnp


def rescaling(excess):
    """1/n - 1 for n^2 = 1 + `excess`, without cancellation: -excess / (n^2 + n). NaN where `excess` is infinite."""
    square = 1 + excess
    return -excess / (square + jnp.sqrt(square))


def poisoned(value, probe):
    """`value` where `probe` is finite, else NaN, which then stays in the state: how divergence is seen."""
    return jnp.where(jnp.isfinite(probe), value, jnp.nan)


def add(value, residual, increment):
    """value + increment, and the residual of the sum to be passed to the next call (Kahan)."""
    corrected = increment - residual
    total = value + corrected
    return total, (total - value) - corrected
