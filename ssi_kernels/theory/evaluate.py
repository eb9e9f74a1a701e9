"""Students and targets as arrays of numbers at given fields, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.model.encodings import Encoding
    from ssi_kernels.model.students import Student
    from ssi_kernels.model.targets import Target


def student_values(student: Student, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f, shape (q, n), and df/dz, shape (K, q, n), at `fields` of shape (K, n).

    The q outputs of a matrix are its entries in an orthonormal basis (`in_basis`), so that norms are kept.
    """
    import jax

    with jax.enable_x64(True):
        slopes = []
        for k in range(fields.shape[0]):
            tangent = np.zeros_like(fields)
            tangent[k] = 1.0
            value, slope = jax.jvp(student.outputs, (fields,), (tangent,))
            slopes.append(in_basis(np.asarray(slope)))
    return in_basis(np.asarray(value)), np.array(slopes)


def target_values(target: Target, length: int, encoding: Encoding, fields: np.ndarray) -> np.ndarray:
    """y, shape (q, n), at `fields` of shape (L, n), in the basis of `student_values`."""
    import jax

    with jax.enable_x64(True):
        parameters = {key: np.full(fields.shape[1:], value) for key, value in target.parameters().items()}
        return in_basis(np.asarray(target.labeller(length, encoding, parameters)(fields)))


def in_basis(values: np.ndarray) -> np.ndarray:
    """Outputs of shape (n,) or (L, L, n) as (q, n): columns in an orthonormal basis whose last is (1,..,1) / sqrt(L).

    The row sums of a softmax are then a constant of their own, which no series needs to hold.
    """
    if values.ndim == 1:
        return values[None]
    length = values.shape[0]
    basis = np.linalg.qr(np.column_stack([np.ones(length), np.eye(length)[:, : length - 1]]))[0]
    rotated = np.einsum("ijn,jk->ikn", values, np.roll(basis, -1, axis=1))
    return rotated.reshape(length * length, -1)


def shifts(model: Model, length: int, e: np.ndarray) -> np.ndarray:
    """The means B e + c of the local fields, shape (L,), at e of shape (r,)."""
    return model.encoding.matrix(length) @ np.asarray(e, dtype=float) + model.encoding.shift(length)


def largest_shift(model: Model, length: int) -> float:
    """A bound on |(B e + c)_i| over the unit ball."""
    return float((np.linalg.norm(model.encoding.matrix(length), axis=1) + np.abs(model.encoding.shift(length))).max())
