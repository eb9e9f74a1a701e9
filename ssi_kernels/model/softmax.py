"""Row-wise softmax of an L x L matrix of logits (trailing axes, such as samples, are carried along)."""

from __future__ import annotations

from ssi_kernels.elementary import exp, kept, sigmoid


def softmax_rows(logits):
    """softmax over axis 1 of `logits`, shape (L, L, ...). Two columns reduce to one logistic function."""
    from jax import numpy as jnp

    if logits.shape[1] == 2:
        first = sigmoid(logits[:, 0] - logits[:, 1])
        return jnp.stack([first, 1 - first], axis=1)
    return _normalised(logits, jnp.max(logits, axis=1, keepdims=True))


def attention_matrix(z):
    """S = softmax_rows(z z^T), shape (L, L, ...) for z of shape (L, ...).

    The largest logit of row i is z_i times the largest or the smallest field: found in O(L), not O(L^2).
    """
    from jax import numpy as jnp

    if z.shape[0] == 2:
        return softmax_rows(outer(z))
    largest = kept(jnp.maximum(z * jnp.max(z, axis=0), z * jnp.min(z, axis=0)))
    return _normalised(outer(z), largest[:, None])


def _normalised(logits, largest):
    import jax
    from jax import numpy as jnp

    weights = exp(logits - jax.lax.stop_gradient(largest))
    return weights * (1 / jnp.sum(weights, axis=1, keepdims=True))


def attention_pullback(z, scores, cotangent):
    """q_k = sum_ij G_ij dS_ij/dz_k for S = softmax_rows(z z^T), `scores` S and `cotangent` G of shape (L, L).

    With T_ij = S_ij (G_ij - sum_k S_ik G_ik), the gradient in the logits, q = (T + T^T) z.
    """
    from jax import numpy as jnp

    if z.shape[0] == 2:
        first, second = scores[:, 0] * scores[:, 1] * (cotangent[:, 0] - cotangent[:, 1])
        return jnp.stack([first * (2 * z[0] - z[1]) + second * z[1], second * (z[0] - 2 * z[1]) - first * z[0]])
    weighted = scores * cotangent
    slope = weighted - scores * jnp.sum(weighted, axis=1, keepdims=True)
    return jnp.sum((slope + slope.T) * z[None], axis=1)


def trace_pullback(z, scores):
    """d Tr S / dz for S = softmax_rows(z z^T): 2 D z - D S z - S^T D z with D the diagonal of S, shape (L,)."""
    from jax import numpy as jnp

    diagonal = jnp.stack([scores[i, i] for i in range(z.shape[0])])
    mean = jnp.sum(scores * z[None], axis=1)
    return diagonal * (2 * z - mean) - jnp.sum(scores * (diagonal * z)[:, None], axis=0)


def outer(z):
    """z z^T over the leading axis: shape (L, ...) to (L, L, ...)."""
    return z[:, None] * z[None, :]
