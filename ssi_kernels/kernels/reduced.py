"""SGD in dimension d, exactly in law, from a handful of numbers per step.

The overlaps of spherical SGD are a Markov chain. Given the gradient q in the local fields, the part of the
update orthogonal to the distinguished directions is an isotropic Gaussian, of which only the squared length
matters: |q|^2 times a chi-square variable. Derivation: docs/reduction.md; setting: Arnaboldi et al. 2025, section 2.

Units: h = gamma / d, and q is times h from where it is divided by 1/h. A step is written for one lane, that is one
replica of one point. The division is deliberate: XLA:CPU keeps the result of a division where it would compute that of
a product again for each of its uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jax import numpy as jnp

from ssi_kernels.kernels import chi_square
from ssi_kernels.kernels.compensated import add, poisoned, rescaling
from ssi_kernels.kernels.gradient import loss_and_gradient, normalised_sum
from ssi_kernels.kernels.shape import Shape


@dataclass(frozen=True)
class Reduced:
    """Base: how chi-square variables are drawn, and the label of a lane."""

    shape: Shape

    @property
    def chi_normals(self) -> int:
        """Normals behind one chi-square variable."""
        return chi_square.MANY if self.shape.few_degrees else 1

    def chi(self, normals, lane):
        """A chi-square variable from `chi_normals` normals, or one for each column of (chi_normals, L)."""
        if self.shape.few_degrees:
            return chi_square.from_squares(normals, lane["nu"])
        return chi_square.from_normal(normals[0], lane["nu"], lane["chi"])

    def overlaps(self, state, lane):
        """Scalar overlap m (), positional overlaps e (r,), overlaps by position (L,) or None."""
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
        """Standard normals per step."""
        return self.shape.length + self.fields + self.shape.rank + self.chi_normals

    def initial(self, start):
        """State from overlaps `start`: m (W,), e (r, W)."""
        return {
            "m": start["m"],
            "e": start["e"],
            "m_rest": np.zeros_like(start["m"]),
            "e_rest": np.zeros_like(start["e"]),
        }

    def _seen(self, constants: np.ndarray) -> np.ndarray:
        """Constants per position as the student's fields see them, (L, ...) to (K, ...)."""
        if self.shape.student.sees_sum:
            constants = constants.sum(axis=0, keepdims=True) / math.sqrt(self.shape.length)
        return constants.astype(self.shape.dtype)

    def _directions(self, m, e):
        """rho, and the direction (along_e, along_v) of the rest of w within span(p_1..p_r, v)."""
        rho = jnp.sqrt(jnp.maximum((1 - m) * (1 + m), 0))
        if not self.shape.rank:
            return rho, e, jnp.ones_like(m)
        # Near m = 1, rho and |e| are rounding errors of which either may be the larger: a ratio must stay a cosine.
        length = jnp.abs(e[0]) if self.shape.rank == 1 else jnp.sqrt(jnp.sum(e * e))
        along_e = e / jnp.maximum(jnp.maximum(rho, length), 1e-30)
        return rho, along_e, jnp.sqrt(jnp.maximum(1 - jnp.sum(along_e * along_e), 0))

    def _across(self, along_e, along_v, normals):
        """A vector orthogonal to (along_e, along_v) in R^(r+1), from r coordinates.

        Householder's reflection that takes the last axis to -(along_e, along_v), applied to (normals, 0).
        """
        if self.shape.rank == 1:
            return normals * along_v, -along_e[0] * normals[0]
        inner = jnp.sum(along_e * normals)
        return normals - along_e * (inner / (1 + along_v)), -inner

    def _through_encoding(self, q, pattern):
        """sum_i q_i B_ik, the gradient's part along p_k that comes with P_i itself: shape (r,)."""
        return q @ pattern

    def step(self, state, normals, lane):
        """One step of SGD: the new state, NaN where the loss, q or n^2 is not finite."""
        length, fields, rank = self.shape.length, self.fields, self.shape.rank
        m, e = state["m"], state["e"]
        g, t, x = normals[:length], normals[length : length + fields], normals[length + fields : length + fields + rank]
        chi = self.chi(normals[length + fields + rank : self.normals], lane)
        encoding = self.shape.encoding
        pattern, injected = self._seen(encoding.matrix(length)), self._seen(encoding.shift(length))

        rho, along_e, along_v = self._directions(m, e)
        seen = normalised_sum(g, length) if self.shape.student.sees_sum else g
        moved = m * seen + rho * t
        if rank:
            moved = moved + pattern @ e
        fields = moved + injected if injected.any() else moved
        loss, q = loss_and_gradient(self.shape, fields, g, lane)
        q = q / lane["inverse_h"]

        q_square, q_t = jnp.sum(q * q), jnp.sum(q * t)
        change_m = jnp.sum(q * seen)
        square = change_m**2 + q_square * chi
        if rank:
            across_e, across_v = self._across(along_e, along_v, jnp.sqrt(q_square) * x)
            change_e = along_e * q_t + across_e + self._through_encoding(q, pattern)
            square = square + jnp.sum(change_e**2) + (along_v * q_t + across_v) ** 2
        else:
            square = square + q_t**2
        less = rescaling(poisoned(square - 2 * jnp.sum(q * moved), loss))
        m, m_rest = add(m, state["m_rest"], m * less - (1 + less) * change_m)
        new = {"m": m, "m_rest": m_rest, "e": e, "e_rest": state["e_rest"]}
        if rank:
            new["e"], new["e_rest"] = add(e, state["e_rest"], e * less - (1 + less) * change_e)
        return new


@dataclass(frozen=True)
class UntiedReduced(Reduced):
    """State m_1..m_L, the overlaps by position: what both norms share."""

    def initial(self, start):
        """State from overlaps by position `start`: m_position (L, W)."""
        return {"m": start["m_position"], "m_rest": np.zeros_like(start["m_position"])}

    def overlaps(self, state, lane):
        """|m| / sqrt(L), no e, and m (L,)."""
        m = state["m"]
        return jnp.sqrt(jnp.sum(m * m) * m.dtype.type(1 / m.shape[0])), jnp.zeros((0,), m.dtype), m


@dataclass(frozen=True)
class JointReduced(UntiedReduced):
    """Untied student, |W|_F^2 = L d: one vector in R^(Ld) with L fixed orthogonal directions, state m_1..m_L.

    A step takes L + 1 normals and one chi-square variable with L d - L - 1 degrees of freedom.
    """

    @property
    def normals(self) -> int:
        """Standard normals per step."""
        return self.shape.length + 1 + self.chi_normals

    def step(self, state, normals, lane):
        """One step of SGD; see SharedReduced.step."""
        length, m = self.shape.length, state["m"]
        g, xi = normals[:length], normals[length]
        chi = self.chi(normals[length + 1 : self.normals], lane)
        root = math.sqrt(length)
        s = jnp.sqrt(jnp.maximum(length - jnp.sum(m * m), 0))
        u = (jnp.sum(m * g) + s * xi) * (1 / root)
        loss, q = loss_and_gradient(self.shape, u[None], g, lane)
        c = q[0] / (root * lane["inverse_h"])
        excess = c * (c * (jnp.sum(g * g) + xi * xi + chi) - 2 * root * u) * (1 / length)
        less = rescaling(poisoned(excess, loss))
        m, rest = add(m, state["m_rest"], m * less - (1 + less) * c * g)
        return {"m": m, "m_rest": rest}


@dataclass(frozen=True)
class RowReduced(UntiedReduced):
    """Untied student, every |w_i|^2 = d: state m_1..m_L, 2L normals and L chi-square variables (d - 2) a step."""

    @property
    def normals(self) -> int:
        """Standard normals per step."""
        return self.shape.length * (2 + self.chi_normals)

    def step(self, state, normals, lane):
        """One step of SGD; see SharedReduced.step."""
        length, m = self.shape.length, state["m"]
        g, v = normals[:length], normals[length : 2 * length]
        chi = self.chi(normals[2 * length : self.normals].reshape(self.chi_normals, length), lane)
        z = m * g + jnp.sqrt(jnp.maximum((1 - m) * (1 + m), 0)) * v
        loss, q = loss_and_gradient(self.shape, normalised_sum(z, length), g, lane)
        c = q[0] / (math.sqrt(length) * lane["inverse_h"])
        excess = c * (c * (g * g + v * v + chi) - 2 * z)
        less = rescaling(poisoned(excess, loss))
        m, rest = add(m, state["m_rest"], m * less - (1 + less) * c * g)
        return {"m": m, "m_rest": rest}
