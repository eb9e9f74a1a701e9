"""SGD with explicit weights: the ground truth of `reduced`.

Weights are kept as v = w / sqrt(d), of unit length, in a frame of random orthonormal directions u = w*/sqrt(d),
p_1..p_r (drawn per replica, from a stream of their own, so that no token is parallel to them).
Coordinates 1..d are stored in two halves, which are the real and the imaginary parts of the drawn normals, so that
normals are used as they come: v (2, d/2, W) or (2, L, d/2, W), u (2, d/2, W), p (2, r, d/2, W). Lanes are last
throughout: sums over d are then in one order, whatever the number of lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from jax import numpy as jnp

from ssi_kernels.kernels.compensated import add, poisoned, rescaling
from ssi_kernels.kernels.gradient import loss_and_gradient, normalised_sum
from ssi_kernels.kernels.shape import Shape
from ssi_kernels.kernels.unroll import fitting


@dataclass(frozen=True)
class Full:
    """Base: a step draws all coordinates of all tokens."""

    shape: Shape

    @property
    def half(self) -> int:
        """Coordinates in each of the two halves; an odd d is padded with a zero."""
        return (self.shape.d + 1) // 2

    @property
    def normals(self) -> int:
        """Standard normals per step."""
        return 2 * self.half * self.shape.length

    def initial(self, start):
        """State from unit weights `start`: v (d, W) or (L, d, W)."""
        return {"v": start["v"], "rest": np.zeros_like(start["v"])}

    def halves(self, array):
        """(..., d, W) as (2, ..., d/2, W)."""
        padding = [(0, 0)] * (array.ndim - 2) + [(0, 2 * self.half - self.shape.d), (0, 0)]
        padded = jnp.pad(array, padding)
        return jnp.stack([padded[..., : self.half, :], padded[..., self.half :, :]])

    def whole(self, halves):
        """(2, ..., d/2, W) as (..., d, W)."""
        return jnp.concatenate([halves[0], halves[1]], axis=-2)[..., : self.shape.d, :]

    def _tokens(self, normals):
        """Tokens X sqrt(d) in halves, (2, L, d/2, W), from the two halves of the normals, (L d/2, W) each."""
        shape = (self.shape.length, self.half, -1)
        real, imaginary = (x.reshape(shape) for x in normals)
        if self.shape.d % 2:
            imaginary = imaginary * (np.arange(self.half) < self.half - 1).astype(imaginary.dtype)[:, None]
        return real, imaginary

    def _gradient(self, fields, target_fields, lane):
        """Loss (W,) and q (K, W) for `fields` (K, W) and `target_fields` (L, W)."""
        numbers = {name: lane[name] for name in self.shape.target.parameters()}
        gradient = partial(loss_and_gradient, self.shape)
        form = fitting(gradient, fields.shape[-1], fields, target_fields, numbers)
        return form.joined(form.over(gradient)(*form.split((fields, target_fields, numbers))))


@dataclass(frozen=True)
class SharedFull(Full):
    """One direction w for all positions."""

    def overlaps(self, state, lane):
        """m = u . v (W,), e_k = p_k . v (r, W), None."""
        return _dot(lane["u"], state["v"]), _dots(lane["p"], state["v"]), None

    def step(self, state, normals, lane):
        """v <- (v - h sum_i q_i (X_i sqrt(d) + P_i)) / |.|, NaN where the loss, q or n^2 is not finite."""
        length, v = self.shape.length, state["v"]
        tokens = self._tokens(normals)
        e = _dots(lane["p"], v)
        loss, q = self._seen_gradient(_dots(tokens, lane["u"]), _dots(tokens, v), e, lane)
        change = [-sum(q[i] * half[i] for i in range(length)) for half in tokens]
        return self._moved(state, self._along_encoding(change, q, lane), loss)

    def _seen_gradient(self, g, own, e, lane):
        """Loss (W,) and h q (L, W), from X_i . u, X_i . v times sqrt(d), (L, W) each, and e (r, W)."""
        length, rank = self.shape.length, self.shape.rank
        pattern = self.shape.encoding.matrix(length).astype(g.dtype)
        injected = self.shape.encoding.shift(length).astype(g.dtype)[:, None]
        z = own + sum(pattern[:, k, None] * e[k] for k in range(rank)) + injected
        summed = self.shape.student.sees_sum
        loss, q = self._gradient(normalised_sum(z, length) if summed else z, g, lane)
        if summed:
            q = jnp.broadcast_to(q * q.dtype.type(1 / math.sqrt(length)), g.shape)
        return loss, q / lane["inverse_h"]

    def _along_encoding(self, change, q, lane):
        """`change` - h sum_ik q_i B_ik p_k, in two halves."""
        pattern = self.shape.encoding.matrix(self.shape.length).astype(q.dtype)
        for k in range(self.shape.rank):
            along = jnp.sum(q * pattern[:, k, None], axis=0)
            change = [x - along * half[k] for x, half in zip(change, lane["p"], strict=True)]
        return change

    def _moved(self, state, change, loss):
        """The state after v <- (v + change) / |v + change|."""
        v = state["v"]
        bent = [2 * half + x for half, x in zip(v, change, strict=True)]
        excess = _dot(bent, change) + (_dot(v, v) - 1)
        less = rescaling(poisoned(excess, loss))
        pairs = [
            add(half, rest, half * less + x * (1 + less))
            for half, rest, x in zip(v, state["rest"], change, strict=True)
        ]
        return {"v": tuple(p[0] for p in pairs), "rest": tuple(p[1] for p in pairs)}


@dataclass(frozen=True)
class OneNoiseFull(SharedFull):
    """The same law from one d-vector of noise per step instead of L.

    Tokens are drawn along u, p_1..p_r and along a, the rest of v made a unit vector: L (r + 2) normals. Given q, the
    rest of sum_i q_i X_i sqrt(d) is |q| times one isotropic Gaussian orthogonal to all of these.
    """

    @property
    def normals(self) -> int:
        """Standard normals per step."""
        return 2 * (self.half + self._pairs_along)

    @property
    def _pairs_along(self) -> int:
        return (self.shape.length * (self.shape.rank + 2) + 1) // 2

    def step(self, state, normals, lane):
        """As SharedFull.step, in law."""
        length, rank, v = self.shape.length, self.shape.rank, state["v"]
        u, p = lane["u"], lane["p"]
        along = jnp.concatenate([x[: self._pairs_along] for x in normals])
        noise = [x[self._pairs_along :] for x in normals]
        if self.shape.d % 2:
            noise[1] = noise[1] * (np.arange(self.half) < self.half - 1).astype(noise[1].dtype)[:, None]
        g, own = along[:length], along[length : 2 * length]
        along_p = along[2 * length : (2 + rank) * length].reshape(rank, length, -1)

        m, e = _dot(u, v), _dots(p, v)
        square = _dot(v, v) - m * m - jnp.sum(e * e, axis=0)
        s = jnp.sqrt(jnp.maximum(square, 0))
        # Where v lies in the span of u and p, a is undefined: the noise then fills its place, which is the same law.
        inverse = jnp.where(s > 1e-6, 1 / jnp.maximum(s, 1e-6), 0)
        z = m * g + s * own + sum(e[k] * along_p[k] for k in range(rank))
        loss, q = self._seen_gradient(g, z, e, lane)

        size = jnp.sqrt(jnp.sum(q * q, axis=0))
        noise_u, noise_p = _dot(u, noise), _dots(p, noise)
        noise_a = (_dot(v, noise) - m * noise_u - jnp.sum(e * noise_p, axis=0)) * inverse
        a = (jnp.sum(q * own, axis=0) - size * noise_a) * inverse
        on_u = jnp.sum(q * g, axis=0) - size * noise_u - a * m
        on_p = [jnp.sum(q * along_p[k], axis=0) - size * noise_p[k] - a * e[k] for k in range(rank)]
        change = [
            -(on_u * u[i] + a * v[i] + size * noise[i] + sum(on_p[k] * p[i][k] for k in range(rank))) for i in range(2)
        ]
        return self._moved(state, self._along_encoding(change, q, lane), loss)


@dataclass(frozen=True)
class UntiedFull(Full):
    """A direction w_i per position, normalised together (joint) or row by row."""

    def overlaps(self, state, lane):
        """|m|/sqrt(L) (W,), no e, and m_i = u . v_i (L, W)."""
        m = _dots(state["v"], lane["u"])
        return jnp.sqrt(jnp.sum(m * m, axis=0) / m.shape[0]), jnp.zeros((0, m.shape[1]), m.dtype), m

    def step(self, state, normals, lane):
        """v_i <- (v_i - h c X_i sqrt(d)) / n, NaN where the loss, c or n^2 is not finite."""
        length, v = self.shape.length, state["v"]
        tokens = self._tokens(normals)
        own = jnp.stack([_dot([h[i] for h in tokens], [h[i] for h in v]) for i in range(length)])
        loss, q = self._gradient(normalised_sum(own, length), _dots(tokens, lane["u"]), lane)
        c = q[0] / (math.sqrt(length) * lane["inverse_h"])
        excess = jnp.stack([self._excess([h[i] for h in v], [-c * h[i] for h in tokens]) for i in range(length)])
        if self.shape.student.norm == "joint":
            excess = jnp.broadcast_to(jnp.mean(excess, axis=0, keepdims=True), excess.shape)
        less = rescaling(poisoned(excess, loss))[:, None]
        pairs = [
            add(half, rest, half * less - c * x * (1 + less))
            for half, rest, x in zip(v, state["rest"], tokens, strict=True)
        ]
        return {"v": tuple(p[0] for p in pairs), "rest": tuple(p[1] for p in pairs)}

    @staticmethod
    def _excess(v, change):
        """|v + change|^2 - 1 of one row."""
        return _dot([2 * half + x for half, x in zip(v, change, strict=True)], change) + (_dot(v, v) - 1)


def _dot(a, b):
    """Sum over d of two vectors in halves, (d/2, W) each: (W,)."""
    return jnp.sum(a[0] * b[0] + a[1] * b[1], axis=0)


def _dots(rows, b):
    """`_dot` of every row, in halves (n, d/2, W), with b: (n, W)."""
    count = rows[0].shape[0]
    if not count:
        return jnp.zeros((0, b[0].shape[-1]), b[0].dtype)
    return jnp.stack([_dot([half[i] for half in rows], b) for i in range(count)])
