"""Losses and their cotangents against automatic differentiation."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from ssi_kernels.model.losses import LOSSES, check_loss, value_and_cotangent

from .helpers import refused

PLAIN = {"squared": lambda r: jnp.sum(r**2), "frobenius": lambda r: jnp.sqrt(jnp.sum(r**2))}


def residuals(matrix, *lanes):
    return np.random.default_rng(3).standard_normal(((3, 3) if matrix else ()) + lanes)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_against_jax_grad(loss, matrix, x64):
    r = residuals(matrix, 5)
    value, cotangent = value_and_cotangent(loss, jnp.asarray(r), matrix)
    assert value.shape == (5,) and cotangent.shape == r.shape
    for w in range(5):
        np.testing.assert_allclose(value[w], PLAIN[loss](r[..., w]), rtol=1e-13)
        np.testing.assert_allclose(cotangent[..., w], jax.grad(PLAIN[loss])(r[..., w]), rtol=1e-13)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_zero_residual_has_no_gradient(loss, matrix):
    """Automatic differentiation of the norm gives NaN there; by definition it is 0."""
    r = residuals(matrix, 4).astype(np.float32)
    r[..., 1] = 0
    value, cotangent = value_and_cotangent(loss, jnp.asarray(r), matrix)
    assert value[1] == 0 and np.all(np.asarray(cotangent)[..., 1] == 0)
    assert np.all(np.isfinite(cotangent)) and np.all(np.asarray(value)[[0, 2, 3]] > 0)


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_not_finite_stays_visible(loss):
    value, _ = value_and_cotangent(loss, jnp.array([jnp.nan, jnp.inf, 1.0]), False)
    assert np.isfinite(value).tolist() == [False, False, True]


@pytest.mark.parametrize("loss", ["Squared", "mse", "", None, 2, ["squared"]])
def test_unknown_losses_are_refused(loss):
    refused(lambda: check_loss(loss), "loss", loss, "squared or frobenius")
    assert check_loss("frobenius") == "frobenius"
