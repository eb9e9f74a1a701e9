"""SGD with explicit weights: all L x d numbers of every sample are drawn. The ground truth of `reduced`.

Weights are kept as v = w / sqrt(d), of unit length, in a frame of random orthonormal directions u = w*/sqrt(d),
p_1..p_r (drawn per replica, from a stream of their own, so that no token is parallel to them).
Shapes: v (d, W) or (L, d, W), u (d, W), p (r, d, W), tokens X sqrt(d) (L, d, W).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jax import numpy as jnp

from ssi_kernels.kernels.compensated import add, rescaling
from ssi_kernels.kernels.gradient import loss_and_gradient, normalised_sum
from ssi_kernels.kernels.shape import Shape


@dataclass(frozen=True)
class Full:
    """Base: a step draws all coordinates of all tokens."""

    shape: Shape

    @property
    def normals(self) -> int:
        return self.shape.length * self.shape.d

    def initial(self, start):
        """State from unit weights `start`: v (d, W) or (L, d, W)."""
        return {"v": start["v"], "rest": np.zeros_like(start["v"])}

    def _tokens(self, normals):
        return normals[: self.normals].reshape(self.shape.length, self.shape.d, -1)


@dataclass(frozen=True)
class SharedFull(Full):
    """One direction w for all positions."""

    def overlaps(self, state, lane):
        """m = u . v (W,), e_k = p_k . v (r, W), None."""
        return jnp.sum(lane["u"] * state["v"], axis=0), _each_dot(lane["p"], state["v"]), None

    def step(self, state, normals, lane, label):
        """v <- (v - h sum_i q_i (X_i sqrt(d) + P_i)) / |.|; returns the new state and the finiteness probe."""
        length, rank, v, h = self.shape.length, self.shape.rank, state["v"], lane["h"]
        tokens = self._tokens(normals)
        pattern = self.shape.encoding.matrix(length).astype(v.dtype)
        injected = self.shape.encoding.shift(length).astype(v.dtype)[:, None]
        e = _each_dot(lane["p"], v)
        g = _each_dot(tokens, lane["u"])
        z = _each_dot(tokens, v) + sum(pattern[:, k, None] * e[k] for k in range(rank)) + injected
        summed = self.shape.student.sees_sum
        loss, q = loss_and_gradient(
            self.shape.student, self.shape.loss, normalised_sum(z, length) if summed else z, label(g)
        )
        if summed:
            q = jnp.broadcast_to(q / math.sqrt(length), g.shape)
        gradient = sum(q[i] * tokens[i] for i in range(length))
        gradient = gradient + sum(jnp.sum(q * pattern[:, k, None], axis=0) * lane["p"][k] for k in range(rank))
        change = -h * gradient
        drift = jnp.sum(v * v, axis=0) - 1
        excess = 2 * jnp.sum(v * change, axis=0) + jnp.sum(change * change, axis=0) + drift
        inverse, less = rescaling(excess)
        v, rest = add(v, state["rest"], v * less + change * inverse)
        return {"v": v, "rest": rest}, loss + jnp.sum(q * q, axis=0) + excess


@dataclass(frozen=True)
class UntiedFull(Full):
    """A direction w_i per position, normalised together (joint) or row by row."""

    def overlaps(self, state, lane):
        """|m|/sqrt(L) (W,), no e, and m_i = u . v_i (L, W)."""
        m = _each_dot(state["v"], lane["u"])
        return jnp.sqrt(jnp.sum(m * m, axis=0) / m.shape[0]), jnp.zeros((0, m.shape[1]), m.dtype), m

    def step(self, state, normals, lane, label):
        """v_i <- (v_i - h c X_i sqrt(d)) / n; returns the new state and the finiteness probe."""
        length, v, h = self.shape.length, state["v"], lane["h"]
        tokens = self._tokens(normals)
        g = _each_dot(tokens, lane["u"])
        u = normalised_sum(_each_dot(tokens, v), length)
        loss, q = loss_and_gradient(self.shape.student, self.shape.loss, u, label(g))
        c = q[0] / math.sqrt(length)
        change = -h * c * tokens
        excess = _each_dot(2 * v + change, change) + _each_dot(v, v) - 1
        if self.shape.student.norm == "joint":
            excess = jnp.mean(excess, axis=0, keepdims=True)
        inverse, less = rescaling(excess)
        v, rest = add(v, state["rest"], v * less[:, None] + change * inverse[:, None])
        return {"v": v, "rest": rest}, loss + c * c + jnp.sum(excess, axis=0)


def _each_dot(rows, other):
    """Sum over d of each row times `other`, (d, W) or row by row: shapes (n, d, W) to (n, W).

    A sum over the leading axis is four times as fast in XLA:CPU as one over a middle axis.
    """
    if not len(rows):
        return jnp.zeros((0, rows.shape[-1]), rows.dtype)
    pairs = zip(rows, other, strict=True) if other.ndim == 3 else ((row, other) for row in rows)
    return jnp.stack([jnp.sum(row * x, axis=0) for row, x in pairs])
