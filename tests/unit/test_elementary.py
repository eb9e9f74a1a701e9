"""exp, the logistic function and tanh in float32 against float64, and what importing them costs."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from ssi_kernels import elementary

X = np.concatenate([np.linspace(-86, 86, 200_001), np.linspace(-1, 1, 20_001), np.logspace(-20, 0, 500)])
EXACT = {"exp": np.exp, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}
JAX = {"exp": jnp.exp, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh}


@pytest.mark.parametrize("name", EXACT)
def test_float32_is_accurate(name):
    x = X.astype(np.float32)
    ours, exact = np.asarray(jax.jit(getattr(elementary, name))(x), float), EXACT[name](x.astype(float))
    np.testing.assert_allclose(ours, exact, rtol=4e-7, atol=0)


@pytest.mark.parametrize("name", EXACT)
def test_a_coarser_power_of_e_would_be_seen(name, monkeypatch):
    """The control: ln 2 rounded to its high part."""
    monkeypatch.setattr(elementary, "_LN2_LOW", 0.0)
    function = elementary._functions.__wrapped__()[name]
    x = X[X != 0].astype(np.float32)
    ours, exact = np.asarray(jax.jit(function)(x), float), EXACT[name](x.astype(float))
    assert np.abs(ours / exact - 1).max() > 1e-5


@pytest.mark.parametrize("name", EXACT)
def test_special_values(name):
    function = getattr(elementary, name)
    assert float(function(jnp.float32(0))) == float(EXACT[name](0.0))
    assert np.isnan(function(jnp.float32(np.nan)))
    assert np.isnan(jax.jit(function)(np.full(20, np.nan, np.float32))).all()
    far, farther = (np.asarray(function(jnp.asarray([-s, s], jnp.float32))) for s in (87.0, np.inf))
    np.testing.assert_array_equal(far, farther)


@pytest.mark.parametrize("name", EXACT)
def test_derivatives(name):
    x = jnp.linspace(-5, 5, 101, dtype=jnp.float32)
    ours, theirs = (jax.vmap(jax.grad(f))(x) for f in (getattr(elementary, name), JAX[name]))
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", EXACT)
def test_float64_is_jax(name):
    with jax.enable_x64(True):
        x = jnp.linspace(-5, 5, 101)
        np.testing.assert_array_equal(getattr(elementary, name)(x), JAX[name](x))


def test_kept_is_the_identity():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * 10.0 ** np.arange(-20, 20, 0.04)
    x = x.astype(np.float32)
    np.testing.assert_array_equal(jax.jit(elementary.kept)(x), x)


def test_importing_it_imports_no_jax():
    done = subprocess.run(
        [sys.executable, "-c", "import ssi_kernels.elementary, sys; assert 'jax' not in sys.modules"], check=False
    )
    assert done.returncode == 0
