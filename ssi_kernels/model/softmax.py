"""Row-wise softmax of an L x L matrix of logits whose trailing axes are lanes."""

from __future__ import annotations


def softmax_rows(logits):
    """softmax over axis 1 of `logits`, shape (L, L, ...). Two columns reduce to one logistic function."""
    import jax
    from jax import numpy as jnp

    if logits.shape[1] == 2:
        first = jax.nn.sigmoid(logits[:, 0] - logits[:, 1])
        return jnp.stack([first, 1 - first], axis=1)
    weights = jnp.exp(logits - jax.lax.stop_gradient(jnp.max(logits, axis=1, keepdims=True)))
    return weights / jnp.sum(weights, axis=1, keepdims=True)


def outer(z):
    """z z^T over the leading axis: shape (L, ...) to (L, L, ...)."""
    return z[:, None] * z[None, :]
