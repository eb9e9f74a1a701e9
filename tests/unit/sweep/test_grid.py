"""From a sweep to its points."""

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import parse_config

from .example import REMOVED, STUDENTS, TIED, grid_of, ids, mapping


def test_axes_and_points_in_canonical_order():
    grid = grid_of({"grid.omega": [0.5, 0.1], "grid.d": [64, 16]})
    assert grid.axes == {"d": (16, 64), "length": (2,), "omega": (0.1, 0.5), "a": (1.0,)}
    assert list(grid.axes) == ["d", "length", "omega", "a"]
    assert [(p.d, p.coords["omega"]) for p in grid.points] == [(16, 0.1), (16, 0.5), (64, 0.1), (64, 0.5)]
    assert all(list(p.coords) == list(grid.axes) for p in grid.points)
    assert [p.model.target.omega for p in grid.points] == [0.1, 0.5, 0.1, 0.5]


def test_a_single_value_keeps_its_axis():
    """Case 14: a grid of one point has all its axes."""
    grid = grid_of({"grid.d": 16, "grid.omega": 0.5, "sgd.replicas": 1})
    assert grid.axes == {"d": (16,), "length": (2,), "omega": (0.5,), "a": (1.0,)}
    assert len(grid.points) == 1


def test_one_coordinate_for_each_point():
    """Case 9: coordinates are unique, and another list of L leaves the earlier points what they were."""
    before = grid_of({**TIED, "grid.length": [1, 2]})
    after = grid_of({**TIED, "grid.length": [3, 2, 1, 2]})
    labels = {point.point_id: point.coords for point in after.points}
    assert len({tuple(p.coords.items()) for p in after.points}) == len(after.points) == 6
    assert all(labels[point.point_id] == point.coords for point in before.points)


def test_floats_that_differ_in_the_last_bits_are_one_point():
    """Case 10: the coordinate is 0.3."""
    grid = grid_of({"grid.omega": [0.1, 0.2, 0.1 + 0.2, 0.3]})
    assert grid.axes["omega"] == (0.1, 0.2, 0.3)
    assert ids({"grid.omega": [0.1, 0.2, 0.1 + 0.2]}) == ids({"grid.omega": [0.1, 0.2, 0.3]})


def test_integers_and_integral_floats_are_one_point():
    """Case 12."""
    assert ids({"grid.d": [64], "grid.omega": [0, 1]}) == ids({"grid.d": [64.0], "grid.omega": [0.0, "1."]})
    with pytest.raises(ConfigError, match=r"^sweeps.t.grid.d: 64.5: must be an integer$"):
        parse_config(mapping({"grid.d": 64.5}))


def test_swept_students_are_coordinates():
    grid = grid_of({**STUDENTS, "grid.d": 16})
    assert grid.axes["student"] == ("tied", "untied")
    assert [p.model.student.kind for p in grid.points] == ["tied", "untied"]


def test_swept_encodings_and_targets():
    encodings = ["none", "opposite-pair", {"name": "odd", "injected": [0.5, 0.5]}]
    changes = {**TIED, "grid.encoding": encodings, "grid.target": [{"name": "s", "expression": "z1 + z2"}]}
    grid = grid_of({**changes, "model.target": REMOVED})
    assert grid.axes["encoding"] == ("none", "odd", "opposite-pair")
    assert [p.model.rank(2) for p in grid.points[:3]] == [0, 0, 1]
    assert list(grid.axes) == ["d", "length", "target", "encoding"]


def test_a_swept_learning_rate_is_a_coordinate():
    grid = grid_of({"sgd.learning_rate": REMOVED, "grid.learning_rate": [0.1, "5e-2"], "grid.d": 16, "grid.omega": 0.5})
    assert [p.learning_rate for p in grid.points] == [0.05, 0.1]
    assert [p.coords["learning_rate"] for p in grid.points] == [0.05, 0.1]


def test_a_target_pattern_by_word_is_that_matrix():
    word = {"model.target.pattern": "alternating", "model.encoding": "none"}
    assert ids(word) == ids({**word, "model.target.pattern": [[1], [-1]]}) != ids()


def test_resolved_settings():
    point = grid_of({"sgd.start": {"m": "1/sqrt(d)"}, "recovery.threshold": ["2/d", 0.5], "record.every": 5}).points[0]
    assert point.kernel == "reduced" and point.dtype == "float32" and point.stop == "horizon"
    assert point.start.m == 0.25
    assert point.thresholds == (0.125, 0.5)
    assert point.schedule.canonical() == {"every": 5}


def test_thresholds_keep_their_labels_where_their_order_turns():
    grid = grid_of({"recovery.threshold": ["3/sqrt(d)", 0.5]})
    assert grid.thresholds == (0.5, "3/sqrt(d)")
    assert [p.thresholds for p in grid.points[::2]] == [(0.5, 0.75), (0.375, 0.5)]
    assert [grid.threshold_order(p) for p in grid.points[::2]] == [(0, 1), (1, 0)]


def test_the_fingerprint_sees_what_the_datasets_hold():
    base = grid_of(STUDENTS)
    assert base.fingerprint == grid_of(dict(reversed(STUDENTS.items()))).fingerprint
    renamed = {**STUDENTS, "grid.student": [{"name": "x", "kind": "tied"}, {"name": "untied", "kind": "untied"}]}
    changes = [{"sgd.replicas": 3}, {"sgd.steps": 51}, {"recovery.decided": 0.8}, {"grid.d": [16]}]
    prints = {grid_of({**STUDENTS, **change}).fingerprint for change in changes} | {grid_of(renamed).fingerprint}
    assert len(prints | {base.fingerprint}) == 6


def test_the_longest_horizon():
    assert grid_of({"sgd.steps": "2*d"}).max_steps == 128


def test_too_many_points_are_refused_before_they_are_listed():
    changes = {"grid.omega": {"start": 0, "stop": 1, "num": 2000}, "grid.a": {"start": 1, "stop": 2, "num": 2000}}
    with pytest.raises(ConfigError, match="8000000 points"):
        parse_config(mapping(changes))


def test_a_phase_diagram_of_40000_points_has_as_many_ids():
    axes = {"grid.omega": {"start": 0, "stop": 1, "num": 200}, "grid.a": {"start": 0.1, "stop": 1, "num": 200}}
    found = ids({**axes, "grid.d": 100})
    assert len(set(found)) == 40_000
