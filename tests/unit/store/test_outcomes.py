"""Three outcomes and four ends, never one number for two of them."""

import numpy as np
import pytest

from ssi_kernels.errors import End, Outcome
from ssi_kernels.store.outcomes import Fate, end_of

NAN = np.nan


def fate(recovery=NAN, diverged=NAN, stop=NAN, complete=True, horizon=100):
    one = np.array([[1.0]])
    return Fate(one[..., None] * recovery, one * diverged, one * stop, np.array([[complete]]), np.array([horizon]))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ({}, Outcome.CENSORED),
        ({"recovery": 0}, Outcome.RECOVERED),
        ({"recovery": 100}, Outcome.RECOVERED),
        ({"recovery": 101}, Outcome.CENSORED),
        ({"diverged": 100}, Outcome.DIVERGED),
        ({"diverged": 101}, Outcome.CENSORED),
        ({"recovery": 5, "diverged": 50}, Outcome.DIVERGED),
        ({"recovery": 5, "diverged": 500}, Outcome.RECOVERED),
        ({"stop": 30}, Outcome.CENSORED),
        ({"recovery": 30, "stop": 30}, Outcome.RECOVERED),
        ({"recovery": 30, "complete": False}, Outcome.NOT_RUN),
        ({"diverged": 30, "complete": False}, Outcome.NOT_RUN),
    ],
)
def test_outcomes(events, expected):
    """Case 15: recovered at 0, censored and diverged are three things."""
    assert fate(**events).outcome().item() == expected
    assert fate(**events).outcome().dtype == np.int8


@pytest.mark.parametrize(
    ("events", "until"),
    [({}, 100), ({"stop": 30}, 30), ({"stop": 300}, 100), ({"diverged": 7}, 7), ({"recovery": 5}, 100)],
)
def test_how_long_a_replica_was_followed(events, until):
    assert fate(**events).observed_until().item() == until
    assert np.isnan(fate(complete=False, **events).observed_until().item())


@pytest.mark.parametrize(
    ("events", "value"),
    [({}, 1), ({"stop": 30}, 2), ({"stop": 300}, 1), ({"diverged": 7}, NAN), ({"complete": False}, NAN)],
)
def test_final_values_are_those_at_the_horizon_or_the_stop(events, value):
    at_horizon, at_stop = np.ones((1, 1, 2), np.float32), np.full((1, 1, 2), 2.0)
    np.testing.assert_array_equal(fate(**events).final(at_horizon, at_stop), np.full((1, 1, 2), value))


@pytest.mark.parametrize(
    ("m", "e", "expected"),
    [
        (0.0, 0.0, End.UNDECIDED),
        (0.69, 0.0, End.UNDECIDED),
        (0.71, 0.0, End.SEMANTIC),
        (-0.9, 0.1, End.SEMANTIC),
        (0.1, -0.9, End.POSITIONAL),
        (0.6, 0.6, End.ELSEWHERE),
        (0.71, 0.702, End.SEMANTIC),
        (NAN, NAN, End.UNDECIDED),
        (0.9, NAN, End.SEMANTIC),
    ],
)
def test_ends(m, e, expected):
    """Physics, section 9; a diverged replica is undecided, and a point without an encoding has only NaN in e."""
    found = end_of(np.array([[m]]), np.array([[[e, NAN]]]), np.array([0.7]), np.array([[True]]))
    assert found.item() == expected


def test_several_components_count_together():
    found = end_of(np.zeros((1, 1)), np.array([[[0.6, 0.6]]]), np.array([0.7]), np.array([[True]]))
    assert found.item() == End.POSITIONAL


def test_no_positional_overlaps_at_all():
    m = np.array([[0.9, 0.1]])
    assert end_of(m, np.zeros((1, 2, 0)), np.array([0.7]), m > 0.5).tolist() == [[End.SEMANTIC, End.NOT_RUN]]
