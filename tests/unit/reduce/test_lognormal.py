"""The censored lognormal fit against lifelines, finite differences, and its degenerate cases."""

import numpy as np
import pandas as pd
import pytest
from lifelines import LogNormalAFTFitter
from scipy.optimize import approx_fprime

from ssi_kernels.reduce.lognormal import _Likelihood, fit_lognormal, fit_lognormal_spreads, spread_designs


@pytest.fixture
def censored():
    rng = np.random.default_rng(3)
    x = np.repeat(np.log([100.0, 300.0, 900.0]), 20)
    log_time = 1.0 + 1.2 * x + np.exp(-0.5 + 0.1 * x) * rng.normal(size=x.size)
    horizon = np.quantile(log_time, 0.7)
    return x, np.minimum(log_time, horizon), log_time <= horizon


def test_agrees_with_lifelines_with_its_robust_errors(censored):
    x, log_time, observed = censored
    design = np.column_stack([np.ones_like(x), x - x.mean()])
    ours = fit_lognormal(log_time, observed, design, design)
    frame = pd.DataFrame({"T": np.exp(log_time), "E": observed, "x": x - x.mean()})
    theirs = LogNormalAFTFitter().fit(frame, "T", "E", formula="x", ancillary="x", robust=True).summary.loc["mu_"]
    runs, parameters = x.size, 4
    errors = np.sqrt(np.diag(ours.covariance) * (runs - parameters) / runs)
    np.testing.assert_allclose(ours.beta, theirs.loc[["Intercept", "x"], "coef"], rtol=2e-4)
    np.testing.assert_allclose(errors, theirs.loc[["Intercept", "x"], "se(coef)"], rtol=5e-3)


def test_derivatives(censored):
    x, log_time, observed = censored
    design = np.column_stack([np.ones_like(x), x - x.mean()])
    likelihood = _Likelihood(log_time - log_time.mean(), observed, design, design)
    theta = np.array([0.1, 0.9, -0.3, 0.2])
    gradient = likelihood.scores(theta).sum(axis=0)
    np.testing.assert_allclose(gradient, approx_fprime(theta, likelihood.value, 1e-7), rtol=1e-4)
    for i in range(4):
        row = approx_fprime(theta, lambda t, i=i: likelihood.scores(t).sum(axis=0)[i], 1e-7)
        np.testing.assert_allclose(likelihood.hessian(theta)[i], row, rtol=1e-4, atol=1e-4)


def test_far_horizons_do_not_overflow():
    """A censored run 1e3 spreads before or beyond the rest keeps every number finite."""
    ones = np.ones((3, 1))
    for far in (-1e3, 1e3):
        likelihood = _Likelihood(np.array([0.0, 0.1, far]), np.array([True, True, False]), ones, ones)
        assert np.isfinite(likelihood.value(np.zeros(2)))
        assert np.isfinite(likelihood.scores(np.zeros(2))).all()
        assert np.isfinite(likelihood.hessian(np.zeros(2))).all()


def test_runs_without_scatter_have_an_estimate_and_no_interval():
    fit = fit_lognormal(np.full(4, 2.0), np.ones(4, bool), np.ones((4, 1)))
    estimate, low, high = fit.interval([1.0])
    assert estimate == pytest.approx(2.0)
    assert np.isnan([low, high]).all()


def test_one_recovered_run_beside_censored_ones_is_a_fit():
    log_time, observed = np.array([1.0, 2.0, 2.0, 2.0]), np.array([True, False, False, False])
    estimate, low, high = fit_lognormal(log_time, observed, np.ones((4, 1))).interval([1.0])
    assert low < estimate < high
    assert estimate > 1.0


def test_undetermined_location_is_no_fit():
    design = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    assert fit_lognormal(np.arange(4.0), np.array([True, True, False, False]), design) is None


def test_spreads_fall_back_on_a_common_one():
    """One run for every x: a spread of its own for each would make the likelihood infinite."""
    x = np.arange(5.0)
    design = np.column_stack([np.ones(5), x])
    log_time = 2 * x + np.array([0.1, -0.2, 0.1, 0.0, 0.05])
    assert spread_designs(np.ones(5, bool), x[:, None], design) == []
    fit = fit_lognormal_spreads(log_time, np.ones(5, bool), design, [np.eye(5)])
    assert np.ptp(fit.sigma) == 0


def test_sparse_cells_share_the_spread_of_the_nearest():
    x = np.repeat([0.0, 1.0, 2.0, 2.2], [6, 6, 6, 2])
    own = spread_designs(np.ones(20, bool), x[:, None], np.ones((20, 1)))[1]
    assert own.shape == (20, 3)
    np.testing.assert_array_equal(own[x == 2.2], own[x == 2.0][:2])
