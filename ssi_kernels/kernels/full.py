"""SGD with explicit weights: the ground truth of `reduced`.

Weights are kept as v = w / sqrt(d), of unit length, in a frame of random orthonormal directions u = w*/sqrt(d),
p_1..p_r (drawn per replica, from a stream of their own, so that no token is parallel to them).
In the loop a vector is a pair of halves, (d/2, W) each, which go with the real and the imaginary parts of the drawn
normals, so that these are used as they come; several vectors are a tuple of pairs, because slices of one array would
be copied in every step. Lanes are last throughout: sums over d are then in one order, whatever the number of lanes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from jax import numpy as jnp

from ssi_kernels.elementary import kept
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
        """An array (d, W) as a pair of halves, (n, d, W) as a tuple of n pairs."""
        if array.ndim > 2:
            return tuple(self.halves(x) for x in array)
        padded = jnp.pad(array, [(0, 2 * self.half - self.shape.d), (0, 0)])
        return padded[: self.half], padded[self.half :]

    def whole(self, vector):
        """The array again."""
        if isinstance(vector[0], tuple):
            return jnp.stack([self.whole(x) for x in vector])
        return jnp.concatenate(vector)[: self.shape.d]

    def _vector(self, normals, first):
        """Half a vector's worth of pairs from `first` on, from the two halves of the normals."""
        real, imaginary = (x[first : first + self.half] for x in normals)
        if self.shape.d % 2:
            imaginary = imaginary * (np.arange(self.half) < self.half - 1).astype(imaginary.dtype)[:, None]
        return real, imaginary

    def _tokens(self, normals):
        """Tokens X_i sqrt(d), L vectors, from the two halves of the normals, (L d/2, W) each."""
        return tuple(self._vector(normals, i * self.half) for i in range(self.shape.length))

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
        v, tokens = state["v"], self._tokens(normals)
        e = _dots(lane["p"], v)
        loss, q = self._seen_gradient(_dots(tokens, lane["u"]), _dots(tokens, v), e, lane)
        terms = [*zip(q, tokens, strict=True), *zip(self._along_encoding(q), lane["p"], strict=True)]
        return self._moved(state, _minus(terms), loss)

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

    def _along_encoding(self, q):
        """sum_i q_i B_ik, r numbers per lane: what of the gradient comes along p_k with the encoding itself."""
        pattern = self.shape.encoding.matrix(self.shape.length).astype(q.dtype)
        return [jnp.sum(q * pattern[:, k, None], axis=0) for k in range(self.shape.rank)]

    def _moved(self, state, change, loss):
        """The state after v <- (v + change) / |v + change|."""
        less = rescaling(poisoned(_excess(state["v"], change), loss))
        return _rescaled(state, change, less)


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
        noise = self._vector(normals, self._pairs_along)
        g, own = along[:length], along[length : 2 * length]
        along_p = along[2 * length : (2 + rank) * length].reshape(rank, length, along.shape[-1])

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
        on_p = [
            jnp.sum(q * along_p[k], axis=0) - size * noise_p[k] - a * e[k] + encoded
            for k, encoded in enumerate(self._along_encoding(q))
        ]
        terms = [(kept(on_u), u), (kept(a), v), (size, noise), *zip(map(kept, on_p), p, strict=True)]
        return self._moved(state, _minus(terms), loss)


@dataclass(frozen=True)
class UntiedFull(Full):
    """A direction w_i per position, normalised together (joint) or row by row."""

    def overlaps(self, state, lane):
        """|m|/sqrt(L) (W,), no e, and m_i = u . v_i (L, W)."""
        m = _dots(state["v"], lane["u"])
        return jnp.sqrt(jnp.sum(m * m, axis=0) / m.shape[0]), jnp.zeros((0, m.shape[1]), m.dtype), m

    def step(self, state, normals, lane):
        """v_i <- (v_i - h c X_i sqrt(d)) / n, NaN where the loss, c or n^2 is not finite."""
        length, v, rest = self.shape.length, state["v"], state["rest"]
        tokens = self._tokens(normals)
        own = jnp.stack([_dot(x, row) for x, row in zip(tokens, v, strict=True)])
        loss, q = self._gradient(normalised_sum(own, length), _dots(tokens, lane["u"]), lane)
        c = q[0] / (math.sqrt(length) * lane["inverse_h"])
        changes = [_minus([(c, x)]) for x in tokens]
        excess = jnp.stack([_excess(row, change) for row, change in zip(v, changes, strict=True)])
        if self.shape.student.norm == "joint":
            excess = jnp.broadcast_to(jnp.mean(excess, axis=0, keepdims=True), excess.shape)
        less = rescaling(poisoned(excess, loss))
        rows = [_rescaled({"v": v[i], "rest": rest[i]}, change, less[i]) for i, change in enumerate(changes)]
        return {name: tuple(row[name] for row in rows) for name in ("v", "rest")}


def _minus(terms):
    """The vector -sum of factor * vector, for factors (W,)."""
    return tuple(-sum(factor * vector[i] for factor, vector in terms) for i in range(2))


def _excess(v, change):
    """|v + change|^2 - 1."""
    return _dot([2 * half + x for half, x in zip(v, change, strict=True)], change) + (_dot(v, v) - 1)


def _rescaled(state, change, less):
    """v + change times (1 + less), with what the additions round away."""
    pairs = [
        add(half, rest, half * less + x * (1 + less))
        for half, rest, x in zip(state["v"], state["rest"], change, strict=True)
    ]
    return {"v": tuple(p[0] for p in pairs), "rest": tuple(p[1] for p in pairs)}


def _dot(a, b):
    """Sum over d of two vectors: (W,)."""
    return jnp.sum(a[0] * b[0] + a[1] * b[1], axis=0)


def _dots(vectors, b):
    """`_dot` of each of n vectors with b: (n, W)."""
    return jnp.stack([_dot(x, b) for x in vectors]) if vectors else jnp.zeros((0, b[0].shape[-1]), b[0].dtype)
