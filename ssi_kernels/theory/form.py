"""Homogeneous polynomials, and those that the leading orders of a series are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ssi_kernels.theory.expansion import Expansion, Index, dense_index
from ssi_kernels.theory.smoothed import smoothed_taylor
from ssi_kernels.theory.structured import Structured


@dataclass(frozen=True)
class Form:
    """sum_t coefficients[t] prod_i x_i^exponents[t, i]; below `tolerance` it is not told from 0."""

    exponents: np.ndarray
    coefficients: np.ndarray
    tolerance: float

    def __call__(self, x) -> np.ndarray:
        """Values, shape (...), at x of shape (..., n)."""
        x = np.asarray(x, dtype=float)
        return np.prod(x[..., None, :] ** self.exponents, axis=-1) @ self.coefficients

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """First derivatives, shape (n,), at x of shape (n,)."""
        lowered = np.maximum(self.exponents[:, None, :] - np.eye(x.size, dtype=int)[None], 0)
        return (self.exponents * np.prod(x**lowered, axis=-1)).T @ self.coefficients

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Second derivatives, shape (n, n), at x of shape (n,)."""
        rows = [
            Form(np.maximum(self.exponents - unit, 0), self.coefficients * self.exponents[:, i], 0.0)
            for i, unit in enumerate(np.eye(x.size, dtype=int))
        ]
        return np.array([row.gradient(x) for row in rows])

    @property
    def vanishes(self) -> bool:
        """Whether no coefficient can be told from 0."""
        return bool(np.abs(self.coefficients).max(initial=0.0) <= self.tolerance)


def of_order(series: Expansion | Structured, order: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Exponents alpha, shape (t, L), and E[g h_alpha] / sqrt(alpha!), the coefficients of one order of E[g(z + x)]."""
    if isinstance(series, Structured):
        found = smoothed_taylor(series.value, order)
        terms = {alpha: float(c) for alpha, c in found.items() if sum(k for _, k in alpha) == order}
    else:
        terms = {alpha: g / _root(alpha) for alpha, g in series.terms.items() if sum(k for _, k in alpha) == order}
    table = np.array([dense_index(alpha, length) for alpha in terms], dtype=int).reshape(-1, length)
    return table, np.array(list(terms.values()), dtype=float)


def _root(alpha: Index) -> float:
    """sqrt(alpha!)."""
    return math.exp(sum(math.lgamma(k + 1) for _, k in alpha) / 2)
