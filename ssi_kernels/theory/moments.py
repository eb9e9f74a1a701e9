"""Expectations over a target's and a student's fields at once, as series in the overlap.

With z = m z* + B e + c + sqrt(1 - m^2) xi, E[Y(z*) Phi(z)] = sum_alpha Y_alpha Phi_alpha(e) m^|alpha|,
Y_alpha = E[Y(z) h_alpha(z)], Phi_alpha(e) = E[Phi(z + B e + c) h_alpha(z)] (Mehler's formula).

For the squared loss, with f the student's outputs, both the risk and the noise E|q|^2, q = 2 (f - y) . df/dz, are
sums of such pairs:
    R = E|y|^2 + E|f|^2 - 2 E y . f,    |q|^2 = 4 sum_i [(f . d_i f)^2 - 2 y . (f . d_i f) d_i f + (y . d_i f)^2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import numpy as np

_CONSTANT = 1e-12
"""Slope of an output that is constant but for rounding, such as the sum of a row of softmax."""

Pair = tuple[tuple[int, ...], np.ndarray]
"""Which outputs of the target are multiplied to Y (() for 1), and the values of Phi at the nodes."""


def cross_pairs(f: np.ndarray) -> Iterator[Pair]:
    """The pairs of E y . f, from outputs f of shape (q, n)."""
    yield from (((a,), values) for a, values in enumerate(f))


def noise_pairs(f: np.ndarray, slopes: np.ndarray) -> Iterator[Pair]:
    """The pairs of E|q|^2, from outputs f (q, n) and slopes (K, q, n)."""
    along = np.einsum("qn,iqn->in", f, slopes)
    varying = np.flatnonzero(np.abs(slopes).max(axis=(0, 2)) > _CONSTANT)
    yield (), 4 * np.einsum("in,in->n", along, along)
    for a in varying:
        yield (a,), -8 * np.einsum("in,in->n", along, slopes[:, a])
    for a, b in combinations_with_replacement(varying, 2):
        yield (a, b), (4 if a == b else 8) * np.einsum("in,in->n", slopes[:, a], slopes[:, b])


def pairwise(pairs: Callable[[], Iterator[Pair]], project, degree: int) -> np.ndarray:
    """The series sum of all pairs, shape (degree + 1,); `project(Y, Phi)` gives that of one pair."""
    total = np.zeros(degree + 1)
    for factors, values in pairs():
        part = project(factors, values)
        total[: part.size] += part
    return total
