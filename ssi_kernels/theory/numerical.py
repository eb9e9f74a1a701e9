"""Leading Hermite tensors of targets that are no polynomials: by product rules, or by quasi-Monte Carlo.

A coefficient counts as 0 when it is below a tolerance: ten times the change on a finer rule, or eight standard errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.hermite import normalised
from ssi_kernels.theory.evaluate import target_values
from ssi_kernels.theory.rules import Rule, split

if TYPE_CHECKING:
    from ssi_kernels.model.encodings import Encoding
    from ssi_kernels.model.targets import Target

MOST_ORDER = 8
_MOST_FIELDS = 3
_LEAST = 1e-10
_MOST_TERMS = 3000
_SCRAMBLINGS = 8
_LOG2_POINTS = 14
_PANELS = {1: (40, 80), 2: (10, 16), 3: (5, 7)}
_REACH = 12.0
_ORDER = 12


@dataclass(frozen=True)
class Leading:
    """The first order with a coefficient above the tolerance (None where there is none), and its coefficients."""

    order: int | None
    coefficients: dict
    tolerance: float
    note: str


def leading(target: Target, length: int, encoding: Encoding) -> Leading:
    """The leading coefficients g_alpha = E[g h_alpha] of any target, up to order MOST_ORDER."""
    if length <= _MOST_FIELDS:
        return _by_rules(target, length, encoding)
    return _by_sampling(target, length, encoding)


def _by_rules(target: Target, length: int, encoding: Encoding) -> Leading:
    coarse, fine = (_coefficients(target, length, encoding, split(_REACH, n, _ORDER)) for n in _PANELS[length])
    scale = max(float(np.abs(next(iter(fine.values()))).max()), *(float(np.abs(v).max()) for v in fine.values()))
    change = max(float(np.abs(fine[alpha] - coarse[alpha]).max()) for alpha in fine)
    tolerance = max(_LEAST * scale, 10 * change)
    words = f"numerical: product rule, tolerance {tolerance:.1e}"
    return _first(fine, dict.fromkeys(fine, tolerance), MOST_ORDER, words)


def _coefficients(target: Target, length: int, encoding: Encoding, rule: Rule) -> dict:
    """E[g h_alpha] by alpha, |alpha| <= MOST_ORDER, each of shape (outputs,)."""
    fields = np.stack(np.meshgrid(*[rule.nodes] * length, indexing="ij")).reshape(length, -1)
    values = target_values(target, length, encoding, fields)
    table = values.reshape((values.shape[0],) + (rule.nodes.size,) * length)
    weights = rule.weights(MOST_ORDER)
    for _ in range(length):
        table = np.tensordot(table, weights, axes=(1, 1))
    alphas = [a for a in np.ndindex(*(MOST_ORDER + 1,) * length) if sum(a) <= MOST_ORDER]
    return {alpha: table[(slice(None), *alpha)] for alpha in alphas}


def _by_sampling(target: Target, length: int, encoding: Encoding) -> Leading:
    """Estimates with errors from independent scramblings of Sobol points, as many orders as have few enough terms."""
    z = _points(length)
    values = target_values(target, length, encoding, z.reshape(length, -1)).reshape(-1, _SCRAMBLINGS, z.shape[-1])
    powers = np.stack([normalised(k, z) for k in range(MOST_ORDER + 1)])
    found, tolerances, most = {}, {}, 0
    for order in range(1, MOST_ORDER + 1):
        if math.comb(length + order - 1, order) > _MOST_TERMS:
            break
        most = order
        for places in combinations_with_replacement(range(length), order):
            alpha = tuple(np.bincount(places, minlength=length).tolist())
            h = np.prod([powers[k, i] for i, k in enumerate(alpha) if k], axis=0)
            means = (values * h).mean(axis=-1)
            found[alpha] = means.mean(axis=-1)
            errors = means.std(axis=-1, ddof=1) / math.sqrt(_SCRAMBLINGS)
            tolerances[alpha] = 8 * float(errors.max()) + 1e-12
        here = {a: v for a, v in found.items() if sum(a) == order}
        if any(np.abs(v).max() > tolerances[a] for a, v in here.items()):
            break
    words = f"numerical: quasi-Monte Carlo, eight standard errors (at most {max(tolerances.values()):.1e})"
    return _first(found, tolerances, most, words)


def _points(length: int) -> np.ndarray:
    """Standard normals, shape (L, scramblings, n)."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    parts = [
        ndtri(np.clip(qmc.Sobol(length, rng=np.random.default_rng(s)).random_base2(_LOG2_POINTS), 1e-10, 1 - 1e-10)).T
        for s in range(_SCRAMBLINGS)
    ]
    return np.stack(parts, axis=1)


def _first(found: dict, tolerances: dict, most: int, words: str) -> Leading:
    for order in range(1, most + 1):
        here = {a: v for a, v in found.items() if sum(a) == order and np.abs(v).max() > tolerances[a]}
        if here:
            single = all(v.size == 1 for v in here.values())
            tolerance = max(tolerances[a] for a in here)
            kept = {a: float(v[0]) if single else tuple(map(float, v)) for a, v in here.items()}
            return Leading(order, kept, tolerance, words)
    tolerance = max(tolerances.values())
    return Leading(None, {}, tolerance, f"{words}: no order up to {most} is above it")
