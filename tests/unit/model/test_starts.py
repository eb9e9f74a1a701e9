"""Initial conditions."""

import json
import math
import pickle

import numpy as np
import pytest

from ssi_kernels.model import Model, encodings, starts, students, targets

from .helpers import refused


def model(encoding):
    return Model(targets.hermite(1), students.tied(), encoding)


def test_components_are_padded_with_zeros():
    assert starts.overlaps(m=0.1, e=0.2).components(3) == (0.2, 0, 0)
    assert starts.overlaps(e=[0.1, 0.2]).components(2) == (0.1, 0.2)
    assert starts.overlaps().components(0) == ()


@pytest.mark.parametrize("m, e", [(1, 0), (-1, 0), (0.6, 0.8), (0, [0.6, -0.8]), (1 / math.sqrt(2), 1 / math.sqrt(2))])
def test_the_whole_sphere_is_allowed(m, e):
    assert not starts.overlaps(m, e).random


@pytest.mark.parametrize("m, e", [(1.1, 0.0), (0.8, 0.8), (0.5, [0.6, 0.7]), (0.0, -1.001)])
def test_beyond_the_sphere_is_refused(m, e):
    refused(lambda: starts.overlaps(m, e), "start", {"m": m, "e": e}, "m^2 + |e|^2 <= 1")


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "0.1", None, 1j])
def test_what_is_no_number_is_refused(value):
    refused(lambda: starts.overlaps(m=value), "start.m", None, "finite number")
    refused(lambda: starts.overlaps(e=value), "start.e", None, "finite number")
    refused(lambda: starts.overlaps(e=[0.1, value]), "start.e[1]", None, "finite number")


def test_components_must_fit_the_rank():
    pair, two = model(encodings.opposite_pair()), model(encodings.pattern([[1, 0], [0, 1]]))
    starts.overlaps(e=[0.1, 0.0, 0.0]).check(pair, 2)
    starts.overlaps(e=[0.1, 0.2]).check(two, 2)
    starts.overlaps(m=0.5, e=[0.0, 0.0]).check(model(encodings.none()), 2)
    refused(lambda: starts.overlaps(e=[0.1, 0.2]).check(pair, 2), "start.e", [0.1, 0.2], "at most 1")
    refused(lambda: starts.overlaps(e=[0, 0, 0.2]).check(two, 2), "start.e", [0, 0, 0.2], "3 components", "at most 2")
    refused(lambda: starts.overlaps(e=0.2).check(model(encodings.none()), 2), "start.e", [0.2], "no encoding")


def test_two_spellings_of_one_start_are_one():
    same = [starts.overlaps(0, 0.3), starts.overlaps(0.0, [0.1 + 0.2]), starts.overlaps(-0.0, np.array([0.3, 0, 0]))]
    assert {json.dumps(s.canonical()) for s in same} == {'{"m": 0, "e": [0.3]}'}
    assert starts.overlaps().canonical() == {"m": 0, "e": []}
    assert starts.random().canonical() == "random"


def test_equal_identities_are_equal_numbers():
    """What is rounded in the identity is rounded in what is simulated."""
    assert starts.overlaps(m=1 / 3) == starts.overlaps(m=0.333333333333)


def test_different_starts_differ():
    different = [
        starts.random(),
        starts.overlaps(),
        starts.overlaps(0.1),
        starts.overlaps(0, 0.1),
        starts.overlaps(e=[0, 0.1]),
    ]
    assert len({json.dumps(s.canonical()) for s in different}) == len(set(different)) == 5
    assert pickle.loads(pickle.dumps(different)) == different
