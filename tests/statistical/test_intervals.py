"""Nominal 95 % intervals hold the truth in 90 to 98 % of synthetic sweeps, under censoring and uneven spread.

Every test simulates a few hundred sweeps from fixed seeds; the standard error of a coverage is about 1 %, so that an
interval of exactly 95 % leaves the range once in some 2,000 choices of seeds.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

from ssi_kernels.reduce.binomial import crossing
from ssi_kernels.reduce.gains import _fit_gain, _gain
from ssi_kernels.reduce.lognormal import fit_lognormal
from ssi_kernels.reduce.scaling import fit_log_times
from ssi_kernels.reduce.survival import median_time

pytestmark = pytest.mark.statistical


def slow(value):
    """A value that only the slow run tries."""
    return pytest.param(value, marks=pytest.mark.slow)


ALPHA = 1.3
D = np.array([64, 128, 256, 512, 1024, 2048])
SPREADS = {
    "constant": lambda x: np.full_like(x, 0.5),
    "growing": lambda x: 0.2 * np.exp(0.35 * (x - x.min())),
    "shrinking": lambda x: 0.8 * np.exp(-0.3 * (x - x.min())),
    "peaked": lambda x: 0.2 + 0.6 * np.exp(-((x - x.mean()) ** 2)),
}


def assert_nominal(hits):
    assert 0.90 <= np.mean(hits) <= 0.98, np.mean(hits)


def horizons(x, spread, censored, follows):
    """log H: one for all d, or one that follows d^alpha, with this share of the runs beyond it."""
    residual = np.random.default_rng(99).normal(size=(20_000, 1)) * spread(x)
    if follows:
        return ALPHA * x + np.quantile(residual, 1 - censored)
    return np.full_like(x, np.quantile(ALPHA * x + residual, 1 - censored))


def scaling_sweep(seed, spread, horizon, x):
    """(log time, observed) of one sweep whose times are lognormal with exponent ALPHA."""
    log_time = ALPHA * x + spread(x) * np.random.default_rng(seed).normal(size=x.size)
    return np.minimum(log_time, horizon), log_time <= horizon


@pytest.mark.parametrize("follows", [False, slow(True)], ids=["one horizon", "horizon follows d"])
@pytest.mark.parametrize("censored", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("spread", [slow(x) if name == "peaked" else x for name, x in SPREADS.items()], ids=SPREADS)
def test_exponent(spread, censored, follows):
    x = np.repeat(np.log(D), 16)
    horizon = horizons(x, spread, censored, follows) if censored else np.full_like(x, np.inf)
    hits = []
    for seed in range(300):
        fit = fit_log_times(*scaling_sweep(seed, spread, horizon, x), x)
        _, low, high = fit.interval([0.0, 1.0])
        hits.append(low <= ALPHA <= high)
    assert_nominal(hits)


def quadratic_escape(rng, x):
    """log T of runs that leave the origin at a rate of order 1/d from an overlap z / sqrt(d): SIE 2, a random start."""
    d, z = np.exp(x), np.abs(rng.normal(size=x.size))
    return np.log(1 + d * np.maximum(np.log(0.5 * np.sqrt(d) / z), 0.05))


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.25, 0.5])
def test_exponent_of_times_that_are_not_lognormal(censored):
    """Times as SGD makes them for SIE 2: skewed, less spread at larger d. The truth is the slope of E log T."""
    x = np.repeat(np.log(D), 32)
    many = np.array([quadratic_escape(np.random.default_rng(seed), x) for seed in range(10_000, 10_500)])
    truth = np.polyfit(x, many.mean(axis=0), 1)[0]
    horizon = np.quantile(many, 1 - censored) if censored else np.inf
    hits = []
    for seed in range(300):
        log_time = quadratic_escape(np.random.default_rng(seed), x)
        fit = fit_log_times(np.minimum(log_time, horizon), log_time <= horizon, x)
        _, low, high = fit.interval([0.0, 1.0])
        hits.append(low <= truth <= high)
    assert_nominal(hits)


@pytest.mark.parametrize("spoil", ["drop", slow("clip")])
def test_a_fit_without_censoring_is_refused_by_this_test(spoil):
    """The control: dropping the censored runs, or taking the horizon for their time, misses the exponent."""
    x, spread = np.repeat(np.log(D), 32), SPREADS["constant"]
    horizon = horizons(x, spread, 0.25, follows=False)
    hits, slopes = [], []
    for seed in range(100):
        log_time, observed = scaling_sweep(seed, spread, horizon, x)
        kept = observed if spoil == "drop" else np.ones_like(observed)
        fit = fit_log_times(log_time[kept], np.ones(kept.sum(), bool), x[kept])
        slope, low, high = fit.interval([0.0, 1.0])
        hits.append(low <= ALPHA <= high)
        slopes.append(slope)
    assert np.mean(hits) < 0.5
    assert np.mean(slopes) < ALPHA - 0.1


def test_a_common_spread_would_be_refused_by_this_test():
    """The control: with one sigma for all d the exponent is biased where the spread varies and runs are censored."""
    x, spread = np.repeat(np.log(D), 32), SPREADS["growing"]
    horizon = horizons(x, spread, 0.5, follows=True)
    line = np.column_stack([np.ones_like(x), x - x.mean()])
    hits = []
    for seed in range(100):
        _, low, high = fit_lognormal(*scaling_sweep(seed, spread, horizon, x), line).interval([0.0, 1.0])
        hits.append(low <= ALPHA <= high)
    assert np.mean(hits) < 0.7


@pytest.mark.parametrize("censored", [0.0, 0.25, 0.45])
@pytest.mark.parametrize("replicas", [8, 16, 64])
def test_median(replicas, censored):
    horizon = np.exp(norm.isf(censored)) if censored else np.inf
    hits = []
    for seed in range(500):
        times = np.random.default_rng(seed).lognormal(0.0, 1.0, replicas)
        _, low, high = median_time(np.minimum(times, horizon), times <= horizon)
        hits.append(low <= 1.0 <= high)
    assert_nominal(hits)


def gain_sweep(seed, lengths, replicas, censored):
    """Runs of both students: tied at exp(N(0, 0.3)), untied L times as slow with spread 0.5."""
    rng = np.random.default_rng(seed)
    frames = []
    for length in lengths:
        for untied, spread in ((0.0, 0.3), (1.0, 0.5)):
            log_time = untied * np.log(length) + spread * rng.normal(size=replicas)
            horizon = np.log(length) + spread * norm.isf(censored) if censored else np.inf
            word = np.where(log_time <= horizon, "recovered", "censored")
            time = np.exp(np.minimum(log_time, horizon))
            frames.append(pd.DataFrame({"length": length, "untied": untied, "outcome": word, "time": time}))
    return pd.concat(frames)


@pytest.mark.parametrize("censored", [0.0, 0.5])
@pytest.mark.parametrize("replicas", [5, slow(16)])
def test_gain(replicas, censored):
    hits = []
    for seed in range(400):
        runs = gain_sweep(seed, [4], replicas, censored)
        found = _gain(*(runs[runs["untied"] == side] for side in (0.0, 1.0)))
        hits.append(found["gain_low"] <= 4.0 <= found["gain_high"])
    assert_nominal(hits)


@pytest.mark.parametrize("censored", [0.0, 0.5])
@pytest.mark.parametrize("replicas", [slow(5), 16])
def test_gain_exponent(replicas, censored):
    hits = []
    for seed in range(300):
        fit, _ = _fit_gain(gain_sweep(seed, [1, 2, 4, 8, 16], replicas, censored))
        _, low, high = fit.interval([0.0, 1.0, *np.zeros(fit.beta.size - 2)])
        hits.append(low <= 1.0 <= high)
    assert_nominal(hits)


@pytest.mark.parametrize("replicas", [16, 64])
@pytest.mark.parametrize("scale", [0.06, slow(0.03)], ids=["wide", "narrow"])
def test_transition(scale, replicas):
    omegas, half, width = np.linspace(0, 1, 21), 0.642, 2 * np.log(9) * scale
    probability, trials = expit((half - omegas) / scale), np.full(omegas.size, replicas)
    hits = {"half": [], "width": []}
    for seed in range(200):
        found = crossing(omegas, np.random.default_rng(seed).binomial(trials, probability), trials)
        hits["half"].append(found.half[1] <= half <= found.half[2])
        hits["width"].append(found.width[1] <= width <= found.width[2])
    assert_nominal(hits["half"])
    assert_nominal(hits["width"])


def test_a_transition_that_is_not_logistic():
    """A probit curve: the half and the width are still held, at least nominally."""
    omegas, half, width = np.linspace(0, 1, 21), 0.642, 2 * norm.isf(0.1) * 0.05
    probability, trials = norm.sf((omegas - half) / 0.05), np.full(omegas.size, 64)
    hits = []
    for seed in range(200):
        found = crossing(omegas, np.random.default_rng(seed).binomial(trials, probability), trials)
        hits.append(found.half[1] <= half <= found.half[2] and found.width[1] <= width <= found.width[2])
    assert np.mean(hits) >= 0.9
