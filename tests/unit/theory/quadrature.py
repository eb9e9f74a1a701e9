"""An independent way to the risk: Gauss-Legendre panels over the two correlated fields, with their joint density.

No Hermite polynomials and no series: E y . f = sum_x w(x) y(x) sum_y p(y | x) f(y), which factorises over positions.
"""

from __future__ import annotations

import math

import jax
import numpy as np

from ssi_kernels.model import Model


def panels(reach: float = 10.0, count: int = 30, order: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for integrals over [-reach, reach]; 0 is between two panels."""
    x, w = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(-reach, reach, count + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def density(x, mean, sigma):
    return np.exp(-(((x - mean) / sigma) ** 2) / 2) / (math.sqrt(2 * math.pi) * sigma)


def labels(model: Model, length: int, z: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        parameters = {key: np.full(z.shape[1:], value) for key, value in model.target.parameters().items()}
        return np.asarray(model.target.labeller(length, model.encoding, parameters)(z))


def outputs(model: Model, fields: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(model.student.outputs(fields))


def risk_by_quadrature(model: Model, length: int, e: np.ndarray, m) -> float:
    """R of the squared loss at one point; L <= 2 for students that see their fields one by one."""
    seen = _of_fields if not model.student.sees_sum else _of_sum
    return seen(model, length, np.asarray(e, dtype=float), m)


def _of_fields(model: Model, length: int, e: np.ndarray, m: float) -> float:
    """L = 2: all three expectations on the product grid."""
    x, w = panels()
    z = np.stack(np.meshgrid(x, x, indexing="ij"))
    gaussian = w * density(x, 0, 1)
    shift = model.encoding.matrix(length) @ e + model.encoding.shift(length)
    sigma = math.sqrt(1 - m * m)
    kernels = [w * density(x[None, :], m * x[:, None] + c, sigma) for c in shift]
    marginals = [w * density(x, c, 1) for c in shift]
    y, f = (np.reshape(v, (-1, x.size, x.size)) for v in (labels(model, length, z), outputs(model, z)))
    cross = sum(
        np.einsum("i,j,ij,ij", gaussian, gaussian, a, kernels[0] @ b @ kernels[1].T) for a, b in zip(y, f, strict=True)
    )
    own = np.einsum("i,j,qij,qij", *marginals, f, f)
    return float(np.einsum("i,j,qij,qij", gaussian, gaussian, y, y) + own - 2 * cross)


def _of_sum(model: Model, length: int, e: np.ndarray, m) -> float:
    """z* on a product grid, and u given z* on panels."""
    x, w = panels(9.0, *((14, 12) if length <= 2 else (6, 10)))
    z = np.stack(np.meshgrid(*[x] * length, indexing="ij")).reshape(length, -1)
    weights = np.prod(np.stack(np.meshgrid(*[w * density(x, 0, 1)] * length, indexing="ij")), axis=0).ravel()
    v = np.broadcast_to(np.asarray(m, dtype=float), (length,)) / math.sqrt(length)
    shift = (model.encoding.matrix(length) @ e + model.encoding.shift(length)).sum() / math.sqrt(length)
    u, du = panels(14.0, 40, 12)
    f, y = outputs(model, u[None]), labels(model, length, z)
    mean, sigma = v @ z + shift, math.sqrt(1 - v @ v)
    given = np.concatenate([density(u, part[:, None], sigma) @ (du * f) for part in np.array_split(mean, 32)])
    own = float(density(u, shift, 1) @ (du * f * f))
    return float(weights @ (y * y) + own - 2 * weights @ (y * given))
