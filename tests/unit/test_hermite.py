"""Hermite polynomials against numpy.polynomial.hermite_e."""

import math

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from ssi_kernels.hermite import he, normalised

X = np.linspace(-5, 5, 41).reshape(1, 41)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5, 8, 13, 20])
def test_against_numpy(k):
    expected = hermite_e.hermeval(X, [0] * k + [1])
    np.testing.assert_allclose(he(k, X), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    scaled = expected / math.sqrt(math.factorial(k))
    np.testing.assert_allclose(normalised(k, X), scaled, rtol=1e-10, atol=1e-10 * np.abs(scaled).max())


def test_the_first_ones_by_hand():
    x = 1.7
    values = [he(k, x) for k in range(5)]
    assert values == pytest.approx([1, x, x**2 - 1, x**3 - 3 * x, x**4 - 6 * x**2 + 3])
    assert normalised(2, x) == pytest.approx((x**2 - 1) / math.sqrt(2))


def test_normalised_ones_are_orthonormal():
    nodes, weights = hermite_e.hermegauss(40)
    values = np.stack([normalised(k, nodes) for k in range(16)])
    np.testing.assert_allclose((values * weights / math.sqrt(2 * math.pi)) @ values.T, np.eye(16), atol=1e-10)


def test_integers_sympy_and_jax():
    import sympy
    from jax import numpy as jnp

    assert he(3, 2) == 2 and he(0, 5) == 1
    z = sympy.Symbol("z")
    assert sympy.expand(he(4, z)) == z**4 - 6 * z**2 + 3
    np.testing.assert_allclose(he(4, jnp.array([0.5, 2.0])), [0.5**4 - 1.5 + 3, 16 - 24 + 3], rtol=1e-6)


@pytest.mark.parametrize("function", [he, normalised])
def test_the_shape_is_that_of_the_argument(function):
    for k in range(4):
        assert function(k, np.zeros((3, 2, 4))).shape == (3, 2, 4)


@pytest.mark.parametrize("function", [he, normalised])
def test_negative_degrees_are_refused(function):
    with pytest.raises(ValueError, match="degree -1"):
        function(-1, 0.5)


def test_high_degrees_do_not_overflow_in_single_precision():
    """He_64(0) is 1e44; h_64 is of order 1."""
    x = np.linspace(-6, 6, 25)
    single = normalised(64, x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, normalised(64, x), rtol=2e-4, atol=2e-4)
