"""The risk against an independent quadrature, its derivatives against differences, its errors against larger rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import argument, length_of
from ssi_kernels.theory.risk import gradient, hessian, risk
from ssi_kernels.theory.sampled_landscape import SampledLandscape

from .models import MODELS
from .quadrature import risk_by_quadrature

POINTS = 3
EIGHTH_ORDER = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def points(name: str, count: int = POINTS, largest: float = 0.9) -> np.ndarray:
    """Random overlaps of norm at most 0.9."""
    model, length = MODELS[name]
    n = len(landscape(model, length).coordinates)
    rng = np.random.default_rng(sum(map(ord, name)))
    x = rng.normal(size=(count, n))
    x *= largest * rng.uniform(0.2, 1, size=(count, 1)) / np.linalg.norm(x, axis=1, keepdims=True)
    return x * math.sqrt(length) if model.student.is_untied else x


def quadrature_at(model, length, x) -> float:
    return risk_by_quadrature(
        model, length, () if model.student.is_untied else x[:-1], x if model.student.is_untied else x[-1]
    )


@pytest.mark.parametrize("name", MODELS)
def test_risk_is_that_of_an_independent_quadrature(name):
    """54 points in all; relative error below 1e-9."""
    model, length = MODELS[name]
    x = points(name)
    expected = [quadrature_at(model, length, point) for point in x]
    np.testing.assert_allclose(landscape(model, length).risk(x), expected, rtol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_are_those_of_the_risk(name):
    """Against differences of order eight, relative to the largest entry: below 1e-7."""
    model, length = MODELS[name]
    surface = landscape(model, length)
    x = points(name, 1, 0.7)[0]
    steps = 0.02 * np.arange(-4, 5)[:, None, None] * np.eye(x.size)[None]
    for function, derivative in ((surface.risk, surface.gradient), (surface.gradient, surface.hessian)):
        differences = np.tensordot(EIGHTH_ORDER, function(x + steps), axes=(0, 0)) / 0.02
        found = derivative(x)
        assert np.abs(found - differences).max() < 1e-7 * max(1.0, np.abs(found).max())


@pytest.mark.parametrize("name", ["attention identity", "projection", "tied relu", "untied relu", "tied tanh"])
def test_the_quadrature_sees_a_wrong_risk(name):
    """A coefficient of Mehler's formula that is off by one part in a million is found."""
    model, length = MODELS[name]
    x = points(name)[:1]
    wrong = x.copy()
    wrong[..., -1] *= 1 + 1e-6
    assert abs(landscape(model, length).risk(wrong)[0] / quadrature_at(model, length, x[0]) - 1) > 1e-9


@pytest.mark.parametrize("name", ["attention identity", "projection", "tied h3", "untied square", "linear identity"])
def test_quasi_monte_carlo_agrees_within_its_error(name):
    """Six standard errors; the false-alarm rate of the suite is below 1e-6."""
    model, length = MODELS[name]
    sampled, x = SampledLandscape(model, length), points(name, 1, 0.5)
    assert abs(sampled.risk(x) - landscape(model, length).risk(x))[0] < 6 * sampled.error
    assert "estimate" in sampled.method


def test_frobenius_by_quasi_monte_carlo():
    """E|y - f| by brute force, with 4 million independent samples; five standard errors."""
    model = Model(targets.positional_semantic(0.5, 1.0), students.attention(), encodings.opposite_pair(), "frobenius")
    rng = np.random.default_rng(3)
    z, xi = rng.normal(size=(2, 2, 2_000_000))
    fields = 0.6 * z + np.array([[0.3], [-0.3]]) + 0.8 * xi

    def attention(v):
        first = 1 / (1 + np.exp(-v[0] * (v[0] - v[1]))), 1 / (1 + np.exp(-v[1] * (v[0] - v[1])))
        return np.array(first)

    label = 0.5 * attention(z) + 0.5 * attention(np.array([[1.0], [-1.0]]))
    losses = np.sqrt(2 * ((label - attention(fields)) ** 2).sum(axis=0))
    error = losses.std() / math.sqrt(losses.size)
    assert abs(risk(model, e=0.3, m=0.6) - losses.mean()) < 5 * (error + landscape(model, 2).error)


def test_long_sequences_say_that_they_are_estimated():
    model = Model(targets.expression("sum(He2(z))"), students.attention("trace"))
    surface = landscape(model, 6)
    assert "estimate" in surface.method and 0 < surface.error < 0.1
    assert landscape(model, 2).error < 1e-11


@pytest.mark.slow
def test_three_and_four_fields_against_quasi_monte_carlo():
    model = Model(targets.expression("sum(He2(z))"), students.attention("trace"))
    for length in (3, 4):
        sampled = SampledLandscape(model, length)
        x = np.array([[0.5]])
        assert abs(sampled.risk(x) - landscape(model, length).risk(x))[0] < 6 * sampled.error


def test_arrays_broadcast_and_the_length_may_be_left_out():
    model, _ = MODELS["attention identity"]
    e, m = np.linspace(0, 0.5, 3)[:, None], np.linspace(0, 0.8, 5)[None, :]
    values = risk(model, e=e, m=m)
    assert values.shape == (3, 5)
    assert gradient(model, e=e, m=m).shape == (3, 5, 2) and hessian(model, e=e, m=m).shape == (3, 5, 2, 2)
    assert values[1, 2] == pytest.approx(float(risk(model, e=0.25, m=0.4)), rel=1e-14)
    assert risk(model, m=0.4).shape == () and risk(model, e=[0.1, 0.2], m=0.4).shape == (2,)
    alone = Model(targets.expression("z1"), students.untied("relu"))
    assert risk(alone, m=[0.3], length=1).shape == () and risk(alone, m=[0.3, 0.4], length=1).shape == (2,)
    untied, _ = MODELS["untied relu"]
    assert risk(untied, m=0.3, length=2) == pytest.approx(float(risk(untied, m=[0.3, 0.3], length=2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk(MODELS["attention identity"][0], e=0.9, m=0.9), "m^2 + |e|^2 <= 1"),
        (lambda: risk(Model(targets.hermite(2), students.tied()), m=0.1), "length"),
        (lambda: landscape(Model(targets.hermite(2), students.attention()), 2), "identity"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ConfigError, match=message.replace("^", r"\^").replace("|", r"\|").replace("+", r"\+")):
        call()


def test_the_length_comes_from_what_fixes_it():
    assert length_of(MODELS["attention identity"][0], None) == 2
    assert length_of(Model(targets.expression("z1"), students.tied(), encodings.injected([1, 2, 3])), None) == 3
    assert argument(Model(targets.hermite(1), students.tied()), 4, None, 0.5).tolist() == [0.5]
