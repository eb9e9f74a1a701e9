"""Numbers as users write them."""

import math

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.quantities import evaluate, read_integer, read_number, read_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3e5", 300_000),
        ("5e-2", 0.05),
        ("1.5e7", 15_000_000),
        (" 0.1 + 0.2 ", 0.3),
        ("-2**2", -4),
        ("1/sqrt(4)", 0.5),
        ("log(1)", 0),
        (7, 7),
        (2.0, 2),
        (0.1 + 0.2, 0.3),
    ],
)
def test_numbers_and_text_that_stands_for_them(text, number):
    """Case 36: scientific notation is a number, however YAML reads it."""
    assert read_number(text) == number


NO_NUMBERS = [
    *(True, False, None, "", "no", "nan", "inf", "1e999", math.nan, math.inf, "10**400", [1], {}),
    *(
        "1/0",
        "(-1)**0.5",
        "sqrt(-1)",
        "log(0)",
        "1,000",
        "3j",
        "True",
        "'3'",
        "[3]",
        "3 if 1 else 4",
        "1 < 2",
        "x",
        "d",
    ),
    *("__import__('os')", "sqrt.__class__", "sqrt(1, 2)", "exp(1)", "(lambda: 3)()", "9" * 300, "(" * 150),
]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ConfigError):
        read_number(value)


def test_a_boolean_is_explained():
    """Case 36: YAML reads `no` as false."""
    with pytest.raises(ConfigError, match=r"False: .*YAML reads yes, no, on and off as booleans"):
        read_number(False)


def test_integers_keep_all_their_digits_and_integral_floats_count():
    """Case 12: 64.0 is 64, and 64.5 is refused."""
    assert read_integer(64.0) == read_integer("64") == read_integer("6.4e1") == 64
    assert read_integer("1234567890123456789") == read_integer(1234567890123456789) == 1234567890123456789
    for value in (64.5, "64.5", 2**63, "1e30", True):
        with pytest.raises(ConfigError):
            read_integer(value)


def test_quantities_follow_the_dimension_and_the_length():
    assert evaluate(read_quantity("2/sqrt(d)"), 16, 3) == 0.5
    assert evaluate(read_quantity("log(d)*L + length"), 10, 3) == pytest.approx(3 * math.log(10) + 3, rel=1e-11)
    assert evaluate(read_quantity("3e5"), 16, 3) == 300_000
    with pytest.raises(ConfigError, match="has no finite value at d = 2, L = 1"):
        evaluate(read_quantity("1/(d - 2)"), 2, 1)


@pytest.mark.parametrize("text", ["2/sqrt(D)", "omega", "d.real", "d()", "d if d else 1", True, None])
def test_quantities_use_nothing_else(text):
    with pytest.raises(ConfigError):
        read_quantity(text)
