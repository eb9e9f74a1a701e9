"""Gradient of the loss in the student's fields, from the model's pieces by automatic differentiation."""

from __future__ import annotations

import jax
from jax import numpy as jnp

from ssi_kernels.model.losses import value_and_cotangent


def loss_and_gradient(student, loss: str, fields, label):
    """Loss, shape (W,), and q = dL/dz, shape (K, W), at `fields` (K, W) and `label` (W,) or (L, L, W)."""
    output, pullback = jax.vjp(student.outputs, fields)
    value, cotangent = value_and_cotangent(loss, output - label, student.is_matrix)
    return value, pullback(cotangent)[0]


def normalised_sum(x, length: int):
    """sum_i x_i / sqrt(L) over the leading axis, kept: shape (L, W) to (1, W)."""
    return jnp.sum(x, axis=0, keepdims=True) * x.dtype.type(length**-0.5)
