"""SGD in dimension d, exactly in law, from a handful of numbers per step.

The overlaps of spherical SGD are a Markov chain. Given the gradient q in the local fields, the part of the
update orthogonal to the distinguished directions is an isotropic Gaussian, of which only the squared length
matters: |q|^2 times a chi-square variable. Derivation: docs/reduction.md; setting: Arnaboldi et al. 2025, section 2.

Units: h = gamma / d. Lanes (one per point and replica) are the last axis, W of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jax import numpy as jnp

from ssi_kernels.kernels import chi_square
from ssi_kernels.kernels.compensated import add, rescaling
from ssi_kernels.kernels.gradient import loss_and_gradient, normalised_sum
from ssi_kernels.kernels.shape import Shape


@dataclass(frozen=True)
class Reduced:
    """Base: how chi-square variables are drawn. `count` of them per step."""

    shape: Shape

    @property
    def chi_normals(self) -> int:
        """Normals behind one chi-square variable."""
        return chi_square.MANY if self.shape.few_degrees else 1

    def chi(self, normals, lane):
        """One chi-square variable per lane from `chi_normals` rows of normals, (chi_normals, W) to (W,)."""
        if self.shape.few_degrees:
            return chi_square.from_squares(normals, lane["nu"])
        return chi_square.from_normal(normals[0], lane["nu"], lane["chi"])

    def overlaps(self, state, lane):
        """Scalar overlap m (W,), positional overlaps e (r, W), overlaps by position (L, W) or None."""
        return state["m"], state["e"], None


@dataclass(frozen=True)
class SharedReduced(Reduced):
    """One direction for all positions: state m and e_1..e_r, with 2L + r normals (attention) or L + 1 + r (tied).

    Per position g_i = X_i . u sqrt(d) along u = w*/sqrt(d), and t_i along the rest of w, of length
    rho = sqrt(1 - m^2). Within span(p_1..p_r, v) what is orthogonal to t meets q only as |q| times r normals.
    """

    @property
    def fields(self) -> int:
        """Number K of fields that the student sees: L, or 1 for a student that sees their normalised sum."""
        return 1 if self.shape.student.sees_sum else self.shape.length

    @property
    def normals(self) -> int:
        return self.shape.length + self.fields + self.shape.rank + self.chi_normals

    def initial(self, start):
        """State from overlaps `start`: m (W,), e (r, W)."""
        return {
            "m": start["m"],
            "e": start["e"],
            "m_rest": np.zeros_like(start["m"]),
            "e_rest": np.zeros_like(start["e"]),
        }

    def _seen(self, constants: np.ndarray, dtype) -> np.ndarray:
        """Constants per position as the student's fields see them, (L, ...) to (K, ...)."""
        if self.shape.student.sees_sum:
            constants = constants.sum(axis=0, keepdims=True) / math.sqrt(self.shape.length)
        return constants.astype(dtype)

    def _across(self, along_e, along_v, normals):
        """A vector orthogonal to (along_e, along_v) in R^(r+1), from r coordinates, each (W,).

        Householder's reflection that takes the last axis to -(along_e, along_v), applied to (normals, 0).
        """
        inner = jnp.sum(along_e * normals, axis=0)
        return normals - along_e * (inner / (1 + along_v)), -inner

    def _through_encoding(self, q, pattern):
        """sum_i q_i B_ik, the gradient's part along p_k that comes with P_i itself: shape (r, W)."""
        return jnp.sum(q[:, None] * pattern[:, :, None], axis=0)

    def step(self, state, normals, lane, label):
        """One step of SGD. Returns the new state and the number whose finiteness says that nothing diverged."""
        length, fields, rank = self.shape.length, self.fields, self.shape.rank
        m, e, h = state["m"], state["e"], lane["h"]
        g, t, x = normals[:length], normals[length : length + fields], normals[length + fields : length + fields + rank]
        chi = self.chi(normals[length + fields + rank :], lane)
        pattern = self._seen(self.shape.encoding.matrix(length), m.dtype)
        injected = self._seen(self.shape.encoding.shift(length), m.dtype)[:, None]

        rho = jnp.sqrt(jnp.maximum((1 - m) * (1 + m), 0))
        e_square = jnp.sum(e * e, axis=0)
        # Near m = 1, rho and |e| are rounding errors of which either may be the larger: a ratio must stay a cosine.
        along_e = e / jnp.maximum(jnp.maximum(rho, jnp.sqrt(e_square)), 1e-30)
        along_v = jnp.sqrt(jnp.maximum(1 - jnp.sum(along_e * along_e, axis=0), 0))

        seen = normalised_sum(g, length) if self.shape.student.sees_sum else g
        moved = m * seen + rho * t + sum(pattern[:, k, None] * e[k] for k in range(rank))
        loss, q = loss_and_gradient(self.shape.student, self.shape.loss, moved + injected, label(g))

        q_square, q_t = jnp.sum(q * q, axis=0), jnp.sum(q * t, axis=0)
        gradient_m = jnp.sum(q * seen, axis=0)
        across_e, across_v = self._across(along_e, along_v, jnp.sqrt(q_square) * x)
        gradient_e = along_e * q_t + across_e + self._through_encoding(q, pattern)
        gradient_v = along_v * q_t + across_v

        square = gradient_m**2 + jnp.sum(gradient_e**2, axis=0) + gradient_v**2 + q_square * chi
        excess = h * (h * square - 2 * jnp.sum(q * moved, axis=0))
        inverse, less = rescaling(excess)
        m, m_rest = add(m, state["m_rest"], m * less - h * inverse * gradient_m)
        e, e_rest = add(e, state["e_rest"], e * less - h * inverse * gradient_e)
        return {"m": m, "e": e, "m_rest": m_rest, "e_rest": e_rest}, loss + q_square + excess


@dataclass(frozen=True)
class UntiedReduced(Reduced):
    """State m_1..m_L, the overlaps by position: what both norms share."""

    def initial(self, start):
        """State from overlaps by position `start`: m_position (L, W)."""
        return {"m": start["m_position"], "m_rest": np.zeros_like(start["m_position"])}

    def overlaps(self, state, lane):
        """|m| / sqrt(L) (W,), no e, and m (L, W)."""
        m = state["m"]
        return jnp.sqrt(jnp.sum(m * m, axis=0) / m.shape[0]), jnp.zeros((0, m.shape[1]), m.dtype), m


@dataclass(frozen=True)
class JointReduced(UntiedReduced):
    """Untied student, |W|_F^2 = L d: one vector in R^(Ld) with L fixed orthogonal directions, state m_1..m_L.

    A step takes L + 1 normals and one chi-square variable with L d - L - 1 degrees of freedom.
    """

    @property
    def normals(self) -> int:
        return self.shape.length + 1 + self.chi_normals

    def step(self, state, normals, lane, label):
        """One step of SGD; see SharedReduced.step."""
        length, m, h = self.shape.length, state["m"], lane["h"]
        g, xi = normals[:length], normals[length]
        chi = self.chi(normals[length + 1 :], lane)
        root = math.sqrt(length)
        s = jnp.sqrt(jnp.maximum(length - jnp.sum(m * m, axis=0), 0))
        u = (jnp.sum(m * g, axis=0) + s * xi) / root
        loss, q = loss_and_gradient(self.shape.student, self.shape.loss, u[None], label(g))
        c = q[0] / root
        square = c * c * (jnp.sum(g * g, axis=0) + xi * xi + chi)
        excess = h * (h * square - 2 * c * root * u) / length
        inverse, less = rescaling(excess)
        m, rest = add(m, state["m_rest"], m * less - h * inverse * c * g)
        return {"m": m, "m_rest": rest}, loss + c * c + excess


@dataclass(frozen=True)
class RowReduced(UntiedReduced):
    """Untied student, every |w_i|^2 = d: state m_1..m_L, 2L normals and L chi-square variables (d - 2) a step."""

    @property
    def normals(self) -> int:
        return self.shape.length * (2 + self.chi_normals)

    def step(self, state, normals, lane, label):
        """One step of SGD; see SharedReduced.step."""
        length, m, h = self.shape.length, state["m"], lane["h"]
        g, v = normals[:length], normals[length : 2 * length]
        chi_normals = normals[2 * length : self.normals].reshape(self.chi_normals, length, -1)
        chi = self.chi(chi_normals, lane)
        z = m * g + jnp.sqrt(jnp.maximum((1 - m) * (1 + m), 0)) * v
        loss, q = loss_and_gradient(self.shape.student, self.shape.loss, normalised_sum(z, length), label(g))
        c = q[0] / math.sqrt(length)
        excess = h * (h * c * c * (g * g + v * v + chi) - 2 * c * z)
        inverse, less = rescaling(excess)
        m, rest = add(m, state["m_rest"], m * less - h * inverse * c * g)
        return {"m": m, "m_rest": rest}, loss + c * c + jnp.sum(excess, axis=0)
