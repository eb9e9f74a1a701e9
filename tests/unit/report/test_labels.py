"""Numbers and coordinates as text."""

import pytest

from ssi_kernels.report.labels import coordinates_math, coordinates_plain, number, with_interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (1792, "1,792"),
        (123456.7, "123,457"),
        (0.642131, "0.6421"),
        (-0.5, "−0.5"),
        (2.5e7, "2.5e7"),
        (1.25e-5, "1.25e−5"),
        (float("nan"), "–"),
        (float("inf"), "∞"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_intervals_share_their_decimals():
    assert with_interval(1.01234, 0.9912, 1.0333) == ("1.012", "0.991", "1.033")
    assert with_interval(17812.3, 15000.1, 21000.9) == ("17,812", "15,000", "21,001")
    assert with_interval(0.5, float("nan"), float("nan")) == ("0.5", "–", "–")
    assert with_interval(2.0, 1.0, float("inf")) == ("2", "1", "∞")


def test_coordinates():
    coords = {"d": 1000, "omega": 0.3, "student": "tied"}
    assert coordinates_plain(coords) == "d = 1,000, ω = 0.3, tied"
    assert coordinates_math(coords) == r"$d$ = 1,000, $\omega$ = 0.3, tied"
    assert coordinates_math({"student": "a$b$"}) == r"a\$b\$"
