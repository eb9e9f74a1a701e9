"""Exponents: what is counted, what is left out, and what is undefined."""

import numpy as np
import pytest

from ssi_kernels.reduce.tables import make_tables

from .synthetic import lognormal, synthetic, verified


def scaling(axes, draw, **options):
    return make_tables(*verified(synthetic(axes, draw, **options)), ["scaling"])["scaling"]


def test_recovers_the_exponent_of_censored_runs():
    table = scaling({"d": [64, 128, 256, 512, 1024]}, lognormal(1.5, 0.3, horizon=60_000), horizon=60_000)
    (row,) = table.to_dict("records")
    assert row["censored"] > 5
    assert row["slope_low"] < 1.5 < row["slope_high"]
    assert row["slope_high"] - row["slope_low"] < 0.3
    assert row["dimensions"] == 5
    assert row["reason"] == ""


def test_the_pivot_gives_the_line():
    (row,) = scaling({"d": [64, 256, 1024]}, lognormal(1.0, 0.2, constant=2.0)).to_dict("records")
    at_256 = row["pivot_time"] * (256 / row["pivot_d"]) ** row["slope"]
    assert at_256 == pytest.approx(np.exp(2.0) * 256, rel=0.15)
    assert row["pivot_low"] < row["pivot_time"] < row["pivot_high"]


@pytest.mark.parametrize("replicas", [1, 16])
def test_one_dimension_is_undefined(replicas):
    """Case 14: one d, one replica: the row is there, the slope is NaN, and the reason says so."""

    def draw(coords, rng):
        return lognormal(1.0, 0.3)(coords, rng, replicas)

    (row,) = scaling({"d": [64]}, draw, replicas=replicas).to_dict("records")
    assert np.isnan(row["slope"])
    assert row["reason"] == "undefined: one value of d"


def test_two_dimensions_with_one_run_each_have_a_slope_without_interval():
    """Case 14: two numbers are joined by a line, and say nothing of its uncertainty."""
    draw = lambda coords, rng: {"time": [10.0 * coords["d"]]}  # noqa: E731
    (row,) = scaling({"d": [10, 100]}, draw, replicas=1).to_dict("records")
    assert row["slope"] == pytest.approx(1.0)
    assert np.isnan(row["slope_low"])
    assert row["reason"].startswith("interval undefined")


def test_zero_and_infinite_times():
    """Case 16: T = 0 is left out with its count, T = inf is a censored run; the slope is finite."""

    def draw(coords, rng):
        time = lognormal(1.0, 0.3)(coords, rng)["time"]
        time[:2], time[2:5] = 0.0, np.inf
        return {"time": time}

    (row,) = scaling({"d": [64, 128, 256]}, draw).to_dict("records")
    assert (row["at_step_0"], row["censored"], row["recovered"]) == (6, 9, 39)
    assert np.isfinite([row["slope"], row["slope_low"], row["slope_high"]]).all()


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (lambda d: np.inf, "undefined: no run recovered after step 0"),
        (lambda d: 0.0, "undefined: no run recovered after step 0"),
        (lambda d: 5.0 if d == 64 else np.inf, "undefined: one value of d has runs that recovered after step 0"),
    ],
)
def test_reasons(time, reason):
    """Case 16: a refusal that says why."""
    draw = lambda coords, rng: {"time": np.full(16, time(coords["d"]))}  # noqa: E731
    (row,) = scaling({"d": [64, 128]}, draw).to_dict("records")
    assert np.isnan(row["slope"])
    assert row["reason"] == reason


def test_a_dimension_without_recovered_runs_still_counts():
    """Its runs say that the times are beyond the horizon: without them the exponent would be smaller."""

    def draw(coords, rng):
        time = lognormal(1.0, 0.3)(coords, rng)["time"]
        return {"time": time if coords["d"] < 4096 else np.full(16, np.inf)}

    def horizon(coords):
        return 100_000 if coords["d"] < 4096 else 60_000

    with_it = scaling({"d": [64, 128, 4096]}, draw, horizon=horizon)["slope"].item()
    without = scaling({"d": [64, 128]}, draw, horizon=horizon)["slope"].item()
    assert with_it > without


def test_every_series_has_its_row():
    axes = {"d": [64, 128], "length": [1, 2], "student": ["tied", "untied"]}
    table = scaling(axes, lognormal(1.0, 0.3), thresholds=(0.5,))
    assert table[["length", "student"]].values.tolist() == [[1, "tied"], [1, "untied"], [2, "tied"], [2, "untied"]]
