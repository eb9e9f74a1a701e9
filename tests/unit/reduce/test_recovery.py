"""Recovery times point by point."""

import numpy as np

from ssi_kernels.reduce.tables import make_tables

from .synthetic import synthetic, verified


def recovery(draw, axes=None, **options):
    return make_tables(*verified(synthetic(axes or {}, draw, **options)), ["recovery"])["recovery"]


def test_three_outcomes():
    """Case 15: recovered at step 0, never recovered and diverged are three counts, and three kinds of number."""
    times = {100: 0.0, 200: np.inf, 300: np.nan}
    table = recovery(lambda coords, rng: {"time": np.full(16, times[coords["d"]])}, {"d": list(times)})
    assert table["recovered"].tolist() == [16, 0, 0]
    assert table["at_step_0"].tolist() == [16, 0, 0]
    assert table["censored"].tolist() == [0, 16, 0]
    assert table["diverged"].tolist() == [0, 0, 16]
    assert table["missing"].sum() == 0
    assert table["median"][0] == 0
    assert table["median"][1:].isna().all()
    assert table["reason"].tolist() == [
        "",
        "median undefined: no run recovered",
        "median undefined: every run diverged",
    ]


def test_median_and_mean():
    (row,) = recovery(lambda coords, rng: {"time": np.arange(1.0, 17.0)}).to_dict("records")
    assert row["median"] == row["mean"] == 8.5
    assert row["median_low"] < 8.5 < row["median_high"]
    assert row["mean_low"] < 8.5 < row["mean_high"]


def test_the_mean_is_undefined_as_soon_as_one_run_is_censored():
    (row,) = recovery(lambda coords, rng: {"time": [*np.arange(1.0, 16.0), np.inf]}).to_dict("records")
    assert np.isnan(row["mean"])
    assert row["median"] == 8.5


def test_diverged_runs_are_counted_and_left_out():
    (row,) = recovery(lambda coords, rng: {"time": [*np.arange(1.0, 16.0), np.nan]}).to_dict("records")
    assert (row["runs"], row["recovered"], row["diverged"]) == (16, 15, 1)
    assert row["median"] == row["mean"] == 8.0


def test_a_grid_of_one_point_keeps_its_axes():
    """Case 14: one value of every axis, one replica."""
    table = recovery(lambda coords, rng: {"time": [7.0]}, {"omega": [0.3], "a": [1.0]}, replicas=1)
    assert list(table.columns[:5]) == ["d", "length", "omega", "a", "threshold"]
    assert table["median"].item() == table["mean"].item() == 7.0


def test_thresholds_are_separate_rows():
    table = recovery(lambda coords, rng: {"time": np.tile([3.0, 9.0], (16, 1))}, thresholds=(0.2, 0.5))
    assert table[["threshold", "median"]].values.tolist() == [[0.2, 3.0], [0.5, 9.0]]


def test_rate_and_horizon_of_the_point_are_told():
    table = recovery(
        lambda c, rng: {"time": np.ones(16)}, {"d": [4, 9]}, rate=lambda c: 1 / c["d"], horizon=lambda c: c["d"]
    )
    assert table["learning_rate"].tolist() == [1 / 4, 1 / 9]
    assert table["horizon"].tolist() == [4, 9]
