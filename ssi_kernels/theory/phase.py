"""Minima and regime of the positional-semantic target at one (omega, a) (Arnaboldi et al. 2025, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.losses import check_loss
from ssi_kernels.model.numbers import finite
from ssi_kernels.theory.arc_minima import AXIS, arc_minima
from ssi_kernels.theory.arc_table import arc_table

REGIMES = (
    "unique-semantic",
    "unique-semantic-misaligned",
    "global-semantic",
    "global-semantic-positional-dynamics",
    "global-positional",
    "unique-positional",
    "unique-positional-misaligned",
    "global-positional-semantic-dynamics",
)
KINDS = ("semantic", "positional", "mixed")
DIRECTIONS = ("semantic", "positional")


@dataclass(frozen=True)
class Minimum:
    """A local minimum of R on the closed quarter disc."""

    e: float
    m: float
    risk: float

    @property
    def kind(self) -> str:
        """`semantic` at (0, 1), `positional` at (1, 0), else `mixed`."""
        if np.hypot(self.e, self.m - 1) < AXIS:
            return "semantic"
        return "positional" if np.hypot(self.e - 1, self.m) < AXIS else "mixed"

    @property
    def side(self) -> str:
        """What it counts as in a regime: the larger of its overlaps."""
        return "semantic" if self.m >= self.e else "positional"


@dataclass(frozen=True)
class Phase:
    """The landscape at one point: `minima` from the lowest, `steepest` the direction in which it falls fastest from 0.

    `degenerate`: at omega = 1 the risk does not depend on m; the minima are the limits from below.
    """

    minima: tuple[Minimum, ...]
    steepest: str
    degenerate: bool
    note: str = ""

    @property
    def regime(self) -> str:
        """One of REGIMES."""
        return REGIMES[regime_code(*sides(self.minima), self.steepest == "semantic")]


def sides(minima: tuple[Minimum, ...]) -> tuple[bool, bool, bool]:
    """Whether there is a semantic minimum, a positional one, and whether the lowest is semantic."""
    kinds = [minimum.side for minimum in minima]
    return "semantic" in kinds, "positional" in kinds, bool(kinds) and kinds[0] == "semantic"


def regime_code(semantic, positional, lowest_semantic, steepest_semantic):
    """The place in REGIMES, of booleans or arrays of them."""
    unique_semantic = np.where(steepest_semantic, 0, 1)
    unique_positional = np.where(steepest_semantic, 6, 5)
    both = np.where(lowest_semantic, np.where(steepest_semantic, 2, 3), np.where(steepest_semantic, 7, 4))
    return np.where(semantic & positional, both, np.where(positional, unique_positional, unique_semantic))[()]


def steepest_semantic(omega, a) -> np.ndarray:
    """Whether R_mm(0) < R_ee(0): the Hessian at the origin is diagonal, and its lowest eigenvalue is semantic."""
    across, along = curvatures(omega, a)
    return across < along


def curvatures(omega, a) -> tuple[np.ndarray, np.ndarray]:
    """R_mm and R_ee at the origin."""
    table = arc_table()
    f, t, g = table.curvatures
    omega, kappa = np.asarray(omega, dtype=float), np.tanh(np.square(np.asarray(a, dtype=float)))
    return -2 * (1 - omega) * table.curvature_m, f - 2 * (1 - omega) * t - 2 * omega * kappa * g


def checked(omega: object, a: object) -> tuple[float, float]:
    """omega in [0, 1] and a >= 0. Raises ConfigError."""
    omega, a = finite("omega", omega), finite("a", a)
    if not 0 <= omega <= 1:
        raise ConfigError("omega", omega, "must lie in [0, 1]")
    if a < 0:
        raise ConfigError("a", a, "must not be negative")
    return omega, a


@lru_cache(maxsize=4096)
def phase(omega: float, a: float, loss: str = "squared", target: str = "positional-semantic") -> Phase:
    """All local minima of R for attention with identity reduction, opposite pair, L = 2.

    `loss` may be `frobenius` and `target` may be `mixed-logit`: these are found by search (`searched_phase`), in
    seconds. Raises ConfigError for omega outside [0, 1], a negative a, or unknown names.
    """
    omega, a = checked(omega, a)
    check_loss(loss)
    if (loss, target) != ("squared", "positional-semantic"):
        from ssi_kernels.theory.searched import searched_phase

        return searched_phase(omega, a, loss, target)
    found = arc_minima(np.array([omega]), np.array([a]))
    risks = arc_table().risk(found.u, omega, a)
    order = np.lexsort((found.u, np.round(risks, 14)))
    pairs = zip(found.u[order], risks[order], strict=True)
    minima = tuple(Minimum(float(np.sqrt(u)), float(np.sqrt(1 - u)), float(r)) for u, r in pairs)
    steepest = DIRECTIONS[0 if steepest_semantic(omega, a) else 1]
    return Phase(minima, steepest, omega == 1.0)
