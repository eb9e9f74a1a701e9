"""Axes: numbers, lists and ranges."""

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.axis import read_axis, read_count, read_fraction, read_positive


def test_a_single_value_is_an_axis_of_one():
    assert read_axis("1e3", read_count) == (1000,)
    assert read_axis({"start": 2, "stop": 2, "num": 1}, read_count) == (2,)


def test_ranges_have_exact_ends_and_decimal_steps():
    assert read_axis({"start": 0.0, "stop": 1.0, "num": 11}, read_fraction) == tuple(i / 10 for i in range(11))
    assert read_axis({"start": 0.1, "stop": "3e-1", "num": "3"}, read_positive) == (0.1, 0.2, 0.3)
    assert read_axis({"start": 1, "stop": 0, "num": 3}, read_fraction) == (0.0, 0.5, 1.0)


def test_log_ranges():
    powers = {"start": 64, "stop": 4096, "num": 7, "scale": "log"}
    assert read_axis(powers, read_count) == (64, 128, 256, 512, 1024, 2048, 4096)
    rates = read_axis({"start": 1e-5, "stop": 1e-1, "num": 5, "scale": "log"}, read_positive)
    assert rates == (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def test_order_and_repetition_do_not_matter():
    """Case 10: 0.30000000000000004 and 0.3 are one value."""
    assert read_axis([0.3, 0.1, 0.30000000000000004, "0.1"], read_fraction) == (0.1, 0.3)


def test_values_have_the_type_of_their_axis():
    """Case 12: integers for d and L, floats for omega, whatever the spelling."""
    assert all(type(value) is int for value in read_axis([64.0, "1e2"], read_count))
    assert all(type(value) is float for value in read_axis([0, 1], read_fraction))


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ([], "is empty"),
        ({}, "start: None: is required"),
        ({"start": 0, "stop": 1}, "num: None: is required"),
        ({"start": 0, "stop": 1, "num": 0}, "num: 0"),
        ({"start": 0, "stop": 1, "num": 1}, "cannot hold both"),
        ({"start": 0, "stop": 1, "num": 2.5}, "must be an integer"),
        ({"start": 0, "stop": 1, "num": 3, "scale": "log"}, "log scale"),
        ({"start": 0, "stop": 1, "num": 3, "scale": "lin"}, "'linear' or 'log'"),
        ({"start": 0, "stop": 1, "nun": 3}, "nun: 3: is not a key here; the nearest valid key is num"),
        ([0.5, 1.5], r"1.5: must lie in \[0, 1\]"),
        ([0.5, True], "True"),
        ([[0.5]], "give a number"),
        (None, "give a number"),
    ],
)
def test_what_is_no_axis_is_refused(value, remedy):
    with pytest.raises(ConfigError, match=remedy):
        read_axis(value, read_fraction)
