"""What students that see only a sum of their fields need of a target: its Hermite series, and that of its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.expansion import Expansion, expand_target
from ssi_kernels.theory.product import DEGREES, ProductTarget, orders
from ssi_kernels.theory.rules import split

if TYPE_CHECKING:
    from ssi_kernels.model import Model

_NUMERICAL_LENGTH = 2
_SMALL = 1e-15


@dataclass(frozen=True)
class TargetSeries:
    """`y` and `square` are series of g and of g^2; `lost` is the part of E g^2 beyond the degree of `y`."""

    y: Expansion
    square: Expansion | None
    second_moment: float
    lost: float


def target_series(model: Model, length: int) -> TargetSeries | None:
    """The series of a scalar target: exact for polynomials, else by a product rule over at most two fields.

    None where there is neither.
    """
    expansion = expand_target(model.target, length)
    if expansion is not None:
        return TargetSeries(expansion, expansion.square(), expansion.second_moment, 0.0)
    if length > _NUMERICAL_LENGTH:
        return None
    reach, panels = (14.0, 40) if length == 1 else (14.0, 14)
    found = ProductTarget(model, length, split(reach, panels))
    return TargetSeries(
        _sparse(found.coefficients((0,)), length),
        _sparse(found.coefficients((0, 0)), length),
        found.second_moment,
        sum(found.tails),
    )


def _sparse(coefficients: np.ndarray, length: int) -> Expansion:
    """A dense array over alpha as an expansion."""
    inside = orders(coefficients.shape) <= DEGREES[length]
    kept = np.argwhere(inside & (np.abs(coefficients) > _SMALL * np.abs(coefficients).max()))
    terms = {tuple((i, int(k)) for i, k in enumerate(alpha) if k): float(coefficients[tuple(alpha)]) for alpha in kept}
    return Expansion(terms)
