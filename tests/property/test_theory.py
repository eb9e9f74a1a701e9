"""E[y f] at no overlap and at full overlap, and what the risk can never do, for random models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.theory.landscape import landscape
from tests.unit.theory.quadrature import density, labels, outputs, panels

numbers = st.integers(-3, 3)
shifts = st.lists(st.sampled_from([-0.6, -0.2, 0.0, 0.3, 0.7]), min_size=2, max_size=2)


@st.composite
def polynomials(draw) -> str:
    """A target of two fields with small integer coefficients."""
    terms = ("z1", "z2", "z1*z2", "He2(z1)", "He3(z2)", "He2(z1)*z2")
    parts = [f"{draw(numbers)}*{term}" for term in terms]
    return f"{draw(numbers)} + {' + '.join(parts)}"


sums = st.builds(students.tied, st.sampled_from(["relu", "tanh", "sigmoid", "square", "h3", "identity"]))
fields = st.sampled_from(
    [students.attention("trace"), students.attention("projection", [1, 2], [1, -1]), students.linear_attention("trace")]
)


@st.composite
def models(draw) -> Model:
    encoding = encodings.opposite_pair() + encodings.injected(draw(shifts))
    return Model(targets.expression(draw(polynomials())), draw(st.one_of(sums, fields)), encoding)


def cross_moment(model: Model, e: float, m: float) -> float:
    """E[y f] = (E y^2 + E f^2 - R) / 2, with both squares by quadrature."""
    x, w = panels()
    z = np.stack(np.meshgrid(x, x, indexing="ij")).reshape(2, -1)
    weights = np.outer(w * density(x, 0, 1), w * density(x, 0, 1)).ravel()
    y, f = labels(model, 2, z), _outputs(model, e, z)
    return (weights @ (y * y) + _own(model, e, weights, f) - float(landscape(model, 2).risk([e, m]))) / 2


def _outputs(model: Model, e: float, z: np.ndarray) -> np.ndarray:
    shifted = z + (model.encoding.matrix(2) @ [e] + model.encoding.shift(2))[:, None]
    return outputs(model, shifted.sum(axis=0, keepdims=True) / math.sqrt(2) if model.student.sees_sum else shifted)


def _own(model: Model, e: float, weights: np.ndarray, f: np.ndarray) -> float:
    """E f^2; the panels of a sum of fields do not end at its kink, so that is done in one dimension."""
    if not model.student.sees_sum:
        return float(weights @ (f * f))
    u, du = panels(14.0, 56, 12)
    shift = float((model.encoding.matrix(2) @ [e] + model.encoding.shift(2)).sum() / math.sqrt(2))
    return float(density(u, shift, 1) @ (du * outputs(model, u[None]) ** 2))


@settings(max_examples=30, deadline=None)
@given(models(), st.sampled_from([-0.8, 0.0, 0.5]))
def test_the_cross_moment_without_overlap_is_a_product_of_means(model, e):
    x, w = panels()
    z = np.stack(np.meshgrid(x, x, indexing="ij")).reshape(2, -1)
    weights = np.outer(w * density(x, 0, 1), w * density(x, 0, 1)).ravel()
    y = weights @ labels(model, 2, z)
    if model.student.sees_sum:
        u, du = panels(14.0, 56, 12)
        shift = float((model.encoding.matrix(2) @ [e] + model.encoding.shift(2)).sum() / math.sqrt(2))
        f = density(u, shift, 1) @ (du * outputs(model, u[None]))
    else:
        f = weights @ _outputs(model, e, z)
    assert cross_moment(model, e, 0.0) == pytest.approx(y * f, rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(models())
def test_the_cross_moment_at_full_overlap_is_one_expectation(model):
    """At m = 1 student and target have the same fields (e = 0); one axis of a sum's fields ends a panel at the kink."""
    x, w = panels(10.0, 40, 12)
    kink = -float(model.encoding.shift(2).sum() / math.sqrt(2)) if model.student.sees_sum else 0.0
    grid = np.stack(np.meshgrid(x + kink, x, indexing="ij")).reshape(2, -1)
    weights = np.outer(w * density(x + kink, 0, 1), w * density(x, 0, 1)).ravel()
    z = np.stack([grid[0] + grid[1], grid[0] - grid[1]]) / math.sqrt(2) if model.student.sees_sum else grid
    expected = weights @ (labels(model, 2, z) * _outputs(model, 0.0, z))
    assert cross_moment(model, 0.0, 1.0) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(models(), st.floats(0, 2 * math.pi), st.floats(0.05, 0.95))
def test_averages_of_squares_are_not_negative(model, angle, radius):
    """Neither the risk nor the noise E|q|^2 is negative, at any overlaps."""
    surface = landscape(model, 2)
    x = radius * np.array([math.cos(angle), math.sin(angle)])
    assert surface.risk(x) >= -1e-9 * (1 + abs(float(surface.risk(np.zeros(2)))))
    assert surface.noise(x) >= -1e-8 * (1 + abs(float(surface.noise(np.zeros(2)))))
