"""Polynomial targets of too many terms to write out, such as staircases over a long sequence: series along a line.

G(t v) = E[g(z + t v)] is a polynomial in t, built from the parts of g (`smoothed`):
E[g(z) h_k(v . z)] = sqrt(k!) [t^k] G(t v).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.expansion import MOST_TERMS, written_out_size
from ssi_kernels.theory.linear_forms import NotPolynomial, smoothed_power, without_common_fields
from ssi_kernels.theory.smoothed import polynomial_degree

if TYPE_CHECKING:
    from types import ModuleType

    from sympy import Expr

_ROUNDING = 1e-13


@dataclass(frozen=True)
class Structured:
    """A polynomial in the fields, as a sympy expression."""

    value: Expr

    @property
    def degree(self) -> int:
        """The total degree."""
        return polynomial_degree(self.value)

    def square(self) -> Structured:
        """Its square."""
        return Structured(self.value**2)

    def along_without_rounding(self, direction: np.ndarray) -> np.ndarray:
        """The same as `along`, with 0 where the terms of an order cancel to rounding."""
        sizes = _Line(np.abs(direction), np, signed=False).smoothed(self.value)
        found = self.along(direction)
        roots = np.exp([math.lgamma(k + 1) / 2 for k in range(found.size)])
        sizes = np.concatenate([sizes, np.zeros(found.size - sizes.size)]) * roots
        return np.where(np.abs(found) > _ROUNDING * sizes, found, 0.0)

    def along(self, direction, xp=np):
        """E[g(z) h_k(v . z)], k = 0..degree, at v of norm at most 1, shape (L,); for numpy and JAX."""
        roots = np.exp([math.lgamma(k + 1) / 2 for k in range(self.degree + 1)])
        line = _Line(direction, xp, signed=True).smoothed(self.value)
        return xp.concatenate([line, xp.zeros(self.degree + 1 - line.shape[0])]) * roots


@dataclass(frozen=True)
class _Line:
    """The line z + t v; with `signed` false every number counts by its size, which bounds what cancels."""

    v: object
    xp: ModuleType
    signed: bool

    def smoothed(self, value):
        """The coefficients of t^k in E[value(z + t v)], shape (degree + 1,)."""
        if value.is_number:
            number = float(value)
            return self.xp.asarray([number if self.signed else abs(number)])
        if value.is_Add:
            return self._added([self.smoothed(part) for part in value.args])
        groups = without_common_fields(value.args) if value.is_Mul else [[value]]
        total = self.xp.asarray([1.0])
        for group in groups:
            total = self.xp.convolve(total, self._connected(_product(group)))
        return total

    def _added(self, parts):
        length = max(part.shape[0] for part in parts)
        return sum(self.xp.concatenate([part, self.xp.zeros(length - part.shape[0])]) for part in parts)

    def _connected(self, value):
        if value.is_number or value.is_Add:
            return self.smoothed(value)
        base, n = value.as_base_exp()
        if base.is_Symbol and n.is_Integer and n > 0:
            weights = np.zeros(int(n) + 1)
            for k, coefficient in smoothed_power(int(n)):
                weights[k] = float(coefficient)
            return weights * self.v[int(base.name[1:]) - 1] ** np.arange(int(n) + 1)
        if written_out_size(value) > MOST_TERMS or (expanded := value.expand()) == value:
            raise NotPolynomial(str(value)[:60])
        return self.smoothed(expanded)


def _product(factors):
    import sympy

    return sympy.Mul(*factors)
