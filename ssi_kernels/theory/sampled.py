"""Population averages by quasi-Monte Carlo: for what has no series, such as the loss `frobenius` or long sequences.

Scrambled Sobol points of (z*, xi), the same for every argument; the error comes from independent scramblings
(Owen 1997). Derivatives of first order are those of the average itself, second ones central differences of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.model.losses import value_and_cotangent

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.model.encodings import Encoding
    from ssi_kernels.model.students import Student

SCRAMBLINGS = 8
_LOG2_POINTS = 12
_MOST_NUMBERS = 2**21
_SEED = 20250602
STEP = 0.02
"""Of the differences of the gradient: kinks of the loss average out over it."""

METHOD = "quasi-Monte Carlo: an estimate"
Points = tuple[np.ndarray, np.ndarray]
"""Standard normals (z*, xi), shape (L + K, n), scrambling by scrambling; and the labels at z*."""


@dataclass(frozen=True)
class Average:
    """R and E|q|^2 at x = (e_1..e_r, m), or x = (m_1..m_L) for untied students: JAX functions of (points, x)."""

    student: Student
    encoding: Encoding
    loss: str
    length: int

    def risk(self, points: Points, x):
        """R."""
        return self.losses(points, x).mean()

    def losses(self, points: Points, x):
        """The loss at every point, shape (n,)."""
        return self._loss(points[1], self._fields(points[0], x))

    def noise(self, points: Points, x):
        """E|q|^2."""
        import jax
        from jax import numpy as jnp

        gradient = jax.grad(lambda fields: self._loss(points[1], fields).sum())(self._fields(points[0], x))
        return jnp.sum(gradient**2, axis=0).mean()

    def gradient(self, points: Points, x):
        """dR/dx."""
        import jax

        return jax.grad(self.risk, argnums=1)(points, x)

    def hessian(self, points: Points, x):
        """Symmetrised central differences of the gradient."""
        from jax import numpy as jnp

        steps = STEP * jnp.eye(x.shape[0])
        rows = [(self.gradient(points, x + s) - self.gradient(points, x - s)) / (2 * STEP) for s in steps]
        matrix = jnp.stack(rows)
        return (matrix + matrix.T) / 2

    def rates(self, points: Points, x):
        """The gradient and the noise."""
        return self.gradient(points, x), self.noise(points, x)

    def _fields(self, normals, x):
        """The student's fields, shape (K, n): z, or the sum u where that is all it sees."""
        from jax import numpy as jnp

        z, xi = normals[: self.length], normals[self.length :]
        if self.student.is_untied:
            m = x / math.sqrt(self.length)
            return (m @ z + jnp.sqrt(jnp.maximum(0.0, 1 - m @ m)) * xi[0])[None]
        m, e = x[-1], x[:-1]
        shift = self.encoding.matrix(self.length) @ e + self.encoding.shift(self.length)
        fields = m * z + shift[:, None] + jnp.sqrt(jnp.maximum(0.0, 1 - m * m)) * xi
        return fields.sum(axis=0, keepdims=True) / math.sqrt(self.length) if self.student.sees_sum else fields

    def _loss(self, labels, fields):
        return value_and_cotangent(self.loss, self.student.outputs(fields) - labels, self.student.is_matrix)[0]


@lru_cache(maxsize=64)
def compiled(average: Average, name: str):
    """One of the functions of an average, compiled once for all targets."""
    import jax

    return jax.jit(getattr(average, name))


def points_of(model: Model, length: int) -> Points:
    """The points of a model and its labels there."""
    import jax

    normals = _normals(length + (1 if model.student.is_untied else length))
    z = normals[:length]
    with jax.enable_x64(True):
        parameters = {key: np.full(z.shape[1:], value) for key, value in model.target.parameters().items()}
        return normals, np.asarray(model.target.labeller(length, model.encoding, parameters)(z))


def standard_error(values: np.ndarray) -> float:
    """Of the mean of values at the points, from the scramblings."""
    parts = values.reshape(SCRAMBLINGS, -1).mean(axis=1)
    return float(parts.std(ddof=1) / math.sqrt(SCRAMBLINGS))


def scrambled_parts(points: Points) -> list[Points]:
    """The points of each scrambling alone."""
    normals, labels = points
    parts = np.split(normals, SCRAMBLINGS, axis=1), np.split(labels, SCRAMBLINGS, axis=-1)
    return list(zip(*parts, strict=True))


@lru_cache(maxsize=8)
def _normals(dimension: int) -> np.ndarray:
    """Standard normals, shape (dimension, SCRAMBLINGS * 2^(log2 + 1)): points and their opposites, so that what is odd
    averages to 0 exactly."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    log2 = min(_LOG2_POINTS, max(8, int(math.log2(_MOST_NUMBERS / dimension / SCRAMBLINGS))))
    parts = []
    for scrambling in range(SCRAMBLINGS):
        uniform = qmc.Sobol(dimension, rng=np.random.default_rng([_SEED, scrambling])).random_base2(log2)
        normals = ndtri(np.clip(uniform, 2.0**-33, 1 - 2.0**-33)).T
        parts += [normals, -normals]
    return np.concatenate(parts, axis=1)
