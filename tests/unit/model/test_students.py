"""Students against plain numpy, one sample at a time."""

import json
import pickle

import numpy as np
import pytest

from ssi_kernels.model import students

from .helpers import attention, by_sample, fields, refused

LEFT, RIGHT = [0.5, -1.0, 2.0, 0.3, 1.1], [1.0, 0.2, -0.7, 0.4, -0.1]
SCORES = {"attention": attention, "linear_attention": lambda z: np.outer(z, z)}


def make(kind, reduction, length):
    sides = {"a_left": LEFT[:length], "a_right": RIGHT[:length]} if reduction == "projection" else {}
    return getattr(students, kind)(reduction, **sides)


def reduce(reduction, scores):
    length = len(scores)
    if reduction == "projection":
        return np.array(LEFT[:length]) @ scores @ np.array(RIGHT[:length])
    return scores if reduction == "identity" else np.trace(scores) / np.sqrt(length)


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("reduction", students.REDUCTIONS)
@pytest.mark.parametrize("kind", SCORES)
def test_attention_for_every_reduction(kind, reduction, length, x64):
    student, z = make(kind, reduction, length), fields(length, 6)
    student.check(length)
    expected = by_sample(lambda s: reduce(reduction, SCORES[kind](s)), z)
    np.testing.assert_allclose(student.outputs(z), expected, rtol=1e-12)
    assert student.is_matrix == (reduction == "identity") and not student.sees_sum


@pytest.mark.parametrize("make_student", [students.tied, students.untied])
@pytest.mark.parametrize(
    "activation, reference", [("relu", lambda u: np.maximum(u, 0)), ("h3", lambda u: (u**3 - 3 * u) / 6**0.5)]
)
def test_tied_and_untied_see_the_normalised_sum(make_student, activation, reference, x64):
    student, u = make_student(activation), fields(3, 7).sum(axis=0) / np.sqrt(3)
    np.testing.assert_allclose(student.outputs(u[None]), reference(u), rtol=1e-12)
    assert student.sees_sum and not student.is_matrix
    assert student.is_untied == (make_student is students.untied)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_linear_attention_with_the_uniform_projection_is_the_tied_square(length, x64):
    uniform = [length**-0.5] * length
    linear, z = students.linear_attention("projection", uniform, uniform), fields(length, 9)
    linear.check(length)
    u = z.sum(axis=0, keepdims=True) / np.sqrt(length)
    np.testing.assert_allclose(linear.outputs(z), students.tied("square").outputs(u), rtol=1e-10)


@pytest.mark.parametrize("reduction", students.REDUCTIONS)
@pytest.mark.parametrize("kind", SCORES)
def test_lanes_are_independent(kind, reduction, x64):
    student, z = make(kind, reduction, 3), fields(3, 4, 5)
    whole = np.asarray(student.outputs(z))
    for i in range(4):
        np.testing.assert_allclose(whole[..., i, :], student.outputs(z[:, i]), rtol=1e-13)
    z[:, 2, 3] = np.nan
    poisoned = np.asarray(student.outputs(z))
    assert np.isnan(poisoned[..., 2, 3]).all()
    others = np.ones((4, 5), bool)
    others[2, 3] = False
    np.testing.assert_array_equal(poisoned[..., others], whole[..., others])


def test_softmax_attention_over_one_token_is_refused():
    for reduction in ("identity", "trace"):
        refused(lambda r=reduction: students.attention(r).check(1), "length", 1, "constant", "2 or more")
    students.linear_attention("trace").check(1)


@pytest.mark.parametrize("right", [[1, 1, 1], [-0.3, -0.3, -0.3], [0.1 + 0.2, 0.3, 0.3]])
def test_a_projection_onto_constants_is_refused(right):
    student = students.attention("projection", [1, 0, 0], right)
    refused(lambda: student.check(3), "student.a_right", None, "constant")
    students.linear_attention("projection", [1, 0, 0], right).check(3)


@pytest.mark.parametrize("make_student", [students.attention, students.linear_attention])
def test_vectors_and_reductions_that_do_not_fit(make_student):
    refused(lambda: make_student("sum"), "student.reduction", "sum", "identity, trace, projection")
    refused(lambda: make_student(None), "student.reduction", None, "identity, trace, projection")
    refused(lambda: make_student("trace", a_left=[1, 2]), "student.a_left", [1, 2], "only for reduction: projection")
    refused(lambda: make_student(a_right=[1, 2]), "student.a_right", [1, 2], "only for reduction: projection")
    refused(lambda: make_student("projection"), "student.a_left", None, "needed by reduction: projection")
    refused(lambda: make_student("projection", [1, 2]), "student.a_right", None, "needed by reduction: projection")
    refused(lambda: make_student("projection", [0, 0], [1, 2]), "student.a_left", [0, 0], "constant")
    refused(lambda: make_student("projection", [1, 2], "ab"), "student.a_right", "ab", "list of numbers")
    refused(lambda: make_student("projection", [1, 2], [1, np.nan]), "student.a_right[1]", None, "finite")
    refused(lambda: make_student("projection", [1, 2], [1, 2]).check(3), "student.a_left", [1, 2], "length 3")
    refused(lambda: make_student("projection", [1, 2], [1, 2, 3]).check(2), "student.a_right", [1, 2, 3], "length 2")


def test_unknown_activations_and_norms():
    refused(lambda: students.tied("gelu"), "student.activation", "gelu", "relu")
    refused(lambda: students.untied("relu", "Joint"), "student.norm", "Joint", "joint or row")


EVERY = [
    students.attention(),
    students.attention("trace"),
    students.attention("projection", [1, 2], [0.5, 1]),
    students.attention("projection", [1, 2], [0.5, 2]),
    students.linear_attention(),
    students.tied("relu"),
    students.tied("square"),
    students.untied("relu", "joint"),
    students.untied("relu", "row"),
]


def test_identities():
    assert len({json.dumps(s.canonical()) for s in EVERY}) == len(set(EVERY)) == len(EVERY)
    assert pickle.loads(pickle.dumps(EVERY)) == EVERY
    same = [students.attention("projection", left, [0.3, 1]) for left in ([1, 2], (1.0, 2.0), np.array([1, 2]))]
    same.append(students.attention("projection", [1, 2], [0.1 + 0.2, 1]))
    assert len(set(same)) == 1 and len({json.dumps(s.canonical()) for s in same}) == 1
    assert students.tied("He_2") == students.tied("He2")
    with pytest.raises(AttributeError):
        EVERY[0].reduction = "trace"


def test_labels_and_kinds():
    kinds = [(s.kind, s.label) for s in EVERY]
    assert kinds[:3] == [("attention", f"attention-{r}") for r in students.REDUCTIONS]
    assert kinds[4:6] == [("linear-attention", "linear-attention-identity"), ("tied", "tied-relu")]
    assert kinds[-1] == ("untied", "untied-relu-row")
