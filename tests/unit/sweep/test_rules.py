"""Learning rates and horizons that follow d, L and the student."""

import math

import pytest

from .example import STUDENTS, grid_of, refused, sweep_of


def horizons(rule, changes=None):
    return {(p.d, p.length): p.steps for p in grid_of({**(changes or {}), "sgd.steps": rule}).points}


def test_powers_are_rounded_up():
    rule = {"coefficient": "1e1", "d": 1, "length": 0.5, "log_d": 2}
    assert horizons(rule) == {(d, 2): math.ceil(10 * d * math.sqrt(2) * math.log(d) ** 2) for d in (16, 64)}
    assert horizons({"coefficient": 1e-3}) == {(16, 2): 1, (64, 2): 1}


def test_rounding_up_sees_twelve_digits():
    assert horizons("0.1*3*10") == {(16, 2): 3, (64, 2): 3}
    assert horizons("d*0.1*30") == {(16, 2): 48, (64, 2): 192}


def test_a_table_by_dimension():
    assert horizons({"by_d": {"16": "1e2", 64.0: "10*d"}}) == {(16, 2): 100, (64, 2): 640}
    assert "64" in refused({"sgd.steps": {"by_d": {16: 100}}}, "sgd.steps.by_d")
    assert "twice" in refused({"sgd.steps": {"by_d": {16: 1, "16": 2}}}, "sgd.steps.by_d")


def test_a_mapping_from_students_by_name_then_by_kind():
    students = [{"name": "slow", "kind": "tied"}, {"name": "fast", "kind": "tied"}, {"name": "each", "kind": "untied"}]
    rates = {"slow": 0.01, "tied": "1/d", "untied": {"coefficient": 0.5, "length": 1}}
    points = grid_of({**STUDENTS, "grid.student": students, "grid.d": 16, "sgd.learning_rate": rates}).points
    assert {p.coords["student"]: p.learning_rate for p in points} == {"slow": 0.01, "fast": 1 / 16, "each": 1.0}


def test_students_without_an_entry_and_entries_without_a_student():
    assert "'untied'" in refused({**STUDENTS, "sgd.steps": {"tied": 5}}, "sgd.steps")
    assert "coefficient" in refused({**STUDENTS, "sgd.steps": {"coefficent": 5}}, "sgd.steps.coefficent")
    assert "neither" in refused({**STUDENTS, "sgd.steps": {"tied": 5, "untide": 5}}, "sgd.steps.untide")
    sweep_of({**STUDENTS, "sgd.steps": {"tied": 5, "untied": 5, "attention": 5}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sgd.steps", 10.5),
        ("sgd.steps", 0),
        ("sgd.steps", -5),
        ("sgd.steps", "1e30"),
        ("sgd.steps", {"coefficient": 1, "d": 400}),
        ("sgd.steps", {}),
        ("sgd.steps", False),
        ("sgd.learning_rate", 0),
        ("sgd.learning_rate", "1/(d - 64)"),
        ("sgd.learning_rate", {"coefficient": 1, "d": 1000}),
        ("sgd.learning_rate", [0.1, 0.2]),
    ],
)
def test_impossible_values_are_refused(key, value):
    refused({key: value}, key)


def test_a_misspelt_key_of_a_rule_is_refused():
    """Case 19."""
    line = refused({"sgd.steps": {"coefficient": 1, "lenght": 1}}, "sgd.steps.lenght")
    assert "the nearest valid key is length" in line
