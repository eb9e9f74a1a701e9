"""Gains and their exponents."""

import numpy as np
import pytest

from ssi_kernels.reduce.tables import make_tables

from .synthetic import synthetic, verified

AXES = {"length": [1, 2, 4, 8], "student": ["tied", "untied"]}


def gains(draw, axes=AXES, **options):
    tables = make_tables(*verified(synthetic(axes, draw, **options)), ["gain"])
    return tables["gain"], tables["gain_fit"]


def proportional_to_length(coords, rng, replicas=16):
    factor = coords["length"] if "untied" in coords["student"] else 1
    return {"time": np.ceil(1000 * factor * np.exp(0.3 * rng.normal(size=replicas)))}


def test_gain_proportional_to_length():
    table, fit = gains(proportional_to_length)
    assert ((table["gain_low"] < table["length"]) & (table["length"] < table["gain_high"])).all()
    assert (table["protocol"] == "equal").all()
    (row,) = fit.to_dict("records")
    assert row["exponent_low"] < 1.0 < row["exponent_high"]
    assert (row["lengths"], row["excluded"]) == (4, 0)


def test_protocol_is_scaled_where_one_rate_differs():
    table, fit = gains(
        proportional_to_length, rate=lambda c: 0.1 * (c["length"] if c["student"] == "tied" and c["length"] > 4 else 1)
    )
    assert set(table["protocol"]) | set(fit["protocol"]) == {"scaled"}


def test_rates_as_an_axis_are_equal():
    table, _ = gains(proportional_to_length, {**AXES, "learning_rate": [0.1, 0.2]})
    assert len(table) == 8
    assert (table["protocol"] == "equal").all()


def test_tied_never_recovers():
    """Pathological targets: the gain is at most what the horizon leaves."""

    def draw(coords, rng):
        return proportional_to_length(coords, rng) if coords["student"] == "untied" else {"time": np.full(16, np.inf)}

    table, fit = gains(draw, horizon=10_000)
    assert table["gain"].isna().all()
    assert (table["gain_low"] == 0).all()
    assert table["gain_high"].between(0.1, 1.2).all()
    assert table["reason"].str.startswith("untied only").all()
    assert fit["reason"].item() == "undefined: fewer than two lengths at which both students recovered"


def test_untied_never_recovers():
    def draw(coords, rng):
        return proportional_to_length(coords, rng) if coords["student"] == "tied" else {"time": np.full(16, np.inf)}

    table, _ = gains(draw, horizon=50_000)
    assert table["gain"].isna().all()
    assert table["gain_low"].between(35, 55).all()
    assert np.isinf(table["gain_high"]).all()
    assert table["reason"].str.startswith("student only").all()


def test_neither_recovers_and_nothing_was_run():
    table, _ = gains(lambda c, rng: {"time": np.full(16, np.inf)})
    assert (table["reason"] == "undefined: neither student recovered").all()
    table, _ = gains(lambda c, rng: {"time": np.full(16, np.nan)})
    assert (table["reason"] == "undefined: a student has no runs that were timed").all()


def test_a_length_at_which_only_the_untied_is_censored_stays_in_the_fit():
    def draw(coords, rng):
        time = proportional_to_length(coords, rng)["time"]
        return {"time": np.where(time > 5000, np.inf, time)}

    table, fit = gains(draw, horizon=5000)
    assert table["reason"].tolist()[:3] == ["", "", ""]
    row = fit.iloc[0]
    assert row["excluded"] == 0
    assert row["exponent_low"] < 1.0 < row["exponent_high"]


@pytest.mark.parametrize("replicas", [1, 2])
def test_few_runs(replicas):
    """Case 14: one length, one replica: no crash, the ratio of the two times, and why there is no interval."""
    draw = lambda coords, rng: proportional_to_length(coords, rng, replicas)  # noqa: E731
    table, fit = gains(draw, {**AXES, "length": [2]}, replicas=replicas)
    assert np.isfinite(table["gain"].item())
    assert np.isnan(table["gain_low"].item()) == (replicas == 1)
    assert fit["reason"].item() == "undefined: one value of length"


def test_every_student_is_compared_with_every_untied_one():
    table, _ = gains(
        proportional_to_length, {"length": [2], "student": ["attention", "tied", "untied-joint", "untied-row"]}
    )
    pairs = table[["student", "untied"]].values.tolist()
    assert pairs == [[a, b] for a in ("attention", "tied") for b in ("untied-joint", "untied-row")]
