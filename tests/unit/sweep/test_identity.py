"""What is and what is not part of the identity of a point."""

import json
import pickle

import pytest

from .example import STUDENTS, TIED, grid_of


def first(changes=None):
    return grid_of(changes).points[0]


def test_golden():
    """These digests address stored results: change them only together with SEMANTICS_VERSION."""
    point = first()
    assert point.stream_id == "7099bae6d49ea5c2f43506ea9d3cbbfe09a72f2ec4116d8e4f740d8bd65fdf06"
    assert point.point_id == "59fc13abc083b1576453700d53f43e469d33267e03be6f89dade852b8cfb199b"
    random = first({**STUDENTS, "sgd.stop": "decided", "sgd.dtype": "float64"})
    assert random.point_id == "5387f51a1f89344b97e876599ecfdf3209757cef311537e581d1c668d841bc84"


@pytest.mark.parametrize(
    "changes",
    [
        {"sgd.replicas": 99},
        {"sgd.steps": 10_000},
        {"resources.gpu": 1},
        {"recovery.decided": 0.9},
        {"description": "x"},
    ],
)
def test_what_may_grow_or_does_not_matter(changes):
    assert first(changes).point_id == first().point_id


@pytest.mark.parametrize(
    "changes",
    [
        {"sgd.kernel": "full"},
        {"sgd.dtype": "float64"},
        {"record.every": 10},
        {"recovery.threshold": [0.4]},
        {"recovery.threshold": [0.5, 0.4]},
        {"sgd.stop": "recovered"},
        {"sgd.stop": "decided"},
        {"sgd.stop": "decided", "recovery.decided": 0.8},
    ],
)
def test_how_it_is_computed_changes_the_address_but_not_the_streams(changes):
    assert first(changes).stream_id == first().stream_id
    assert first(changes).point_id != first().point_id


OTHER_MATHEMATICS = [
    {"grid.d": 17},
    {"grid.omega": 0.11},
    {"grid.omega": 0.1 + 1e-11},
    {"grid.a": 1.1},
    {"sgd.learning_rate": 1e-9},
    {"sgd.learning_rate": 2e-9},
    {"sgd.seed": 1},
    {"sgd.seed": 2**62 + 1},
    {"sgd.seed": 2**62},
    {"sgd.start": {"m": 0}},
    {"sgd.start": {"m": 0.1}},
    {"model.loss": "frobenius"},
    {"model.target.family": "mixed-logit"},
    {"model.student.kind": "linear-attention"},
    {"model.encoding": {"pattern": "opposite-pair", "injected": [0.5, 0.5]}},
    TIED,
]


def test_another_mathematics_is_another_stream():
    """Small learning rates do not collide, nor do seeds beyond the digits of a float."""
    points = [first(changes) for changes in [{}, *OTHER_MATHEMATICS]]
    assert len({point.stream_id for point in points}) == len(points)
    assert len({point.point_id for point in points}) == len(points)


def test_a_callable_is_identified_by_its_version_too(tmp_path, monkeypatch):
    (tmp_path / "labels_of_a_test.py").write_text("def total(z):\n    return z.sum()\n")
    monkeypatch.syspath_prepend(tmp_path)
    target = {"callable": "labels_of_a_test:total"}
    versions = [{}, {"version": 1}, {"version": 2}, {"version": "2"}]
    found = [first({**TIED, "model.target": {**target, **version}}).stream_id for version in versions]
    assert len(set(found[:3])) == 3 and found[2] == found[3]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"sgd.start": {"m": 0.1}}, {"sgd.start": {"m": "1e-1", "e": 0}}),
        ({"model.encoding": "opposite-pair"}, {"model.encoding": {"pattern": [[1.0], ["-1"]]}}),
        ({"model.encoding": "opposite-pair"}, {"model.encoding": "alternating"}),
        ({"sgd.kernel": "auto"}, {"sgd.kernel": "reduced"}),
        ({"recovery.threshold": [0.5, 0.4]}, {"recovery.threshold": ["2/5", 0.5]}),
        ({"sgd.learning_rate": 0.25}, {"sgd.learning_rate": "1/sqrt(d)"}),
        (
            {**TIED, "model.student": {"kind": "tied"}},
            {**TIED, "model.student": {"kind": "tied", "activation": "relu"}},
        ),
    ],
)
def test_two_spellings_of_one_point(one, other):
    assert first(one).point_id == first(other).point_id


def test_the_canonical_form_is_plain_json_and_complete():
    point = first({"sgd.stop": "decided"})
    canonical = point.canonical()
    assert json.loads(json.dumps(canonical, allow_nan=False)) == canonical
    assert canonical["model"] == point.model.canonical(2)
    assert list(canonical) == [
        *("model", "d", "length", "start", "seed", "learning_rate", "kernel", "dtype", "schedule", "thresholds"),
        *("stop", "decided", "semantics"),
    ]
    assert "decided" not in first().canonical()


def test_points_are_pickled_with_their_identity():
    point = first()
    assert pickle.loads(pickle.dumps(point)) == point
    assert pickle.loads(pickle.dumps(point)).point_id == point.point_id
    assert len({point, pickle.loads(pickle.dumps(point))}) == 1
