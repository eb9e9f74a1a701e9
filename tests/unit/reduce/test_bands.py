"""Bands of trajectories over replicas."""

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.errors import Outcome, Status
from ssi_kernels.reduce.bands import trajectory_bands
from ssi_kernels.reduce.runs import status_of

from .synthetic import synthetic, verified


@pytest.fixture
def pair():
    return verified(synthetic({"d": [10, 20]}, lambda c, rng: {"time": 100.0 * (1 + np.arange(16))}))


def test_quantiles_of_the_magnitude(pair):
    recovery, trajectories = pair
    trajectories["m"] = trajectories["m"] * xr.where(trajectories.replica % 2, -1, 1)
    bands = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    expected = np.quantile(np.abs(trajectories["m"]), [0.1, 0.5, 0.9], axis=2)
    np.testing.assert_allclose(bands["m"].transpose("quantile", ...), expected, rtol=1e-6)


def test_e_is_the_norm_over_components(pair):
    recovery, trajectories = pair
    bands = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    np.testing.assert_allclose(bands["e"], 0.1 * bands["m"], rtol=1e-5)


def test_diverged_and_missing_replicas_are_left_out(pair):
    recovery, trajectories = pair
    expected = np.quantile(trajectories["m"].isel(replica=slice(4, None)), 0.5, axis=2)
    recovery["outcome"].values[:, :, :2] = Outcome.DIVERGED
    status = status_of(recovery, trajectories)
    status.values[:, :, 2:4] = Status.MISSING
    trajectories["m"].values[:, :, 2:4] = np.nan
    bands = trajectory_bands(trajectories, recovery, status)
    np.testing.assert_allclose(bands["m"].sel(quantile=0.5), expected, rtol=1e-6)


def test_frozen_replicas_keep_their_final_value(pair):
    """A band over the replicas that still run would sink as the quick ones freeze."""
    recovery, trajectories = pair
    whole = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    stopped = trajectories["m"] > 0.8
    recovery["final_m"] = recovery["final_m"] * 0 + 0.9
    trajectories["m"] = trajectories["m"].where(~stopped)
    frozen = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    median = frozen["m"].sel(quantile=0.5)
    running = ~stopped.all("replica")
    assert (median.diff("step") >= 0).where(running.isel(step=slice(1, None)), True).all()
    assert (median >= whole["m"].sel(quantile=0.5) - 1e-6).where(running, True).all()


def test_nothing_is_computed_before_it_is_asked(pair):
    recovery, trajectories = (dataset.chunk() for dataset in pair)
    bands = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    assert bands["m"].chunks is not None


def test_beyond_the_horizon_of_a_point_there_is_nothing():
    draw = lambda c, rng: {"time": np.full(16, 5.0)}  # noqa: E731
    recovery, trajectories = verified(synthetic({"d": [10, 20]}, draw, horizon=lambda c: 100 * c["d"]))
    bands = trajectory_bands(trajectories, recovery, status_of(recovery, trajectories))
    beyond = bands["m"].sel(d=10, step=slice(10_000, None))
    assert beyond.isnull().all()


@pytest.mark.parametrize("size", [1, 1000])
def test_bands_do_not_depend_on_chunks(pair, size):
    """Case 34: to rounding."""
    recovery, trajectories = pair
    status = status_of(recovery, trajectories)
    whole = trajectory_bands(trajectories, recovery, status)
    chunks = {name: size for name in ("d", "length", "replica", "step")}
    xr.testing.assert_allclose(trajectory_bands(trajectories.chunk(chunks), recovery, status).compute(), whole)
