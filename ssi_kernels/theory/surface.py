"""A smooth function of the overlaps (e, m): Chebyshev polynomials in every e_k, powers in m."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev


@dataclass(frozen=True, eq=False)
class Surface:
    """sum_{j, k} c[j_1, .., j_r, k] T_{j_1}(e_1) .. T_{j_r}(e_r) m^k on |e_k| <= 1; `coefficients` is c."""

    coefficients: np.ndarray

    @property
    def rank(self) -> int:
        """Number r of positional overlaps."""
        return self.coefficients.ndim - 1

    def __call__(self, x, xp=np):
        """Values, shape (...), at x = (e_1..e_r, m) of shape (..., r + 1); `xp` is numpy or jax.numpy."""
        value = self.in_m(x[..., :-1], xp)
        return xp.sum(value * _powers(x[..., -1], value.shape[-1], xp), axis=-1)

    def in_m(self, e, xp=np):
        """The coefficients of m^k at e of shape (..., r): shape (..., K + 1)."""
        value = xp.asarray(self.coefficients)
        if not self.rank:
            return xp.broadcast_to(value, (*e.shape[:-1], value.shape[-1]))
        bases = [chebyshev_basis(e[..., k], value.shape[k], xp) for k in range(self.rank)]
        letters = "abcdefgh"[: self.rank]
        terms = ",".join(f"...{letter}" for letter in letters)
        return xp.einsum(f"{terms},{letters}z->...z", *bases, value)

    def derivative(self, coordinate: int) -> Surface:
        """The derivative in one coordinate, of the series itself."""
        c = self.coefficients
        if coordinate == self.rank:
            powers = np.arange(1, c.shape[-1])
            return Surface(c[..., 1:] * powers if powers.size else np.zeros_like(c))
        if c.shape[coordinate] == 1:
            return Surface(np.zeros_like(c))
        return Surface(chebyshev.chebder(c, axis=coordinate))

    @cached_property
    def gradient(self) -> tuple[Surface, ...]:
        """The first derivatives."""
        return tuple(self.derivative(k) for k in range(self.rank + 1))

    @cached_property
    def hessian(self) -> tuple[tuple[Surface, ...], ...]:
        """The second derivatives."""
        return tuple(tuple(first.derivative(k) for k in range(self.rank + 1)) for first in self.gradient)


def chebyshev_basis(x, count: int, xp=np):
    """T_0(x)..T_{count - 1}(x), shape (..., count), for |x| <= 1."""
    angle = xp.arccos(xp.clip(x, -1.0, 1.0))
    return xp.cos(angle[..., None] * xp.arange(count))


def _powers(m, count: int, xp):
    """1, m, .., m^(count - 1), shape (..., count)."""
    columns = xp.broadcast_to(m[..., None], (*m.shape, count - 1))
    return xp.concatenate([xp.ones((*m.shape, 1)), xp.cumprod(columns, axis=-1)], axis=-1)


def interpolate(values, rank: int, count: int) -> Surface:
    """The surface through `values(e)`, the coefficients of m^k at the Chebyshev nodes e in [-1, 1]^rank.

    `values` maps e, shape (r,), to an array of shape (K + 1,); `count` nodes per direction.
    """
    nodes = chebyshev.chebpts1(count)
    grid = np.stack(np.meshgrid(*[nodes] * rank, indexing="ij"), axis=-1) if rank else np.zeros((0,))
    table = np.array([values(e) for e in grid.reshape(-1, rank)]) if rank else np.array([values(grid)])
    table = table.reshape((count,) * rank + (-1,))
    for axis in range(rank):
        table = chebyshev_coefficients(table, axis)
    return Surface(_trimmed(table))


def chebyshev_coefficients(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """The coefficients of the polynomial through values at the Chebyshev nodes of the first kind, along one axis."""
    count = values.shape[axis]
    vandermonde = chebyshev.chebvander(chebyshev.chebpts1(count), count - 1)
    inverse = vandermonde.T / (vandermonde**2).sum(axis=0)[:, None]
    return np.moveaxis(np.tensordot(inverse, values, axes=(1, axis)), 0, axis)


def _trimmed(table: np.ndarray) -> np.ndarray:
    """Without high powers of m whose coefficients are all 0."""
    kept = np.flatnonzero(table.reshape(-1, table.shape[-1]).any(axis=0))
    return table[..., : kept[-1] + 1] if kept.size else table[..., :1]
