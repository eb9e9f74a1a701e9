"""Population averages by quasi-Monte Carlo: for what has no series, such as the loss `frobenius` or long sequences.

Scrambled Sobol points of (z*, xi), the same for every argument; the error comes from independent scramblings
(Owen 1997). Derivatives of first order are those of the average itself, second ones central differences of these.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.model.losses import value_and_cotangent

if TYPE_CHECKING:
    from ssi_kernels.model import Model

SCRAMBLINGS = 8
_LOG2_POINTS = 14
_MOST_NUMBERS = 2**24
_SEED = 20250602
STEP = 0.02
"""Of the differences of the gradient: kinks of the loss average out over it."""


class SampledAverage:
    """R and E|q|^2 of a model at x = (e_1..e_r, m), or x = (m_1..m_L) for untied students."""

    method = "quasi-Monte Carlo: an estimate"

    def __init__(self, model: Model, length: int):
        self.model, self.length = model, length
        self.rank = model.rank(length)
        self.fields = 1 if model.student.is_untied else length
        log2 = min(_LOG2_POINTS, max(8, int(math.log2(_MOST_NUMBERS / (length + self.fields) / SCRAMBLINGS))))
        self.normals = np.concatenate([_normals(length + self.fields, log2, s) for s in range(SCRAMBLINGS)], axis=1)
        self.labels = self._labelled(self.normals[:length])

    def risk(self, x):
        """R at x of shape (n,), in JAX."""
        return self.losses(x).mean()

    def losses(self, x):
        """The loss at every point of (z*, xi), shape (n,), scrambling by scrambling."""
        return self._loss(self._fields(x))

    def noise(self, x):
        """E|q|^2 at x of shape (n,), in JAX."""
        import jax
        from jax import numpy as jnp

        gradient = jax.grad(lambda fields: self._loss(fields).sum())(self._fields(x))
        return jnp.sum(gradient**2, axis=0).mean()

    def risk_error(self, x) -> float:
        """The standard error of R at x, from the scramblings."""
        parts = np.asarray(self.losses(x)).reshape(SCRAMBLINGS, -1).mean(axis=1)
        return float(parts.std(ddof=1) / math.sqrt(SCRAMBLINGS))

    def _fields(self, x):
        """The student's fields, shape (K, n): z, or the sum u of an untied student."""
        from jax import numpy as jnp

        z, xi = self.normals[: self.length], self.normals[self.length :]
        if self.model.student.is_untied:
            m = x / math.sqrt(self.length)
            return (m @ z + jnp.sqrt(jnp.maximum(0.0, 1 - m @ m)) * xi[0])[None]
        m, e = x[-1], x[:-1]
        shift = self.model.encoding.matrix(self.length) @ e + self.model.encoding.shift(self.length)
        fields = m * z + shift[:, None] + jnp.sqrt(jnp.maximum(0.0, 1 - m * m)) * xi
        return fields.sum(axis=0, keepdims=True) / math.sqrt(self.length) if self.model.student.sees_sum else fields

    def _loss(self, fields):
        student = self.model.student
        return value_and_cotangent(self.model.loss, student.outputs(fields) - self.labels, student.is_matrix)[0]

    def _labelled(self, z: np.ndarray) -> np.ndarray:
        import jax

        target, encoding = self.model.target, self.model.encoding
        with jax.enable_x64(True):
            parameters = {key: np.full(z.shape[1:], value) for key, value in target.parameters().items()}
            return np.asarray(target.labeller(self.length, encoding, parameters)(z))


def _normals(dimension: int, log2: int, scrambling: int) -> np.ndarray:
    """Standard normals of one scrambling, shape (dimension, 2^log2)."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    points = qmc.Sobol(dimension, rng=np.random.default_rng([_SEED, scrambling])).random_base2(log2)
    return ndtri(np.clip(points, 2.0**-33, 1 - 2.0**-33)).T
