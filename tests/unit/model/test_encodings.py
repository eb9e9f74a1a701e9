"""Positional encodings."""

import json
import pickle

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import encodings

from .helpers import refused

PAIR, NONE = encodings.opposite_pair(), encodings.none()


def test_matrices():
    assert PAIR.matrix(2).tolist() == [[1], [-1]]
    assert encodings.alternating().matrix(5)[:, 0].tolist() == [1, -1, 1, -1, 1]
    assert encodings.pattern([[1, 0], [0, 2], [0.5, 1]]).matrix(3).tolist() == [[1, 0], [0, 2], [0.5, 1]]
    assert NONE.matrix(4).shape == encodings.injected([1, 2, 3, 4]).matrix(4).shape == (4, 0)


def test_ranks_and_shifts():
    ranks = {e.name: e.rank(2) for e in (NONE, PAIR, encodings.alternating(), encodings.pattern([[1, 0], [0, 2]]))}
    assert ranks == {"none": 0, "opposite-pair": 1, "alternating": 1, "explicit": 2}
    assert encodings.injected([0.5, -1]).shift(2).tolist() == [0.5, -1]
    assert PAIR.shift(2).tolist() == [0, 0]
    assert NONE.is_none and not PAIR.is_none and not encodings.injected([0.5]).is_none


def test_a_pattern_and_an_injected_shift_in_either_order():
    one, other = PAIR + encodings.injected([0.5, 0.5]), encodings.injected([0.5, 0.5]) + PAIR
    assert one == other and one.rank(2) == 1 and one.shift(2).tolist() == [0.5, 0.5]
    assert NONE + PAIR == PAIR + NONE == PAIR


def test_what_cannot_be_combined():
    refused(lambda: PAIR + encodings.alternating(), "encoding", "opposite-pair + alternating", "one pattern")
    refused(lambda: encodings.injected([1]) + encodings.injected([2]), "encoding.injected", [2.0], "twice")


def test_lengths_that_do_not_fit():
    refused(lambda: PAIR.matrix(3), "encoding", "opposite-pair", "length 3", "alternating")
    refused(lambda: encodings.pattern([[1], [2]]).rank(4), "encoding", [[1.0], [2.0]], "pattern of 4 rows")
    refused(lambda: encodings.injected([1, 2]).shift(3), "encoding.injected", [1.0, 2.0], "length 3")
    refused(lambda: encodings.injected([1, 2]).canonical(3), "encoding.injected", [1.0, 2.0], "length 3")


@pytest.mark.parametrize(
    "rows", [3, "[[1]]", [], [1, -1], [[1], [1, 2]], [[]], [["1"]], [[True]], [[float("nan")]], None]
)
def test_patterns_that_are_no_matrix_of_numbers(rows):
    with pytest.raises(ConfigError, match=r"^encoding\.pattern.*: must [^\n]*$"):
        encodings.pattern(rows)


@pytest.mark.parametrize("shift", [0.5, "ab", [], [[1], [2]], ["1"], [True], [float("inf")], None])
def test_shifts_that_are_no_list_of_numbers(shift):
    with pytest.raises(ConfigError, match=r"^encoding\.injected.*: must [^\n]*$"):
        encodings.injected(shift)


def test_two_spellings_of_one_encoding_are_one():
    spellings = [
        PAIR,
        encodings.alternating(),
        encodings.pattern([[1], [-1]]),
        encodings.pattern(np.array([[1.0], [-1.0]])),
    ]
    assert len({json.dumps(e.canonical(2)) for e in spellings}) == 1
    assert json.dumps(PAIR.canonical(2)) == '{"pattern": [[1], [-1]], "injected": null}'
    assert encodings.injected([0, 0]).canonical(2) == NONE.canonical(2)
    assert encodings.injected([0.1 + 0.2]).canonical(1) == encodings.injected(np.array([0.3])).canonical(1)


def test_different_encodings_differ():
    different = [
        NONE,
        PAIR,
        encodings.pattern([[1], [1]]),
        encodings.pattern([[1, 0], [0, 1]]),
        encodings.injected([1, 0]),
    ]
    different += [PAIR + encodings.injected([1, 0]), encodings.pattern([[0], [0]])]
    assert len({json.dumps(e.canonical(2)) for e in different}) == len(different)


def test_frozen_hashable_and_picklable():
    every = [NONE, PAIR, encodings.alternating(), encodings.pattern(np.eye(2)), encodings.injected(np.ones(2)) + PAIR]
    assert len(set(every)) == 5 and pickle.loads(pickle.dumps(every)) == every
    with pytest.raises(AttributeError):
        PAIR.name = "none"
