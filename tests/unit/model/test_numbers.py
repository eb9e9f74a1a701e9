"""Numbers inside descriptions."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ssi_kernels.model.numbers import canonical_number, finite, matrix, vector, whole

from .helpers import refused

NO_NUMBERS = [math.nan, math.inf, -math.inf, True, False, np.bool_(True), "1", "", None, [1], (1,), {}, 1j, np.ones(1)]
NO_NUMBERS += [np.float32("nan"), 10**400, Decimal(1)]


def test_floats_have_twelve_digits_and_integral_values_are_integers():
    assert canonical_number(0.1 + 0.2) == canonical_number(0.3) == 0.3
    assert canonical_number(1 / 3) == 0.333333333333
    assert (
        json.dumps([canonical_number(x) for x in (1.0, -0.0, 3e5, np.float32(2), 1e300)]) == "[1, 0, 300000, 2, 1e+300]"
    )
    assert canonical_number(1e-300) == 1e-300


@pytest.mark.parametrize("value", [0.3, np.float64(0.3), Fraction(3, 10), np.array(0.3), 0.1 + 0.2])
def test_every_spelling_of_a_number(value):
    assert finite("k", value) == 0.3 and type(finite("k", value)) is float


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused(value):
    refused(lambda: finite("k", value), "k", None, "must be a finite number")
    refused(lambda: whole("k", value, 1), "k", None, "must be ")


def test_whole_numbers_keep_all_their_digits():
    assert whole("k", 64.0, 1) == whole("k", np.int64(64), 1) == 64
    assert whole("k", 2**63 - 1, 1) == 2**63 - 1
    assert type(whole("k", np.int32(3), 1)) is int


@pytest.mark.parametrize("value", [0, -1, 64.5, 64.00000000000001, "64"])
def test_what_is_no_whole_number_is_refused(value):
    refused(lambda: whole("k", value, 1), "k", value, "integer of at least 1")


def test_whole_numbers_beyond_63_bits_are_refused():
    refused(lambda: whole("k", 2**63, 1), "k", 2**63, "below 2**63")


def test_vectors_and_matrices_as_lists_tuples_and_arrays():
    assert vector("k", [1, 2.5]) == vector("k", (1.0, 2.5)) == vector("k", np.array([1, 2.5])) == (1.0, 2.5)
    assert matrix("k", [[1], [-1]]) == matrix("k", np.array([[1], [-1]])) == ((1.0,), (-1.0,))


@pytest.mark.parametrize("value", [[], (), "ab", 3, None, {1, 2}, {"a": 1}, np.array(3.0)])
def test_what_is_no_list_is_refused(value):
    refused(lambda: vector("k", value), "k", None, "list of numbers")
    refused(lambda: matrix("k", value), "k", None, "list of rows")


def test_the_offending_entry_is_named():
    refused(lambda: vector("k", [1, math.nan]), "k[1]")
    refused(lambda: matrix("k", [[1], ["x"]]), "k[1][0]", "x")
    refused(lambda: matrix("k", [[1, 2], [3]]), "k", [[1, 2], [3]], "equal length")
    refused(lambda: matrix("k", [1, 2]), "k[0]", 1, "list of numbers")
    refused(lambda: matrix("k", [[]]), "k[0]", [], "list of numbers")
