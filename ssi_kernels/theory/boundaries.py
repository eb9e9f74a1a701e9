"""The omegas at which the phase changes along one a, by root finding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ssi_kernels.model.losses import check_loss
from ssi_kernels.theory.arc_minima import critical_omega, turning_points
from ssi_kernels.theory.arc_table import arc_table
from ssi_kernels.theory.phase import DIRECTIONS, checked, curvatures, phase

_STEPS = 50
_ROUNDING = 1e-15


@dataclass(frozen=True)
class Boundaries:
    """Along one a: where the steepest direction turns, where the lowest minimum changes sides, where a positional
    minimum appears, and where the semantic one disappears; None where it does not."""

    dynamics: float | None
    global_: float | None
    positional_appears: float | None
    semantic_disappears: float | None

    def as_dict(self) -> dict[str, float | None]:
        """By the names of the interface."""
        return {
            "dynamics": self.dynamics,
            "global": self.global_,
            "positional_appears": self.positional_appears,
            "semantic_disappears": self.semantic_disappears,
        }


@lru_cache(maxsize=4096)
def boundaries(a: float, loss: str = "squared") -> Boundaries:
    """The four boundaries at one a >= 0, each converged to rounding; for `frobenius` by search (`searched_boundaries`).

    `dynamics` solves a linear equation. Minima appear and disappear only where omega equals omega_c(u) at an end of the
    arc or at one of its turning points, or change sides at u = 1/2: of these values those are taken at which the minima
    do change. `global` is the root of a difference of two risks between them. Raises ConfigError for a negative a.
    """
    _, a = checked(0.0, a)
    check_loss(loss)
    if loss != "squared":
        from ssi_kernels.theory.searched import searched_boundaries

        return searched_boundaries(a, loss)
    events = _events(a)
    middles = [(low + high) / 2 for low, high in zip([0.0, *events], [*events, 1.0], strict=True)]
    present = [_sides(omega, a) for omega in middles]
    return Boundaries(
        dynamics=_dynamics(a),
        global_=_global(a, events),
        positional_appears=_change(events, [positional for _, positional in present], True),
        semantic_disappears=_change(events[::-1], [semantic for semantic, _ in present][::-1], True),
    )


def _events(a: float) -> list[float]:
    """The omegas in (0, 1) at which the set of minima can change."""
    u = np.concatenate([[0.0, 0.5, 1.0], turning_points(a)])
    with np.errstate(divide="ignore", invalid="ignore"):
        omegas = critical_omega(u, a)
    return sorted({float(omega) for omega in omegas if 0 < omega < 1})


def _sides(omega: float, a: float) -> tuple[bool, bool]:
    found = {minimum.side for minimum in phase(omega, a).minima}
    return "semantic" in found, "positional" in found


def _change(events: list[float], present: list[bool], arrives: bool) -> float | None:
    """The first event after which something is there, if it was not there before; None if it always or never was."""
    for event, before, after in zip(events, present[:-1], present[1:], strict=True):
        if after == arrives and before != arrives:
            return event
    return None


def _dynamics(a: float) -> float | None:
    """Where R_mm(0) = R_ee(0), both linear in omega."""
    difference = [float(across - along) for across, along in (curvatures(omega, a) for omega in (0.0, 1.0))]
    if difference[0] * difference[1] >= 0:
        return None
    return difference[0] / (difference[0] - difference[1])


def _global(a: float, events: list[float]) -> float | None:
    """Where the lowest semantic and the lowest positional minimum are equally deep."""
    edges = [0.0, *events, 1.0]
    for low, high in pairwise(edges):
        if all(_sides((low + high) / 2, a)):
            found = _equally_deep((low + high) / 2, low, high, a)
            if found is not None:
                return found
    return _jump(a, events)


def _equally_deep(omega: float, low: float, high: float, a: float) -> float | None:
    """Newton's method for the difference of two minimal risks inside (low, high).

    For fixed minima the difference is linear in omega, and by the envelope theorem its slope is that of the minima.
    """
    for _ in range(_STEPS):
        lowest = [min(m.risk for m in phase(omega, a).minima if m.side == side) for side in DIRECTIONS]
        u = [next(m.e**2 for m in phase(omega, a).minima if m.risk == risk) for risk in lowest]
        at_0, at_1 = (float(np.subtract(*arc_table().risk(np.array(u), end, a))) for end in (0.0, 1.0))
        new = at_0 / (at_0 - at_1) if at_0 != at_1 else np.inf
        if not low < new < high:
            return None
        if abs(new - omega) <= _ROUNDING:
            return new
        omega = new
    return omega


def _jump(a: float, events: list[float]) -> float | None:
    """The event at which the only minimum changes sides, where there never are two."""
    edges = [0.0, *events, 1.0]
    lowest = [phase((low + high) / 2, a).minima[0].side for low, high in pairwise(edges)]
    for event, before, after in zip(events, lowest[:-1], lowest[1:], strict=True):
        if before != after:
            return event
    return None
