"""Medians under censoring."""

import numpy as np
import pytest
from lifelines import KaplanMeierFitter

from ssi_kernels.reduce.survival import median_time


def test_without_censoring_it_is_the_ordinary_median():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 16, 63):
        times = rng.permutation(np.arange(1.0, n + 1))
        assert median_time(times, np.ones(n, bool))[0] == np.median(times)


def test_agrees_with_lifelines():
    rng = np.random.default_rng(1)
    for share in (0.1, 0.3, 0.45):
        times = rng.lognormal(5.0, 1.0, 33)
        horizon = np.quantile(times, 1 - share)
        observed = times <= horizon
        times = np.minimum(times, horizon)
        median, low, _ = median_time(times, observed)
        theirs = KaplanMeierFitter().fit(times, observed)
        assert median == theirs.median_survival_time_
        assert low <= median


def test_undefined_when_more_than_half_are_censored():
    """Only the lower end of the interval is then known."""
    times = np.array([10.0, 20.0, *[100.0] * 14])
    median, low, high = median_time(times, times < 100)
    assert np.isnan(median)
    assert high == np.inf or np.isnan(high)
    assert not low <= 20 or np.isnan(low)


@pytest.mark.parametrize("times", [[], [50.0], [50.0] * 4])
def test_undefined_when_nothing_recovered(times):
    assert np.isnan(median_time(np.array(times), np.zeros(len(times), bool))).all()


def test_half_censored_is_still_defined():
    times = np.array([10.0, 20.0, 90.0, 90.0])
    assert median_time(times, times < 90)[0] == 20.0


def test_a_run_recovered_at_the_step_where_another_is_censored_counts_first():
    median, _, _ = median_time(np.array([90.0, 90.0, 10.0, 90.0]), np.array([True, False, True, False]))
    assert median == 90.0


def test_one_run_has_no_interval():
    assert np.isnan(median_time(np.array([5.0]), np.array([True]))[1:]).all()
