"""What students that see only a sum of their fields need of a target: its Hermite series, and that of its square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels import expressions
from ssi_kernels.model.targets import Expression, Target
from ssi_kernels.theory.expansion import Expansion, expand_target
from ssi_kernels.theory.linear_forms import NotPolynomial
from ssi_kernels.theory.product import ProductTarget
from ssi_kernels.theory.rules import split
from ssi_kernels.theory.structured import Structured

if TYPE_CHECKING:
    from ssi_kernels.model import Model

_NUMERICAL_LENGTH = 2
_SMALL = 1e-15


@dataclass(frozen=True)
class TargetSeries:
    """`y` and `square` are series of g and of g^2; `lost` is the part of E g^2 beyond the degree of `y`."""

    y: Expansion | Structured
    square: Expansion | Structured
    second_moment: float
    lost: float


def target_series(model: Model, length: int) -> TargetSeries | None:
    """The series of a scalar target: exact for polynomials, else by a product rule over at most two fields.

    None where there is neither.
    """
    expansion = expand_target(model.target, length)
    if expansion is not None and (square := expansion.square()) is not None:
        return TargetSeries(expansion, square, expansion.second_moment, 0.0)
    structured = _structured(model.target, length)
    if structured is not None:
        return structured
    if length > _NUMERICAL_LENGTH:
        return None
    reach, panels = (14.0, 40) if length == 1 else (14.0, 14)
    found = ProductTarget(model, length, split(reach, panels))
    return TargetSeries(
        _sparse(found.coefficients((0,))),
        _sparse(found.coefficients((0, 0))),
        found.second_moment,
        sum(found.tails),
    )


def _structured(target: Target, length: int) -> TargetSeries | None:
    """The series along a line of a polynomial with too many terms."""
    if not isinstance(target, Expression):
        return None
    y = Structured(expressions.to_sympy(target.text, length))
    try:
        second_moment = float(y.square().along(np.zeros(length))[0])
        y.along(np.zeros(length))
    except NotPolynomial:
        return None
    return TargetSeries(y, y.square(), second_moment, 0.0)


def _sparse(coefficients: np.ndarray) -> Expansion:
    """A dense array over alpha as an expansion."""
    kept = np.argwhere(np.abs(coefficients) > _SMALL * np.abs(coefficients).max())
    terms = {tuple((i, int(k)) for i, k in enumerate(alpha) if k): float(coefficients[tuple(alpha)]) for alpha in kept}
    return Expansion(terms)
