"""Series of tied students, f = sigma(u): a Gaussian u of mean b(e) = sum_i (B e + c)_i / sqrt(L), one-dimensional."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.evaluate import largest_shift, shifts, student_values
from ssi_kernels.theory.moments import cross_pairs, noise_pairs, pairwise
from ssi_kernels.theory.rules import Rule, split
from ssi_kernels.theory.target_series import TargetSeries

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.model.students import Student

_REACH = 14.0
ROUNDING = 1e-14
"""Hermite components below it, relative to the root mean square, are rounding and count as 0."""


def sum_rule(degree: int, shift: float) -> Rule:
    """Panels over u with room for a shifted Gaussian; finer where high degrees oscillate."""
    reach = _REACH + shift
    return split(reach, math.ceil(reach * max(1.0, math.sqrt(degree) / 11)))


class SumValues:
    """sigma and its slope at the nodes of a rule, and their moments with Hermite polynomials."""

    def __init__(self, student: Student, rule: Rule):
        self.rule = rule
        self.values, self.slopes = student_values(student, rule.nodes[None])

    def own(self, shift: float = 0.0) -> float:
        """E sigma(u + shift)^2."""
        return float(self.rule.weights(0, shift)[0] @ self.values[0] ** 2)

    def cross(self, directional, degree: int, shift: float = 0.0) -> np.ndarray:
        """E y(z*) sigma(u), coefficients of m^k; `directional(factors)` is E[Y(z) h_k(v . z)], shape (K + 1,)."""
        return self._series(lambda: cross_pairs(self.values), directional, degree, shift)

    def noise(self, directional, degree: int, shift: float = 0.0) -> np.ndarray:
        """E|q|^2 = E (dL/du)^2."""
        return self._series(lambda: noise_pairs(self.values, self.slopes), directional, degree, shift)

    def lost(self, degree: int, shift: float = 0.0) -> float:
        """The part of E f^2 beyond a degree."""
        kept = self.components(self.values[0], degree, shift)
        return max(0.0, self.own(shift) - float((kept**2).sum()))

    def components(self, values: np.ndarray, degree: int, shift: float = 0.0) -> np.ndarray:
        """E[values(u + shift) h_k(u)], k = 0..degree; those that are rounding are 0."""
        weights = self.rule.weights(degree, shift)
        found = weights @ values
        return np.where(np.abs(found) > ROUNDING * math.sqrt(weights[0] @ values**2), found, 0.0)

    def _series(self, pairs, directional, degree: int, shift: float) -> np.ndarray:
        def project(factors, values):
            if not factors:
                return self.components(values, 0, shift)
            y = directional(factors)
            return y * self.components(values, y.size - 1, shift)

        return pairwise(pairs, project, degree)


class SummedSeries:
    """Risk and noise of a tied student as power series in m at given e."""

    method = "one-dimensional rule"

    def __init__(self, model: Model, length: int, target: TargetSeries):
        self.model, self.length, self.target = model, length, target
        self.degree = target.y.degree
        self.noise_degree = max(target.y.degree, target.square.degree)
        reach = largest_shift(model, length) * math.sqrt(length)
        self.sums = SumValues(model.student, sum_rule(self.noise_degree, reach))

    def risk(self, e: np.ndarray) -> np.ndarray:
        """The coefficients of m^k in R, shape (K + 1,), at e of shape (r,)."""
        shift = self._shift(e)
        series = -2 * self.sums.cross(self._directional, self.degree, shift)
        series[0] += self.target.second_moment + self.sums.own(shift)
        return series

    def noise(self, e: np.ndarray) -> np.ndarray:
        """The coefficients of m^k in E|q|^2 for the squared loss."""
        return self.sums.noise(self._directional, self.noise_degree, self._shift(e))

    def _shift(self, e: np.ndarray) -> float:
        return float(shifts(self.model, self.length, e).sum() / math.sqrt(self.length))

    def _directional(self, factors: tuple[int, ...]) -> np.ndarray:
        return self._along[len(factors) - 1]

    @cached_property
    def _along(self) -> tuple[np.ndarray, np.ndarray]:
        """E[Y h_k(v . z)] for Y = y and y^2 with v = (1,..,1) / sqrt(L)."""
        ones = np.full(self.length, 1 / math.sqrt(self.length))
        return self.target.y.along_without_rounding(ones), self.target.square.along_without_rounding(ones)

    @property
    def error(self) -> float:
        """A bound on the error of R at |m| = 1 from what both series leave out."""
        lost = self.target.lost * self.sums.lost(self.degree, self._shift(np.zeros(self.model.rank(self.length))))
        return 2 * math.sqrt(lost) + 1e-14 * self.target.second_moment
