"""Risk and noise of untied students: functions of the L overlaps m_i.

u = sum_i X_i . w_i / sqrt(L) is a standard Gaussian at both norms, and E[Y(z*) h_k(u)] = sum over |alpha| = k of
Y_alpha sqrt(k! / alpha!) prod_i (m_i / sqrt(L))^alpha_i, so with sigma_k = E[sigma h_k]
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
    from ssi_kernels.theory.expansion import Expansion


_SMALL = 1e-17
"""Terms below it, relative to the largest, are left out; v^alpha sqrt(k! / alpha!) is at most 1 on the sphere."""


class UntiedSeries:
    """Polynomials in m of shape (L,), for numpy and JAX."""

    method = "one-dimensional rule"

    def __init__(self, model: Model, length: int, target: TargetSeries):
        self.length, self.target = length, target
        degree = max(target.y.degree, target.square.degree if target.square else 0, 1)
        self.sums = SumValues(model.student, sum_rule(degree, 0.0))

    @cached_property
    def risk_terms(self) -> tuple[float, list[tuple[Expansion, np.ndarray]]]:
        """R as a constant and sums over alpha, with their coefficients."""
        pairs = [(factors, -2 * values) for factors, values in cross_pairs(self.sums.values)]
        return self._terms(pairs, self.target.second_moment + self.sums.own())

    @cached_property
    def noise_terms(self) -> tuple[float, list[tuple[Expansion, np.ndarray]]]:
        """E|q|^2 = E (dL/du)^2 likewise."""
        return self._terms(noise_pairs(self.sums.values, self.sums.slopes), 0.0)

    def _terms(self, pairs, constant: float) -> tuple[float, list[tuple[Expansion, np.ndarray]]]:
        found = []
        for factors, values in pairs:
            if not factors:
                constant += float(self.sums.rule.weights(0)[0] @ values)
                continue
            series = (self.target.y, self.target.square)[len(factors) - 1]
            sigma = self.sums.rule.weights(series.degree) @ values
            size = np.abs(sigma[series.orders] * np.array(list(series.terms.values())))
            kept = size > _SMALL * size.max(initial=0.0)
            found.append((series.restricted(kept), (sigma[series.orders] * series.weights)[kept]))
        return constant, found

    def value(self, terms, m, xp):
        """One of the two sums at m of shape (L,)."""
        constant, parts = terms
        scaled = m / math.sqrt(self.length)
        return constant + sum(xp.sum(weights * series.monomials(scaled, xp)) for series, weights in parts)

    @property
    def error(self) -> float:
        """A bound on the error of R at |m| = 1 from what both series leave out."""
        lost = self.target.lost * self.sums.lost(max(self.target.y.degree, 1))
        return 2 * math.sqrt(lost) + 1e-14 * self.target.second_moment
