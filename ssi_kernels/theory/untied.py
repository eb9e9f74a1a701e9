"""Risk and noise of untied students: functions of the L overlaps m_i.

u = sum_i X_i . w_i / sqrt(L) is a standard Gaussian at both norms, and with v = m / sqrt(L), E[Y(z*) h_k(u)] is that of
h_k(v . z* + sqrt(1 - |v|^2) xi): sum over |alpha| = k of Y_alpha sqrt(k! / alpha!) v^alpha. So with
sigma_k = E[sigma h_k]
    R = E y^2 + E sigma^2 - 2 sum_k sigma_k E[y h_k(u)]        (Arnaboldi et al. 2025, section 3).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.moments import cross_pairs, noise_pairs
from ssi_kernels.theory.summed import SumValues, sum_rule
from ssi_kernels.theory.target_series import TargetSeries

if TYPE_CHECKING:
    from ssi_kernels.model import Model

Terms = tuple[float, list[tuple[object, np.ndarray]]]
"""A constant, and series with the weights of their E[Y h_k(u)]."""


class UntiedSeries:
    """Polynomials in m of shape (L,), for numpy and JAX."""

    method = "one-dimensional rule"

    def __init__(self, model: Model, length: int, target: TargetSeries):
        self.length, self.target = length, target
        self.sums = SumValues(model.student, sum_rule(max(target.y.degree, target.square.degree), 0.0))

    @cached_property
    def risk_terms(self) -> Terms:
        """Those of R."""
        pairs = [(factors, -2 * values) for factors, values in cross_pairs(self.sums.values)]
        return self._terms(pairs, self.target.second_moment + self.sums.own())

    @cached_property
    def noise_terms(self) -> Terms:
        """Those of E|q|^2 = E (dL/du)^2."""
        return self._terms(noise_pairs(self.sums.values, self.sums.slopes), 0.0)

    def _terms(self, pairs, constant: float) -> Terms:
        found = []
        for factors, values in pairs:
            if not factors:
                constant += float(self.sums.rule.weights(0)[0] @ values)
                continue
            series = (self.target.y, self.target.square)[len(factors) - 1]
            found.append((series, self.sums.components(values, series.degree)))
        return constant, found

    def value(self, terms: Terms, m, xp):
        """One of the two sums at m of shape (L,)."""
        constant, parts = terms
        v = m / math.sqrt(self.length)
        return constant + sum(xp.sum(weights * series.along(v, xp)) for series, weights in parts)

    @property
    def error(self) -> float:
        """A bound on the error of R at |m| = 1 from what both series leave out."""
        lost = self.target.lost * self.sums.lost(self.target.y.degree)
        return 2 * math.sqrt(lost) + 1e-14 * self.target.second_moment
