"""When overlaps are recorded."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_kernels.errors import ConfigError
from ssi_kernels.schedule import Schedule

SCHEDULES = st.builds(Schedule, st.sampled_from(["per_decade", "every"]), st.integers(1, 400))
HORIZONS = st.integers(0, 300_000)


def test_steps_by_hand():
    assert Schedule("per_decade", 1).steps(1500).tolist() == [0, 1, 10, 100, 1000]
    assert Schedule("per_decade", 3).steps(100).tolist() == [0, 1, 2, 5, 10, 22, 46, 100]
    assert Schedule("every", 250).steps(1000).tolist() == [0, 250, 500, 750, 1000]
    assert Schedule("every", 250).steps(999).tolist() == [0, 250, 500, 750]
    assert Schedule().steps(0).tolist() == Schedule("every", 7).steps(0).tolist() == [0]


def test_many_per_decade_are_every_step_at_first():
    assert Schedule("per_decade", 20).steps(9).tolist() == list(range(10))


@given(SCHEDULES, HORIZONS, HORIZONS)
def test_a_shorter_horizon_sees_a_prefix(schedule, one, other):
    short, long = sorted((one, other))
    first, second = schedule.steps(short), schedule.steps(long)
    assert np.array_equal(first, second[: len(first)])
    assert np.array_equal(first, second[second <= short])


@given(SCHEDULES, HORIZONS)
def test_steps_start_with_zero_increase_and_stay_within(schedule, horizon):
    steps = schedule.steps(horizon)
    assert steps.dtype == np.int64
    assert steps[0] == 0 and steps[-1] <= horizon
    assert np.all(np.diff(steps) > 0)


@pytest.mark.parametrize("k", [0, 3, 9, 15])
def test_powers_of_ten_are_always_recorded(k):
    for n in (1, 7, 20, 64):
        assert Schedule("per_decade", n).steps(10**k)[-1] == 10**k


def test_the_longest_horizon():
    steps = Schedule("per_decade", 20).steps(2**53)
    assert len(steps) == len(np.unique(steps)) and steps[-1] <= 2**53 and steps[-1] > 2**53 * 0.89


@pytest.mark.parametrize("n", [0, -1, 2.5, "20", "x", None, True, float("nan"), float("inf"), [20], 2**63])
@pytest.mark.parametrize("kind", ["per_decade", "every"])
def test_impossible_numbers_are_refused(kind, n):
    with pytest.raises(ConfigError, match=rf"^record\.{kind}: .*: must be ") as caught:
        Schedule(kind, n)
    assert repr(n)[:20] in str(caught.value)


def test_unknown_kinds_are_refused():
    with pytest.raises(ConfigError, match=r"^record: 'evry': use per_decade or every$"):
        Schedule("evry", 3)


def test_what_identifies_a_schedule():
    assert Schedule("every", 20.0) == Schedule("every", np.int64(20)) == Schedule("every", 20)
    assert json.dumps(Schedule("every", 20.0).canonical()) == '{"every": 20}'
    assert Schedule("per_decade", 20).canonical() == Schedule().canonical() == {"per_decade": 20}
    assert len({Schedule(), Schedule("every", 20), pickle.loads(pickle.dumps(Schedule()))}) == 2
