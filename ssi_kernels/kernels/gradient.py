"""Gradient of the loss in the student's fields, from the model's pieces."""

from __future__ import annotations

from jax import numpy as jnp

from ssi_kernels.kernels.shape import Shape
from ssi_kernels.model.losses import value_and_cotangent


def loss_and_gradient(shape: Shape, fields, target_fields, lane):
    """Loss, a number, and q = dL/dz (K,), for one sample.

    `fields` (K,) are the student's, `target_fields` (L,) the target's; `lane` has the target's parameters.
    """
    parameters = {name: lane[name] for name in shape.target.parameters()}
    label = shape.target.labeller(shape.length, shape.encoding, parameters)(target_fields)
    output, pullback = shape.student.pullback(fields)
    value, cotangent = value_and_cotangent(shape.loss, output - label, shape.student.is_matrix)
    return value, pullback(cotangent)


def normalised_sum(x, length: int):
    """sum_i x_i / sqrt(L) as an array of one, (1,)."""
    return (jnp.sum(x, axis=0) * x.dtype.type(length**-0.5))[None]
