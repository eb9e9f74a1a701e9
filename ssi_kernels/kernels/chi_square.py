"""Chi-square variables from normals, without rejection and with the degrees of freedom as data.

From MANY degrees of freedom on: q = nu p(x)^3, where p is the polynomial of degree 11 closest to
(F_nu^-1(Phi(x)) / nu)^(1/3) (the Wilson-Hilferty root, whose dependence on the normal x is almost linear); its
Kolmogorov-Smirnov distance from the exact law is below 1e-8. Below MANY: the sum of nu squared normals.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jax import numpy as jnp
from scipy import stats

MANY = 32  # at 30 the distance is 1.07e-8
DEGREE = 11
REACH = 6.8  # beyond the largest normal that a 32-bit Box-Muller can make
ASYMPTOTIC = 100_000  # scipy's quantiles lose digits above; the expansion below is exact to 1e-13 there


@lru_cache(maxsize=4096)
def coefficients(nu: int) -> np.ndarray:
    """Powers of x / REACH, highest first, of the polynomial p for nu >= MANY; float64 of shape (DEGREE + 1,)."""
    x = REACH * np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    fit = np.polynomial.Chebyshev.fit(x / REACH, np.cbrt(_quantile(x, nu) / nu), DEGREE, domain=[-1, 1])
    return fit.convert(kind=np.polynomial.Polynomial).coef[::-1].copy()


def _quantile(x: np.ndarray, nu: int) -> np.ndarray:
    """F_nu^-1(Phi(x)); above ASYMPTOTIC by the Cornish-Fisher expansion (Abramowitz and Stegun 26.2.49)."""
    if nu <= ASYMPTOTIC:
        return np.where(x < 0, stats.chi2.ppf(stats.norm.cdf(x), nu), stats.chi2.isf(stats.norm.sf(x), nu))
    root = np.sqrt(2.0 * nu)
    terms = (
        root * x,
        2 / 3 * (x**2 - 1),
        (x**3 - 7 * x) / (9 * root),
        -(6 * x**4 + 14 * x**2 - 32) / (405 * nu),
        (9 * x**5 + 256 * x**3 - 433 * x) / (4860 * nu * root),
    )
    return nu + sum(terms)


def from_normal(x, nu, coefficients):
    """chi2 with nu degrees of freedom, nu (W,), coefficients (DEGREE + 1, W), x (..., W)."""
    y = x * x.dtype.type(1 / REACH)
    root = coefficients[0]
    for c in coefficients[1:]:
        root = root * y + c
    return nu * root * root * root


def from_squares(normals, nu):
    """Sum of the first nu squares of `normals`, a sequence of arrays (..., W), for nu (W,) below MANY."""
    return sum(jnp.where(j < nu, x * x, 0) for j, x in enumerate(normals))
