"""Intervals of estimates over points that share random numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ssi_kernels.reduce import joint
from ssi_kernels.reduce.phase_map import phase_table
from ssi_kernels.reduce.scaling import scaling_table
from ssi_kernels.reduce.tables import _scaling, _transitions

DIMENSIONS = np.array([50, 100, 200, 400])


def correlated_runs(generator, replicas=20, shared=0.4, own=0.1):
    """Times T = 3 d^1.2 whose noise is shared by replica and opposite at the two ends of the range of d."""
    lever = np.log(DIMENSIONS) - np.log(DIMENSIONS).mean()
    noise = shared * generator.normal(size=(replicas, 1)) * lever + own * generator.normal(size=(replicas, 4))
    time = 3 * DIMENSIONS**1.2 * np.exp(noise)
    replica, d = np.meshgrid(np.arange(replicas), DIMENSIONS, indexing="ij")
    frame = pd.DataFrame({"d": d.ravel(), "length": 2, "replica": replica.ravel(), "threshold": 0.5})
    outcome = pd.Categorical.from_codes(
        np.zeros(len(frame), int), ["recovered", "censored", "diverged", "missing", "failed"]
    )
    return frame.assign(time=time.ravel(), outcome=outcome)


def test_the_interval_is_that_of_the_jackknife():
    """By hand: slopes without each group of replicas, their variance, Student's t with one degree less."""
    runs = correlated_runs(np.random.default_rng(0))
    row = _scaling(runs, ["d", "length"], ["d"]).iloc[0]
    whole = scaling_table(runs, ["d", "length"]).iloc[0]
    slopes = np.array([scaling_table(runs[runs["replica"] != k], ["d", "length"])["slope"].item() for k in range(20)])
    reach = stats.t.ppf(0.975, 19) * np.sqrt(19 / 20 * ((slopes - slopes.mean()) ** 2).sum())
    assert row["slope"] == whole["slope"]
    np.testing.assert_allclose([row["slope_low"], row["slope_high"]], whole["slope"] + np.array([-reach, reach]))
    assert row["pairing"] == "common random numbers over d"
    assert row["pivot_low"] < row["pivot_time"] < row["pivot_high"]


def test_independent_points_are_left_as_they_are():
    runs = correlated_runs(np.random.default_rng(0))
    pd.testing.assert_frame_equal(_scaling(runs, ["d", "length"], ["omega"]), scaling_table(runs, ["d", "length"]))


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda runs: runs[runs["replica"] < 3], "fewer than 4 replicas"),
        (lambda runs: runs.assign(time=3.0 * runs["d"] ** 1.2), "the replicas do not scatter"),
        (lambda runs: runs[(runs["d"] == 50) | ((runs["d"] == 100) & (runs["replica"] == 1))], "there is no estimate"),
    ],
)
def test_where_there_is_no_interval_the_reason_says_why(change, words):
    row = _scaling(change(correlated_runs(np.random.default_rng(1))), ["d", "length"], ["d"]).iloc[0]
    assert np.isfinite(row["slope"]) and np.isnan(row["slope_low"]) and np.isnan(row["slope_high"])
    assert words in row["reason"]


def test_without_an_estimate_the_table_keeps_its_own_reason():
    runs = correlated_runs(np.random.default_rng(1))
    row = _scaling(runs[runs["d"] == 50], ["d", "length"], ["d"]).iloc[0]
    assert row["reason"] == "undefined: one value of d"


def test_transitions():
    """Every replica has one threshold for all omegas: the crossing scatters by 1/sqrt(replicas) of its spread."""
    generator = np.random.default_rng(2)
    omega, replicas = np.linspace(0, 1, 21), 40
    turn = 0.5 + 0.1 * generator.normal(size=replicas)
    replica, x = np.meshgrid(np.arange(replicas), omega, indexing="ij")
    words = ["semantic", "positional", "elsewhere", "undecided", "diverged", "missing", "failed"]
    codes = (x > turn[:, None]).astype(int)
    ends = pd.DataFrame({"omega": x.ravel(), "replica": replica.ravel()}).assign(
        end=pd.Categorical.from_codes(codes.ravel(), words)
    )
    phase = phase_table(ends, ["omega"])
    shared = _transitions(ends, phase, ["omega"], ["omega"]).iloc[0]
    alone = _transitions(ends, phase, ["omega"], []).iloc[0]
    expected = 2.02 * 0.1 / np.sqrt(replicas)
    assert 0.5 * expected < shared["omega_high"] - shared["omega_half"] < 2 * expected
    assert (alone["omega_high"] - alone["omega_low"]) < 0.7 * (shared["omega_high"] - shared["omega_low"])
    assert abs(shared["omega_half"] - 0.5) < 3 * expected


def ends_of(turn, omega):
    """Every replica ends semantic below its own turn, positional above."""
    replica, x = np.meshgrid(np.arange(turn.size), omega, indexing="ij")
    words = ["semantic", "positional", "elsewhere", "undecided", "diverged", "missing", "failed"]
    end = pd.Categorical.from_codes((x > turn[:, None]).astype(int).ravel(), words)
    return pd.DataFrame({"omega": x.ravel(), "replica": replica.ravel()}).assign(end=end)


@pytest.mark.parametrize("replicas, known", [(5, False), (8, True)])
def test_a_step_between_two_omegas(replicas, known):
    """Where every replica turns in the same gap, the gap is the interval if there are enough replicas."""
    ends = ends_of(np.full(replicas, 0.42), np.linspace(0, 1, 11))
    row = _transitions(ends, phase_table(ends, ["omega"]), ["omega"], ["omega"]).iloc[0]
    assert row["omega_half"] == pytest.approx(0.45)
    bounds = [row["omega_low"], row["omega_high"]]
    assert bounds == pytest.approx([0.4, 0.5]) if known else np.isnan(bounds).all()
    assert ("do not scatter" in row["reason"]) is not known


def test_a_bound_on_a_gain_stays():
    """A student that never recovers: the bound is about the other one alone, and holds whatever they share."""
    bound = {"gain": np.nan, "gain_low": 60.0, "gain_high": np.inf, "reason": "student only: gain at least 60"}
    make = lambda runs: pd.DataFrame([bound])  # noqa: E731
    runs = pd.DataFrame({"replica": np.arange(8)})
    row = joint.jointly(make, runs, joint.GAIN, joint.of_gain, ["gain"], ["student"]).iloc[0]
    assert (row["gain_low"], row["gain_high"], row["reason"]) == (60.0, np.inf, bound["reason"])


def test_a_width_that_is_not_resolved_does_not_take_the_place_with_it():
    """Each quantity has an interval of its own."""
    rows = iter(
        [
            {"omega_half": 0.5, "width": 0.1},
            *(
                {"omega_half": 0.5 + 0.01 * k, "width": w}
                for k, w in enumerate([0.1, 0.2, np.nan, 0.1, 0.3, 0.1, 0.2, 0.1])
            ),
        ]
    )
    empty = {"omega_low": 0.0, "omega_high": 1.0, "width_low": 0.0, "width_high": 1.0, "reason": ""}
    make = lambda runs: pd.DataFrame([{**next(rows), **empty}])  # noqa: E731
    runs = pd.DataFrame({"replica": np.arange(8)})
    row = joint.jointly(make, runs, joint.TRANSITION, joint.of_transition, ["width"], ["omega"]).iloc[0]
    assert row["omega_low"] < 0.5 < row["omega_high"]
    assert np.isnan(row["width_low"]) and "there is no estimate" in row["reason"]


def coverage(trials, interval):
    """In how many of `trials` data sets the interval of the slope holds 1.2."""
    generator = np.random.default_rng(20261201)
    hits = 0
    for _ in range(trials):
        low, high = interval(correlated_runs(generator, replicas=16))
        hits += low <= 1.2 <= high
    return hits


@pytest.mark.slow
@pytest.mark.statistical
def test_the_intervals_hold_the_truth_as_often_as_they_say():
    """Coverage between 92 % and 98 %: of 400 intervals of 95 %, fewer than 92 % or more than 98 % hold the truth with a
    probability of 0.7 % each. Intervals that take the points for independent fail by far."""
    trials = 400

    def of(shared):
        def interval(runs):
            row = _scaling(runs, ["d", "length"], shared).iloc[0]
            return row["slope_low"], row["slope_high"]

        return interval

    assert 0.92 * trials <= coverage(trials, of(["d"])) <= 0.98 * trials
    assert coverage(trials, of([])) < 0.8 * trials


def test_which_axes_are_shared_is_read_from_the_dataset():
    class Dataset:
        attrs = {"configuration": '{"sweeps": {"s": {"sgd": {"common_random_numbers": ["d", "omega"]}}}}'}  # noqa: RUF012

    assert joint.shared_axes(Dataset()) == ("d", "omega")
    Dataset.attrs = {"configuration": '{"sweeps": {"s": {"sgd": {}}}}'}
    assert joint.shared_axes(Dataset()) == ()
    Dataset.attrs = {}
    assert joint.shared_axes(Dataset()) == ()
