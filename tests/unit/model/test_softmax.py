"""Row-wise softmax against scipy."""

import numpy as np
import pytest
from scipy import special

from ssi_kernels.model.softmax import outer, softmax_rows

from .helpers import fields


@pytest.mark.parametrize("length", [2, 3, 5])
def test_against_scipy(length, x64):
    logits = 3 * np.random.default_rng(length).standard_normal((length, length, 4, 7))
    np.testing.assert_allclose(softmax_rows(logits), special.softmax(logits, axis=1), rtol=1e-12)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_large_logits_give_ones_and_zeros(length):
    logits = np.float32(300) * np.eye(length, dtype=np.float32)[:, :, None]
    np.testing.assert_allclose(softmax_rows(logits)[..., 0], np.eye(length), rtol=0, atol=1e-37)
    np.testing.assert_allclose(softmax_rows(-logits)[..., 0].sum(axis=1), 1, rtol=1e-6)


def test_one_token_attends_to_itself():
    assert softmax_rows(np.ones((1, 1, 3))).tolist() == [[[1, 1, 1]]]


@pytest.mark.parametrize("length", [1, 2, 4])
def test_outer_products(length):
    z = fields(length, 3)
    np.testing.assert_array_equal(outer(z), np.einsum("iw,jw->ijw", z, z))


@pytest.mark.parametrize("length", [2, 3])
def test_gradients_are_those_of_the_definition(length, x64):
    import jax
    from jax import numpy as jnp

    def plain(logits):
        weights = jnp.exp(logits)
        return weights / weights.sum(axis=1, keepdims=True)

    logits = np.random.default_rng(1).standard_normal((length, length))
    weights = np.random.default_rng(2).standard_normal((length, length))
    gradients = [jax.grad(lambda x, f=f: jnp.sum(weights * f(x)))(logits) for f in (plain, softmax_rows)]
    np.testing.assert_allclose(*gradients, rtol=1e-10, atol=1e-14)
