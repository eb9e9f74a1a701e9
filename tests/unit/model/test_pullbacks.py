"""Gradients of students in their fields: those written out equal those of automatic differentiation."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from ssi_kernels import students
from ssi_kernels.model.softmax import attention_matrix, outer, softmax_rows

LENGTHS = (2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 8)))


def every_student(length):
    sides = {"a_left": np.arange(1.0, length + 1), "a_right": (-1.0) ** np.arange(length)}
    return [
        students.attention(),
        students.attention("trace"),
        students.attention("projection", **sides),
        students.linear_attention(),
        students.linear_attention("trace"),
        students.tied("tanh"),
    ]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_pullback_is_that_of_autodiff(length):
    rng = np.random.default_rng(length)
    with jax.enable_x64(True):
        for student in every_student(length):
            z = jnp.asarray(rng.standard_normal(1 if student.sees_sum else length))
            output, pullback = student.pullback(z)
            cotangent = jnp.asarray(rng.standard_normal(output.shape))
            expected, pull = jax.vjp(student.outputs, z)
            np.testing.assert_allclose(output, expected, rtol=1e-12)
            np.testing.assert_allclose(pullback(cotangent), pull(cotangent)[0], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_pullback_survives_large_fields(length):
    """Logits of up to 1600 in float32: finite, and zero where the scores are saturated."""
    z = jnp.asarray(np.linspace(-40, 40, length), jnp.float32)
    for student in every_student(length)[:3]:
        output, pullback = student.pullback(z)
        assert np.isfinite(output).all()
        q = pullback(jnp.ones_like(output))
        assert np.isfinite(q).all()
        expected, pull = jax.vjp(student.outputs, z)
        np.testing.assert_allclose(output, expected, rtol=1e-6)
        np.testing.assert_allclose(q, pull(jnp.ones_like(output))[0], atol=1e-3)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_pullback_is_that_of_finite_differences(length):
    rng, step = np.random.default_rng(length), 1e-6
    with jax.enable_x64(True):
        for student in every_student(length)[:3]:
            z = rng.standard_normal(length)
            output, pullback = student.pullback(jnp.asarray(z))
            cotangent = rng.standard_normal(output.shape)
            differences = [
                np.sum(cotangent * (student.outputs(jnp.asarray(z + e)) - student.outputs(jnp.asarray(z - e))))
                / 2
                / step
                for e in step * np.eye(length)
            ]
            np.testing.assert_allclose(pullback(jnp.asarray(cotangent)), differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_the_largest_logit_of_a_row_is_found_from_the_extreme_fields(length, scale):
    z = scale * np.random.default_rng(length).uniform(-1, 1, (length, 50)).astype(np.float32)
    ours = np.asarray(attention_matrix(z))
    assert np.isfinite(ours).all()
    np.testing.assert_allclose(ours, softmax_rows(outer(z)), rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(ours.sum(axis=1), 1, rtol=1e-6)
