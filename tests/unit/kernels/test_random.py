"""The generator, the Gaussians and the chi-square variables behind every step."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from scipy import stats

from ssi_kernels.kernels import chi_square, gaussian, streams
from ssi_kernels.kernels.threefry import threefry

KNOWN_ANSWERS = [  # key, counter, result: the vectors published with Random123
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def words(*values):
    return tuple(np.array([v], np.uint32) for v in values)


@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN_ANSWERS)
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_threefry_known_answers(key, counter, expected, convert):
    result = threefry(tuple(map(convert, words(*key))), tuple(map(convert, words(*counter))))
    assert tuple(int(x[0]) for x in result) == expected


def random_words(count, seed=0):
    return np.random.default_rng(seed).integers(0, 2**32, size=(2, count), dtype=np.uint32)


def test_float32_gaussians_are_the_float64_ones_rounded():
    a, b = random_words(200_000)
    single = np.asarray(gaussian.pair(jnp.asarray(a), jnp.asarray(b), np.float32))
    with jax.enable_x64(True):
        double = np.asarray(gaussian.pair(jnp.asarray(a), jnp.asarray(b), np.float64))
    assert np.max(np.abs(single - double) * np.minimum(np.abs(double), 1)) < 1e-6
    assert np.max(np.abs(single - double)) < 2e-5  # the radius is a square root: near 0 it doubles the relative error


def test_gaussians_at_extreme_words():
    extremes = jnp.asarray(np.array([0, 1, 2**31, 2**32 - 1], np.uint32))
    a, b = (x.ravel() for x in jnp.meshgrid(extremes, extremes))
    pair = np.asarray(gaussian.pair(a, b, np.float32))
    assert np.isfinite(pair).all()
    assert np.abs(pair).max() < chi_square.REACH


@pytest.mark.statistical
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussians_have_the_normal_law(dtype):
    """KS of both parts and their correlation on 2 x 10^6 draws; false alarms 3e-6 each."""
    a, b = random_words(2_000_000, seed=3)
    with jax.enable_x64(dtype == np.float64):
        pair = np.asarray(gaussian.pair(jnp.asarray(a), jnp.asarray(b), dtype))
    for part in (pair.real, pair.imag):
        assert stats.kstest(part.astype(float), "norm").pvalue > 3e-6
    assert abs(np.mean(pair.real.astype(float) * pair.imag)) < 4.7 / np.sqrt(a.size)


@pytest.mark.parametrize("nu", [30, 31, 47, 100, 997, 99_997, 100_003, 10**6 - 3])
def test_chi_square_polynomial_has_the_exact_law(nu):
    x = np.linspace(-6.7, 6.7, 2001)
    q = nu * np.polyval(chi_square.coefficients(nu), x / chi_square.REACH) ** 3
    error = np.abs(stats.chi2.cdf(q, nu) - stats.norm.cdf(x)).max()
    assert error < 2e-8
    assert np.abs(stats.chi2.cdf(q, nu + 1) - stats.norm.cdf(x)).max() > 100 * error


def test_chi_square_quantiles_join_at_the_asymptotic_expansion(monkeypatch):
    x = np.linspace(-6.7, 6.7, 501)
    below = chi_square._quantile(x, chi_square.ASYMPTOTIC)
    monkeypatch.setattr(chi_square, "ASYMPTOTIC", 1)
    np.testing.assert_allclose(chi_square._quantile(x, 100_000), below, rtol=1e-13)


def test_few_degrees_are_sums_of_squares():
    normals = jnp.asarray(np.random.default_rng(1).normal(size=(chi_square.MANY, 4)))
    nu = jnp.asarray([0.0, 1.0, 7.0, 29.0])
    expected = [np.sum(np.asarray(normals)[: int(n), i] ** 2) for i, n in enumerate(nu)]
    np.testing.assert_allclose(chi_square.from_squares(normals, nu), expected, rtol=1e-6)


def test_replica_keys_depend_on_point_and_replica_only():
    wide, narrow = streams.replica_keys("ab" * 32, 0, 100), streams.replica_keys("ab" * 32, 37, 40)
    np.testing.assert_array_equal(wide[:, 37:40], narrow)
    assert len({tuple(k) for k in wide.T}) == 100
    assert not (streams.replica_keys("ac" * 32, 0, 100) == wide).any()


@pytest.mark.statistical
def test_points_replicas_steps_and_draws_are_uncorrelated():
    """Case 22: no shared noise. 10^4 draws each; all correlations within 5 standard deviations (45 of them, 3e-5)."""
    keys = [streams.replica_keys(i * 64, j, j + 1) for i in "12" for j in (0, 1)]
    samples = [streams.host_normals(k, p, 10_000)[:, 0] for k in keys for p in (streams.START, streams.FRAME)]
    samples += [
        streams.host_normals(np.stack(streams.derived(keys[0], t, streams.STEP)), 0, 10_000)[:, 0] for t in (0, 1)
    ]
    correlation = np.corrcoef(samples) - np.eye(len(samples))
    assert np.abs(correlation).max() < 5 / np.sqrt(10_000)


def test_uniforms_lie_inside_the_unit_interval():
    uniforms = streams.host_uniforms(streams.replica_keys("0" * 64, 0, 1000), streams.START, 10)
    assert 0 < uniforms.min() < uniforms.max() < 1
