"""What holds for every model: identities, shapes, lanes that do not see each other."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, starts, students, targets
from ssi_kernels.model.numbers import canonical_number

NUMBERS = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))
LENGTHS = st.integers(2, 4)
FRACTIONS, POSITIVES = st.floats(0, 1), st.floats(0.01, 5)
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.floats(), max_size=3)
)


def columns(length, count=1):
    return st.lists(st.lists(NUMBERS, min_size=count, max_size=count), min_size=length, max_size=length)


def vectors(length):
    return st.lists(NUMBERS, min_size=length, max_size=length).filter(lambda v: len({*v}) > 1)


@st.composite
def models(draw):
    """Models that fit their length, with that length."""
    length, matrix = draw(LENGTHS), draw(st.booleans())
    untied = not matrix and draw(st.booleans())
    patterns = st.just(encodings.none()) | columns(length, 2).map(encodings.pattern)
    encoding = encodings.none() if untied else draw(patterns | vectors(length).map(encodings.injected))
    if matrix:
        make = draw(st.sampled_from([targets.positional_semantic, targets.mixed_logit]))
        target = make(draw(FRACTIONS), draw(POSITIVES), draw(columns(length)))
        return length, Model(
            target, draw(st.sampled_from([students.attention(), students.linear_attention()])), encoding
        )
    texts = st.sampled_from(["z1*z2", "sum(cumprod(z))", "prod(1 + z) - L"])
    target = draw(st.integers(1, 6).map(targets.hermite) | texts.map(targets.expression))
    if untied:
        return length, Model(target, draw(st.builds(students.untied, st.just("relu"), st.sampled_from(students.NORMS))))
    projected = st.builds(students.attention, st.just("projection"), vectors(length), vectors(length))
    student = draw(st.sampled_from([students.tied("h3"), students.linear_attention("trace")]) | projected)
    return length, Model(target, student, encoding, draw(st.sampled_from(["squared", "frobenius"])))


@given(models())
def test_every_model_has_an_identity(case):
    length, model = case
    model.check(64, length, starts.random())
    text = json.dumps(model.canonical(length), allow_nan=False)
    again = pickle.loads(pickle.dumps(model))
    assert again == model and hash(again) == hash(model) and json.dumps(again.canonical(length)) == text


@given(models(), models())
def test_equal_identities_are_equal_models(one, other):
    (length, first), (other_length, second) = one, other
    if length == other_length and first.canonical(length) == second.canonical(length):
        assert first.target.parameters() == second.target.parameters()
        assert np.array_equal(first.encoding.matrix(length), second.encoding.matrix(length))
        assert first.student == second.student


@settings(max_examples=20)
@given(models(), st.integers(0, 2**32 - 1))
def test_lanes_do_not_see_each_other(case, seed):
    length, model = case
    z = np.random.default_rng(seed).standard_normal((length, 3)).astype(np.float32)
    fields = z.sum(axis=0, keepdims=True) if model.student.sees_sum else z
    parameters = {name: np.full(3, x, np.float32) for name, x in model.target.parameters().items()}
    label = model.target.labeller(length, model.encoding, parameters)
    shape = (length, length, 3) if model.target.is_matrix(length) else (3,)
    for function, x in ((label, z), (model.student.outputs, fields)):
        whole, poisoned = np.asarray(function(x)), x.copy()
        poisoned[:, 1] = np.nan
        assert whole.shape == shape and whole.dtype == np.float32
        np.testing.assert_array_equal(np.asarray(function(poisoned))[..., [0, 2]], whole[..., [0, 2]])


@settings(max_examples=15)
@given(LENGTHS, FRACTIONS, POSITIVES, st.data())
def test_rows_of_both_targets_are_probabilities(length, omega, a, data):
    pattern, z = (
        data.draw(columns(length)),
        np.random.default_rng(length).standard_normal((length, 4)).astype(np.float32),
    )
    parameters = {"omega": np.full(4, omega, np.float32), "a": np.full(4, a, np.float32)}
    for make in (targets.positional_semantic, targets.mixed_logit):
        label = np.asarray(make(omega, a, pattern).labeller(length, encodings.none(), parameters)(z))
        assert np.all(label >= 0)
        np.testing.assert_allclose(label.sum(axis=1), 1, rtol=1e-5)


@given(st.floats(-1e300, 1e300, allow_nan=False))
def test_canonical_numbers_are_stable(x):
    once = canonical_number(x)
    assert canonical_number(once) == once and canonical_number(float(once)) == once
    assert once == pytest.approx(x, rel=1e-11) and json.loads(json.dumps(once)) == once


@given(st.floats(-1.2, 1.2), st.lists(st.floats(-1.2, 1.2), min_size=1, max_size=3))
def test_starts_lie_on_the_sphere(m, e):
    norm = m * m + sum(x * x for x in e)
    try:
        start = starts.overlaps(m, e)
    except ConfigError as error:
        assert error.key == "start" and norm > 1
    else:
        assert norm <= 1 + 1e-10 and start.components(3)[: len(e)] == pytest.approx(e, abs=1e-11)


@given(ANYTHING)
def test_whatever_is_given_the_refusal_is_one_line(value):
    makers = [
        lambda: targets.positional_semantic(value, 1.0),
        lambda: targets.positional_semantic(0.5, value),
        lambda: targets.positional_semantic(0.5, 1.0, value),
        lambda: targets.hermite(value),
        lambda: targets.expression(value),
        lambda: students.attention(value),
        lambda: students.attention("projection", value, value),
        lambda: students.tied(value),
        lambda: students.untied("relu", value),
        lambda: encodings.pattern(value),
        lambda: encodings.injected(value),
        lambda: starts.overlaps(value, value),
        lambda: Model(targets.hermite(1), students.tied(), loss=value),
        lambda: Model(targets.hermite(1), students.tied()).check(value, 2),
        lambda: Model(targets.hermite(1), students.tied()).check(64, value),
    ]
    for make in makers:
        try:
            make()
        except ConfigError as error:
            assert error.key and error.remedy and len(str(error).splitlines()) == 1
