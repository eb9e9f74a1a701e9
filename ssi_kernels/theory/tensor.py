"""The leading Hermite tensor as a form: its operator norm, and whether it is orthogonally decomposable."""

from __future__ import annotations

import math

import numpy as np

from ssi_kernels.theory.escape import lowest
from ssi_kernels.theory.expansion import Index, dense_index
from ssi_kernels.theory.form import Form

_ODECO = 1e-9
CLEAR = 100.0
"""How many times its error a number must be to count as shown."""


def tensor_form(leading: dict[Index, float], order: int, length: int) -> Form:
    """C_k(v, .., v) = k! sum_alpha t_alpha v^alpha as a form, t_alpha the coefficients of x^alpha in E[g(z + x)]."""
    exponents = np.array([dense_index(alpha, length) for alpha in leading], dtype=int)
    return Form(exponents, math.factorial(order) * np.array(list(leading.values()), dtype=float), 0.0)


def operator_norm(form: Form, order: int) -> float:
    """The largest |C_k(v, .., v)| over unit vectors v.

    Beyond order 1 it is the largest over the blocks of fields that no term connects: |sum_b C_b(v_b)| is at most
    sum_b n_b |v_b|^k. To rounding for orders 1 and 2, and where every block has one term (diagonal tensors, z1 z2 z3);
    for other blocks of two fields it is found by a scan, and of more by many searches: a lower bound then.
    """
    if order == 1:
        return math.hypot(*form.coefficients.tolist())
    return max(_block_norm(block, order) for block in _blocks(form))


def _blocks(form: Form) -> list[Form]:
    """Parts that share no field, each a form of the fields it has."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    used = csr_array((form.exponents > 0).astype(float))
    count, labels = connected_components(used @ used.T, directed=False)
    parts = (labels == label for label in range(count))
    return [_of_used_fields(Form(form.exponents[part], form.coefficients[part], 0.0)) for part in parts]


def _of_used_fields(form: Form) -> Form:
    return Form(form.exponents[:, form.exponents.any(axis=0)], form.coefficients, 0.0)


def _block_norm(form: Form, order: int) -> float:
    if len(form.coefficients) == 1:
        (powers,) = form.exponents
        return float(abs(form.coefficients[0]) * np.prod((powers / order) ** (powers / 2)))
    if order == 2:
        return float(np.abs(np.linalg.eigvalsh(_as_matrix(form))).max())
    scale = np.abs(form.coefficients).max()
    signs = (1.0,) if order % 2 else (1.0, -1.0)
    scaled = [Form(form.exponents, sign * form.coefficients / scale, 0.0) for sign in signs]
    return float(scale * max(-lowest(part, order, np.eye(form.exponents.shape[1]))[1] for part in scaled))


def _as_matrix(form: Form) -> np.ndarray:
    """The symmetric matrix of a form of order 2."""
    matrix = np.zeros((form.exponents.shape[1],) * 2)
    for powers, value in zip(form.exponents, form.coefficients, strict=True):
        first, last = np.flatnonzero(powers)[[0, -1]]
        matrix[first, last] += value / 2
        matrix[last, first] += value / 2
    return matrix


def is_orthogonally_decomposable(form: Form, order: int, slack: float) -> bool | None:
    """Whether C_k = sum_r lambda_r u_r^(x k) with orthonormal u_r; None where a relative error `slack` leaves it open.

    For k >= 3 that is so if and only if the matrices C_k(v, .., v, ., .) commute for all v (Boralevi, Draisma, Horobet
    and Robeva 2017): they are then diagonal in one orthonormal basis, and C_k(v, .., v) has no mixed terms in it.
    Checked at random v, up to rounding, block by block.
    """
    if order <= 2:
        return True
    worst = max(_commutator(block) for block in _blocks(form))
    if worst > max(_ODECO, CLEAR * slack):
        return False
    return True if slack <= _ODECO else None


def _commutator(form: Form) -> float:
    """The largest relative entry of the commutators of the Hessians of a form at random points."""
    count = form.exponents.shape[1]
    if count == 1:
        return 0.0
    points = np.random.default_rng(0).normal(size=(4, count))
    scaled = Form(form.exponents, form.coefficients / np.abs(form.coefficients).max(), 0.0)
    slices = [h / np.abs(h).max() for h in map(scaled.hessian, points)]
    return max(float(np.abs(a @ b - b @ a).max() / np.abs(a @ a).max()) for a in slices for b in slices)
