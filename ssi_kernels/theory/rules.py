"""One-dimensional rules: nodes, and weights that project on normalised Hermite polynomials of a shifted Gaussian field.

For x = z + c with z ~ N(0, 1), E[f(z + c) h_k(z)] = int f(x) h_k(x - c) phi(x - c) dx. The nodes x stay where they are
and the weights move, so that f is evaluated once for every shift c, and a kink of f at 0 stays between two panels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rule:
    """Nodes x and lengths dx of a rule for integrals over the real line, each of shape (n,)."""

    nodes: np.ndarray
    lengths: np.ndarray

    def weights(self, degree: int, shift: float = 0.0) -> np.ndarray:
        """w[k, n] with sum_n w[k, n] f(x_n) = E[f(z + shift) h_k(z)], k = 0..degree; shape (degree + 1, n)."""
        y = self.nodes - shift
        root = np.exp(-y * y / 4) / (2 * np.pi) ** 0.25
        return hermite_functions(degree, y, root) * (root * self.lengths)


def hermite_functions(degree: int, y: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """h_k(y) times `factor`, k = 0..degree, shape (degree + 1, n), by the three-term recurrence.

    With the factor phi(y)^(1/2) they are bounded: h_k alone overflows where the Gaussian underflows.
    """
    values = np.empty((degree + 1, y.size))
    values[0] = factor
    if degree:
        values[1] = y * factor
    for k in range(1, degree):
        values[k + 1] = (y * values[k] - np.sqrt(k) * values[k - 1]) / np.sqrt(k + 1)
    return values


def uniform(reach: float, step: float) -> Rule:
    """The trapezoidal rule on [-reach, reach]: of spectral accuracy for smooth functions of a Gaussian field.

    Gauss-Hermite rules with as many nodes are worse for functions with poles near the real axis, as softmax has, and
    break down near 400 nodes.
    """
    count = round(reach / step)
    nodes = np.arange(-count, count + 1) * step
    return Rule(nodes, np.full(nodes.size, float(step)))


def split(reach: float, panels: int = 14, order: int = 24) -> Rule:
    """Gauss-Legendre panels on [-reach, 0] and [0, reach]: of spectral accuracy for functions with a kink at 0."""
    x, w = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(0, reach, panels + 1)
    half = np.diff(edges)[:, None] / 2
    right = (edges[:-1, None] + half * (1 + x)).ravel()
    lengths = (half * w).ravel()
    return Rule(np.concatenate([-right[::-1], right]), np.concatenate([lengths[::-1], lengths]))
