"""Probabilists' Hermite polynomials He_k and their normalised form h_k = He_k / sqrt(k!).

He_0 = 1, He_1 = x, He_{k+1} = x He_k - k He_{k-1}. With z ~ N(0, 1), E[h_j(z) h_k(z)] = delta_jk.
Everything works on whatever supports + and *: floats, NumPy and JAX arrays, sympy expressions.
"""

from __future__ import annotations

import math


def he(k: int, x):
    """He_k(x) by the three-term recurrence; the shape of the result is that of `x`.

    Raises ValueError for a negative degree.
    """
    _check(k)
    previous, current = x * 0 + 1, x
    if k == 0:
        return previous
    for j in range(1, k):
        previous, current = current, x * current - j * previous
    return current


def normalised(k: int, x):
    """h_k(x) = He_k(x) / sqrt(k!), of unit variance under the standard Gaussian (k >= 1).

    h_{k+1} = (x h_k - sqrt(k) h_{k-1}) / sqrt(k+1): in single precision He_k itself overflows near k = 55.
    Raises ValueError for a negative degree.
    """
    _check(k)
    previous, current = x * 0 + 1.0, x * 1.0
    if k == 0:
        return previous
    for j in range(1, k):
        previous, current = current, (x * current - math.sqrt(j) * previous) / math.sqrt(j + 1)
    return current


def _check(k: int) -> None:
    if k < 0:
        raise ValueError(f"degree {k}: Hermite polynomials have degree 0, 1, 2, ...")
