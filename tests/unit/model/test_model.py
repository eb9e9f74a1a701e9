"""Which pieces fit together, and what identifies a model."""

import json
import pickle

import numpy as np
import pytest

from ssi_kernels.model import Model, encodings, starts, students, targets

from .helpers import refused

PAIR, NONE = encodings.opposite_pair(), encodings.none()
SEMANTIC, SCALAR = targets.positional_semantic(0.5, 1.0, [[1], [-1]]), targets.hermite(2)
ATTENTION = students.attention()


@pytest.mark.parametrize(
    "target, student, encoding, length",
    [
        (SEMANTIC, ATTENTION, PAIR, 2),
        (SEMANTIC, ATTENTION, NONE, 2),
        (SEMANTIC, students.linear_attention(), PAIR + encodings.injected([0.5, 0]), 2),
        (targets.mixed_logit(0.5, 1.0), ATTENTION, encodings.alternating(), 5),
        (SCALAR, students.attention("trace"), encodings.injected([0.5, 0.5, 1]), 3),
        (SCALAR, students.linear_attention("trace"), NONE, 1),
        (SCALAR, students.tied("relu"), encodings.pattern(np.eye(3)), 3),
        (SCALAR, students.untied("relu", "row"), NONE, 1),
        (targets.expression("sum(cumprod(z))"), students.untied("tanh"), NONE, 6),
        (targets.from_callable(lambda z: z[0]), students.tied(), NONE, 2),
    ],
)
def test_what_fits_is_accepted(target, student, encoding, length):
    Model(target, student, encoding).check(100, length, starts.random())


@pytest.mark.parametrize(
    "student",
    [students.attention("trace"), students.attention("projection", [1, 0], [1, 0]), students.tied(), students.untied()],
)
@pytest.mark.parametrize("target", [SEMANTIC, targets.mixed_logit(0.5, 1, [[1], [-1]])])
def test_a_scalar_student_of_a_matrix_target_is_refused(target, student):
    refused(lambda: Model(target, student).check(16, 2), "student", student.label, "reduction: identity")


@pytest.mark.parametrize("student", [ATTENTION, students.linear_attention()])
@pytest.mark.parametrize("target", [SCALAR, targets.expression("z1*z2"), targets.from_callable(lambda z: z[0])])
def test_a_matrix_student_of_a_scalar_target_is_refused(target, student):
    refused(lambda: Model(target, student).check(16, 2), "student", student.label, "trace or projection")


@pytest.mark.parametrize("norm", ["joint", "row"])
@pytest.mark.parametrize(
    "encoding, shown",
    [
        (PAIR, "opposite-pair"),
        (encodings.pattern([[1], [2]]), [[1], [2]]),
        (encodings.injected([0, 1]), {"injected": [0, 1]}),
        (PAIR + encodings.injected([0, 1]), {"pattern": "opposite-pair", "injected": [0, 1]}),
    ],
)
def test_untied_students_take_no_encoding(encoding, shown, norm):
    refused(lambda: Model(SCALAR, students.untied("relu", norm), encoding).check(16, 2), "encoding", shown, "use none")


def test_what_does_not_fit_the_length():
    refused(lambda: Model(SEMANTIC, ATTENTION, PAIR).check(16, 3), "encoding", "opposite-pair", "length 3")
    refused(lambda: Model(SEMANTIC, ATTENTION).check(16, 3), "target.pattern", [[1], [-1]], "length 3")
    refused(lambda: Model(SCALAR, students.tied(), encodings.injected([1])).check(16, 2), "encoding.injected", [1])
    refused(
        lambda: Model(targets.expression("z3"), students.tied()).check(16, 2), "target.expression", "z3", "length 2"
    )
    refused(lambda: Model(SCALAR, students.attention("trace")).check(16, 1), "length", 1, "constant")
    projected = students.attention("projection", [1, 2], [3, 3])
    refused(lambda: Model(SCALAR, projected).check(16, 2), "student.a_right", [3, 3], "constant")
    refused(lambda: Model(SCALAR, projected).check(16, 3), "student.a_left", [1, 2], "length 3")


@pytest.mark.parametrize("encoding, least", [(NONE, 2), (PAIR, 3), (encodings.pattern(np.eye(2)), 4)])
def test_the_dimension_must_leave_room(encoding, least):
    model = Model(SCALAR, students.tied(), encoding)
    model.check(least, 2)
    assert model.least_dimension(2) == least
    refused(lambda: model.check(least - 1, 2), "d", least - 1, f"at least {least}")


@pytest.mark.parametrize("value", [0, -3, 2.5, np.nan, np.inf, True, "16", None, 2**63])
def test_dimensions_and_lengths_that_are_no_counts(value):
    model = Model(SCALAR, students.tied())
    refused(lambda: model.check(value, 2), "d", None, "must be ")
    refused(lambda: model.check(16, value), "length", None, "must be ")
    model.check(16.0, np.int64(2))
    refused(lambda: model.check(16, 10**12), "length", 10**12, "at most 1000000")


def test_the_start_is_checked_too():
    model = Model(SEMANTIC, ATTENTION, PAIR)
    model.check(16, 2, starts.overlaps(0.1, 0.2))
    refused(lambda: model.check(16, 2, starts.overlaps(e=[0.1, 0.2])), "start.e", [0.1, 0.2], "at most 1")
    untied = Model(SCALAR, students.untied())
    refused(lambda: untied.check(16, 2, starts.overlaps(e=0.1)), "start.e", [0.1], "no encoding")


def test_pieces_of_the_wrong_kind():
    refused(lambda: Model("hermite", ATTENTION), "target", "hermite", "ssi_kernels.targets")
    refused(lambda: Model(SCALAR, "tied"), "student", "tied", "ssi_kernels.students")
    refused(lambda: Model(SCALAR, students.tied(), "none"), "encoding", "none", "ssi_kernels.encodings")
    refused(lambda: Model(students.tied(), SCALAR), "target", students.tied())
    refused(lambda: Model(SCALAR, students.tied(), loss="mse"), "loss", "mse", "squared or frobenius")


def test_two_spellings_of_one_model_are_one():
    same = [
        Model(targets.positional_semantic(1, 2), ATTENTION, PAIR),
        Model(
            targets.positional_semantic(1.0, 2.0),
            students.attention("identity"),
            encodings.pattern([[1], [-1]]),
            "squared",
        ),
        Model(targets.positional_semantic(1, 2, np.array([[1], [-1]])), ATTENTION, encodings.alternating()),
    ]
    assert len({json.dumps(m.canonical(2), sort_keys=True) for m in same}) == 1


def test_different_models_differ():
    different = [
        Model(SEMANTIC, ATTENTION, PAIR),
        Model(SEMANTIC, ATTENTION, NONE),
        Model(SEMANTIC, ATTENTION, PAIR, "frobenius"),
        Model(SEMANTIC, students.linear_attention(), PAIR),
        Model(targets.positional_semantic(0.5, 1.1), ATTENTION, PAIR),
        Model(targets.mixed_logit(0.5, 1.0), ATTENTION, PAIR),
        Model(SCALAR, students.tied()),
        Model(targets.expression("sum(h2(z))/sqrt(L)"), students.tied()),
    ]
    assert len({json.dumps(m.canonical(2), sort_keys=True) for m in different}) == len(set(different)) == len(different)
    assert pickle.loads(pickle.dumps(different)) == different
    with pytest.raises(AttributeError):
        different[0].loss = "squared"


def test_the_identity_says_everything():
    model = Model(targets.positional_semantic(0.1 + 0.2, 1.0), ATTENTION, PAIR)
    assert model.canonical(2) == {
        "target": {"family": "positional-semantic", "omega": 0.3, "a": 1, "pattern": [1, -1]},
        "student": {"kind": "attention", "reduction": "identity", "a_left": None, "a_right": None},
        "encoding": {"pattern": [[1], [-1]], "injected": None},
        "loss": "squared",
    }
