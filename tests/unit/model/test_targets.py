"""Targets against plain numpy, one sample at a time."""

import json
import pickle

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from ssi_kernels.model import encodings, targets

from .helpers import attention, by_sample, fields, refused

TWO_FEATURE = {"positional-semantic": targets.positional_semantic, "mixed-logit": targets.mixed_logit}
PAIR, NONE = encodings.opposite_pair(), encodings.none()
PATTERNS = {2: [[1], [-1]], 3: [[0.5], [-1], [2]], 5: [[1], [0], [-0.3], [2], [-1]]}


def labels(target, z, encoding=NONE):
    lanes = z.shape[1:]
    parameters = {name: np.full(lanes, value) for name, value in target.parameters().items()}
    return np.asarray(target.labeller(len(z), encoding, parameters)(z))


def plain(family, omega, a, b):
    if family == "positional-semantic":
        return lambda z: (1 - omega) * attention(z) + omega * attention(a * b)
    return lambda z: attention((1 - omega) * z + omega * a * b)


@pytest.mark.parametrize("omega, a", [(0.0, 1.0), (0.3, 0.7), (1.0, 1.4)])
@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("family", TWO_FEATURE)
def test_semantic_and_positional_labels(family, length, omega, a, x64):
    target, z = TWO_FEATURE[family](omega, a, PATTERNS[length]), fields(length, 6)
    assert target.family == family and target.is_matrix(length)
    target.check(length, NONE)
    b = np.array(PATTERNS[length])[:, 0]
    np.testing.assert_allclose(labels(target, z), by_sample(plain(family, omega, a, b), z), rtol=1e-12)


def test_the_positional_part_by_hand(x64):
    """A = softmax([[a^2, -a^2], [-a^2, a^2]])."""
    target = targets.positional_semantic(1.0, 0.8)
    same = 1 / (1 + np.exp(-2 * 0.64))
    expected = [[same, 1 - same], [1 - same, same]]
    np.testing.assert_allclose(labels(target, fields(2, 1), PAIR)[..., 0], expected, rtol=1e-12)


@pytest.mark.parametrize("family", TWO_FEATURE)
def test_the_pattern_is_that_of_the_encoding_unless_given(family, x64):
    encoding, z = encodings.pattern([[1], [2], [-1]]), fields(3, 4)
    given = TWO_FEATURE[family](0.4, 0.9, [[1], [2], [-1]])
    taken = TWO_FEATURE[family](0.4, 0.9)
    np.testing.assert_array_equal(labels(taken, z, encoding), labels(given, z, NONE))
    other = TWO_FEATURE[family](0.4, 0.9, [[1], [1], [1]])
    assert not np.allclose(labels(other, z, encoding), labels(taken, z, encoding))


@pytest.mark.parametrize("family", TWO_FEATURE)
def test_every_lane_has_its_own_parameters(family, x64):
    z, omega, a = fields(3, 4), np.array([0.0, 0.2, 0.7, 1.0]), np.array([0.5, 1.0, 1.5, 2.0])
    static = TWO_FEATURE[family](0.9, 0.9, PATTERNS[3]).static()
    together = np.asarray(static.labeller(3, NONE, {"omega": omega, "a": a})(z))
    for w in range(4):
        alone = labels(TWO_FEATURE[family](omega[w], a[w], PATTERNS[3]), z[:, w : w + 1])
        np.testing.assert_allclose(together[..., w : w + 1], alone, rtol=1e-13)


@pytest.mark.parametrize("make", TWO_FEATURE.values())
def test_parameters_out_of_range(make):
    for omega in (-0.1, 1.0001):
        refused(lambda omega=omega: make(omega, 1.0), "omega", omega, "[0, 1]")
    for a in (0, -1.0):
        refused(lambda a=a: make(0.5, a), "a", a, "positive")
    for value in (np.nan, np.inf, True, "0.5", None, [0.5], 10**400):
        refused(lambda value=value: make(value, 1.0), "omega", None, "finite number")
        refused(lambda value=value: make(0.5, value), "a", None, "finite number")


@pytest.mark.parametrize("make", TWO_FEATURE.values())
def test_patterns_that_do_not_fit(make):
    refused(lambda: make(0.5, 1, [[1, 2], [3, 4]]), "target.pattern", [[1, 2], [3, 4]], "one column")
    refused(lambda: make(0.5, 1, [1, -1]), "target.pattern[0]", 1, "list of numbers")
    refused(lambda: make(0.5, 1, [[1], [-1]]).check(3, NONE), "target.pattern", [[1], [-1]], "length 3", "3 rows")
    refused(lambda: make(0.5, 1).check(2, NONE), "target.pattern", None, "one column")
    refused(lambda: make(0.5, 1).check(2, encodings.pattern([[1, 0], [0, 1]])), "target.pattern", None, "one column")
    refused(lambda: make(0.5, 1).check(3, PAIR), "encoding", "opposite-pair", "length 3")
    refused(lambda: make(0.5, 1, [[1]]).check(1, NONE), "length", 1, "constant")
    make(0.5, 1, [[1], [2]]).check(2, encodings.pattern([[1, 0], [0, 1]]))


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("sie", [1, 2, 3, 6])
def test_the_hermite_family(sie, length, x64):
    target, z = targets.hermite(sie), fields(length, 50)
    norm = np.sqrt(np.prod(np.arange(1, sie + 1)) * length)
    expected = hermite_e.hermeval(z, [0] * sie + [1]).sum(axis=0) / norm
    np.testing.assert_allclose(labels(target, z), expected, rtol=1e-11, atol=1e-11)
    assert not target.is_matrix(length) and target.family == "hermite" and target.static() == target


def test_the_hermite_family_has_unit_variance_also_at_high_degree():
    nodes, weights = (x[10:-10] for x in hermite_e.hermegauss(160))
    for sie in (1, 4, 64):
        values = labels(targets.hermite(sie), nodes[None].astype(np.float32)).astype(float)
        assert np.sum(weights * values**2) / np.sqrt(2 * np.pi) == pytest.approx(1, rel=1e-3)


def test_degrees_of_the_hermite_family():
    assert targets.hermite(3.0) == targets.hermite(np.int64(3))
    for sie in (0, -1, 2.5, "2", None, True, np.nan):
        refused(lambda sie=sie: targets.hermite(sie), "sie", None, "integer of at least 1")
    refused(lambda: targets.hermite(65), "sie", 65, "at most 64")


def test_expressions(x64):
    target, z = targets.expression("z1*prod(1 + z[1:])"), fields(3, 8)
    np.testing.assert_allclose(labels(target, z), z[0] * (1 + z[1]) * (1 + z[2]), rtol=1e-12)
    refused(lambda: targets.expression("z1 +"), "target.expression", "z1 +", "does not parse")
    refused(lambda: targets.expression("__import__('os')"), "target.expression", None, "is not allowed")
    refused(lambda: targets.expression(None), "target.expression", None, "must be text")
    refused(lambda: targets.expression("z1*z4").check(3, NONE), "target.expression", None, "z4", "length 3")
    targets.expression("z1*z4").check(4, NONE)


@pytest.mark.parametrize(
    "target",
    [
        targets.positional_semantic(0.4, 1.1),
        targets.mixed_logit(0.4, 1.1),
        targets.hermite(2),
        targets.expression("z1*z2 + 1"),
        targets.expression("3"),
    ],
    ids=lambda target: target.family,
)
def test_trailing_axes_are_lanes(target, x64):
    z = fields(2, 3, 4)
    whole = labels(target, z, PAIR)
    assert whole.shape == ((2, 2) if target.is_matrix(2) else ()) + (3, 4)
    for i in range(3):
        np.testing.assert_allclose(whole[..., i, :], labels(target, z[:, i], PAIR), rtol=1e-13)
    np.testing.assert_allclose(whole[..., 1, 2], labels(target, z[:, 1, 2], PAIR), rtol=1e-12)


def test_two_spellings_of_one_target_are_one():
    same = [
        (targets.positional_semantic(1, 1), PAIR),
        (targets.positional_semantic(1.0, np.float64(1)), encodings.pattern([[1], [-1]])),
        (targets.positional_semantic(1, 1, np.array([[1], [-1]])), PAIR),
        (targets.positional_semantic(1, 1, [[1.0], [-1.0]]), NONE),
    ]
    assert len({json.dumps(target.canonical(2, encoding)) for target, encoding in same}) == 1
    assert targets.mixed_logit(0.1 + 0.2, 1) == targets.mixed_logit(0.3, 1)
    spaced = [targets.expression(text) for text in ("z1*z2+2*z1**2", " ( z1 * z2 )  + 2.0*z1**2 ")]
    assert spaced[0] == spaced[1] and spaced[0].canonical(2, NONE) == spaced[1].canonical(2, NONE)


def test_different_targets_differ():
    different = [
        *(make(omega, a) for make in TWO_FEATURE.values() for omega in (0.1, 0.2) for a in (1, 2)),
        *(targets.positional_semantic(0.1, 1, [[1], [b]]) for b in (-2, 2)),
        *(targets.hermite(k) for k in (1, 2)),
        *(targets.expression(text) for text in ("z1", "z2", "z1 + z2", "z2 + z1", "1/(z1*z2)", "1/z1*z2")),
    ]
    assert len({json.dumps(t.canonical(2, PAIR)) for t in different}) == len(set(different)) == len(different)
    assert pickle.loads(pickle.dumps(different)) == different
    with pytest.raises(AttributeError):
        different[0].omega = 0.5


def test_parameters_and_what_remains_without_them():
    target = targets.positional_semantic(0.3, 0.9, [[1], [-1]])
    assert target.parameters() == {"omega": 0.3, "a": 0.9}
    assert target.static() == targets.positional_semantic(0.8, 2, [[1], [-1]]).static()
    assert targets.expression("z1").parameters() == targets.hermite(1).parameters() == {}
