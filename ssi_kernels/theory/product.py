"""Series of students that see their fields one by one (attention), by product rules over L <= 4 fields."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.evaluate import largest_shift, shifts, student_values, target_values
from ssi_kernels.theory.expansion import Expansion, dense_index, expand_target
from ssi_kernels.theory.moments import cross_pairs, noise_pairs, pairwise
from ssi_kernels.theory.rules import Rule, split, uniform

if TYPE_CHECKING:
    from ssi_kernels.model import Model

MOST_FIELDS = 4
DEGREES = {1: 1000, 2: 240, 3: 48, 4: 20}
"""Degree at which a target that is no polynomial is cut."""

NOISE_DEGREES = {1: 400, 2: 200, 3: 32, 4: 16}
"""The same for the products of outputs in the noise, which no derivative is taken of."""

_ROUNDING = 1e-15
"""Coefficients below it, relative to the sizes of target and student, count as 0."""

_RULES = {1: (14.0, 0.05), 2: (14.0, 0.1), 3: (11.0, 0.25), 4: (8.5, 0.45)}
"""Reach and step of the student's rule; softmax over L fields has poles close to the real axis, so steps are small."""


class ProductSeries:
    """Risk and noise of one model as power series in m at given e (physics: Mehler's formula, `moments`)."""

    method = "product rule"

    def __init__(self, model: Model, length: int):
        self.model, self.length = model, length
        reach, step = _RULES[length]
        self.rule = uniform(reach + largest_shift(model, length), step)
        self.values, self.slopes = student_values(model.student, _grid(self.rule, length))
        smooth = length > 2 or "omega" in model.target.parameters()
        self.target = ProductTarget(model, length, self.rule if smooth else split(reach))

    def risk(self, e: np.ndarray) -> np.ndarray:
        """The coefficients of m^k in R, shape (K + 1,), at e of shape (r,)."""
        series = -2 * self.cross(e)
        series[0] += self.target.second_moment + self.own(e)
        return series

    def own(self, e: np.ndarray) -> float:
        """E|f(z + B e + c)|^2."""
        return self._mean(np.einsum("qn,qn->n", self.values, self.values), e)

    def mean(self, e: np.ndarray) -> np.ndarray:
        """E f(z + B e + c), shape (q,)."""
        return np.array([self._mean(f, e) for f in self.values])

    def cross(self, e: np.ndarray) -> np.ndarray:
        """The coefficients of m^k in E y(z*) . f(z), shape (K + 1,)."""
        return self._series(lambda: cross_pairs(self.values), e, self.target.degree)

    def noise(self, e: np.ndarray) -> np.ndarray:
        """The coefficients of m^k in E|q|^2 for the squared loss."""
        return self._series(lambda: noise_pairs(self.values, self.slopes), e, self.target.squared_degree)

    def _mean(self, values: np.ndarray, e: np.ndarray) -> float:
        weights = [self.rule.weights(0, shift) for shift in shifts(self.model, self.length, e)]
        return contract(values, weights).item()

    def _series(self, pairs, e, degree: int) -> np.ndarray:
        weights = [self.rule.weights(degree, shift) for shift in shifts(self.model, self.length, e)]
        return pairwise(pairs, lambda factors, values: self._project(factors, values, weights), degree)

    def _project(self, factors, values, weights) -> np.ndarray:
        if not factors:
            return contract(values, [w[:1] for w in weights]).ravel()
        y = self.target.coefficients(factors)
        y = y[(slice(weights[0].shape[0]),) * y.ndim]
        if not y.any():
            return np.zeros(1)
        kept = [w[: y.shape[0]] for w in weights]
        order = orders(y.shape).ravel()
        found = np.bincount(order, (y * contract(values, kept)).ravel())
        size = np.bincount(order, np.abs(y).ravel()) * np.abs(values).max()
        return np.where(np.abs(found) > _ROUNDING * size, found, 0.0)[: weights[0].shape[0]]

    @cached_property
    def error(self) -> float:
        """An estimate of the absolute error of R: what both series leave out at |m| = 1, and that of the rule."""
        weights = [self.rule.weights(self.target.degree, shift) for shift in self.model.encoding.shift(self.length)]
        lost = [
            tail
            * max(
                0.0, contract(f * f, [w[:1] for w in weights]).item() - _kept(contract(f, weights), self.target.degree)
            )
            for f, tail in zip(self.values, self.target.tails, strict=True)
        ]
        return 2 * float(np.sqrt(lost).sum()) + self._rule_error() + 1e-14 * self.target.second_moment

    def _rule_error(self) -> float:
        """Four times the change of E f^2 when the nodes move by half a step."""
        if self.length < 3:
            return 0.0
        moved = Rule(self.rule.nodes + self.rule.lengths[0] / 2, self.rule.lengths)
        second = [
            contract(np.einsum("qn,qn->n", f, f), [rule.weights(0)] * self.length).item()
            for rule, f in (
                (self.rule, self.values),
                (moved, student_values(self.model.student, _grid(moved, self.length))[0]),
            )
        ]
        return 4 * abs(second[0] - second[1])


class ProductTarget:
    """Hermite coefficients of a target's outputs and of their products, as dense arrays over alpha."""

    def __init__(self, model: Model, length: int, rule: Rule):
        self.length, self.rule = length, rule
        self.expansion = expand_target(model.target, length)
        if self.expansion is None:
            self.values = target_values(model.target, length, model.encoding, _grid(rule, length))
        self._found: dict = {}

    @property
    def degree(self) -> int:
        """Degree of the series of y."""
        return DEGREES[self.length] if self.expansion is None else self.expansion.degree

    @property
    def squared_degree(self) -> int:
        """Degree of the series of products of two outputs."""
        return NOISE_DEGREES[self.length] if self.expansion is None else 2 * self.degree

    @cached_property
    def second_moment(self) -> float:
        """E|y|^2."""
        if self.expansion is not None:
            return self.expansion.second_moment
        total = np.einsum("qn,qn->n", self.values, self.values)
        return contract(total, [self.rule.weights(0)] * self.length).item()

    @cached_property
    def tails(self) -> list[float]:
        """By output, the part of E y^2 beyond the degree."""
        if self.expansion is not None:
            return [0.0]
        weights = [self.rule.weights(0)] * self.length
        return [
            max(0.0, contract(y * y, weights).item() - _kept(self.coefficients((a,)), self.degree))
            for a, y in enumerate(self.values)
        ]

    def coefficients(self, factors: tuple[int, ...]) -> np.ndarray:
        """E[Y h_alpha], shape (K + 1,)^L, K the largest degree; Y is the product of the outputs `factors`."""
        if factors not in self._found:
            self._found[factors] = _trimmed(self._coefficients(factors))
        return self._found[factors]

    def _coefficients(self, factors: tuple[int, ...]) -> np.ndarray:
        if self.expansion is not None:
            return dense(self.expansion if len(factors) == 1 else self.expansion.square(), self.length)
        degree = self.degree if len(factors) == 1 else self.squared_degree
        found = contract(np.prod(self.values[list(factors)], axis=0), [self.rule.weights(degree)] * self.length)
        found[orders(found.shape) > degree] = 0.0
        found[np.abs(found) < 1e-15 * np.abs(found).max()] = 0.0
        return found


def _trimmed(found: np.ndarray) -> np.ndarray:
    """Without the degrees at which every coefficient is 0."""
    most = max((int(places.max()) for places in np.nonzero(found) if places.size), default=0)
    return found[(slice(most + 1),) * found.ndim]


def dense(expansion: Expansion, length: int) -> np.ndarray:
    """g_alpha as an array over alpha, shape (degree + 1,)^L."""
    found = np.zeros((expansion.degree + 1,) * length)
    for alpha, value in expansion.terms.items():
        found[dense_index(alpha, length)] = value
    return found


def contract(values: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """sum over the nodes of prod_i w_i[alpha_i, x_i] values[x_1..x_L]: shape (K + 1,)^L from (n^L,)."""
    table = values.reshape(tuple(w.shape[1] for w in weights))
    for w in weights:
        table = np.tensordot(table, w, axes=(0, 1))
    return table


def orders(shape: tuple[int, ...]) -> np.ndarray:
    """|alpha| over an array of multi-indices."""
    return np.indices(shape, sparse=False).sum(axis=0)


def _kept(coefficients: np.ndarray, degree: int) -> float:
    """The sum of squares up to a degree."""
    inside = orders(coefficients.shape) <= degree
    return float((coefficients[inside] ** 2).sum())


def _grid(rule: Rule, length: int) -> np.ndarray:
    """The nodes of the product rule, shape (L, n^L)."""
    return np.stack(np.meshgrid(*[rule.nodes] * length, indexing="ij")).reshape(length, -1)
