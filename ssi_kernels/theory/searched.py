"""Minima and boundaries of targets whose risk has no closed dependence on omega: the loss `frobenius`, `mixed-logit`.

The closed quarter disc is scanned in polar coordinates, and every local minimum of the scan is refined; boundaries are
bisected on what is found. Seconds per point, and as exact as the landscape: quasi-Monte Carlo for `frobenius`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.theory.boundaries import Boundaries
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.landscape_base import Landscape
from ssi_kernels.theory.phase import DIRECTIONS, Minimum, Phase, checked

FAMILIES = {"positional-semantic": targets.positional_semantic, "mixed-logit": targets.mixed_logit}
_SMALLEST_A = 1e-6
_RADII, _ANGLES = 11, 21
_AXES = {True: 1e-4, False: 0.03}
"""Distance from an axis at which a minimum is put on it, where the landscape is exact and where it is not."""

_EXACT = 1e-9
_WIDTH = 2e-4


def searched_phase(omega: float, a: float, loss: str = "frobenius", family: str = "positional-semantic") -> Phase:
    """As `phase`, by search, with a word on the method. Raises ConfigError for unknown names and bad numbers."""
    omega, a = checked(omega, a)
    return _searched(omega, a, loss, family)


@lru_cache(maxsize=1024)
def _searched(omega: float, a: float, loss: str, family: str) -> Phase:
    surface = searched_landscape(omega, a, loss, family)
    along, across = _curvatures(surface)
    minima = tuple(sorted(disc_minima(surface), key=lambda minimum: minimum.risk))
    note = f"{surface.method}; risk within {surface.error:.0e}"
    return Phase(minima, DIRECTIONS[0 if across < along else 1], omega == 1.0 and family == "positional-semantic", note)


def searched_landscape(omega: float, a: float, loss: str, family: str) -> Landscape:
    if family not in FAMILIES:
        raise ConfigError("target", family, f"use {', '.join(FAMILIES)}")
    target = FAMILIES[family](omega, max(a, _SMALLEST_A))
    return landscape(Model(target, students.attention(), encodings.opposite_pair(), loss), 2)


def _curvatures(surface: Landscape) -> tuple[float, float]:
    hessian = surface.hessian(np.zeros(2))
    return float(hessian[0, 0]), float(hessian[1, 1])


def disc_minima(surface: Landscape) -> list[Minimum]:
    """All local minima of R on the closed quarter disc e, m >= 0, for a risk that is even in e and in m.

    A scan over radius and angle, symmetric beyond the axes; each of its minima is refined under the constraint.
    """
    radii, angles = np.linspace(0, 1, _RADII), np.linspace(0, np.pi / 2, _ANGLES)
    r, theta = np.meshgrid(radii, angles, indexing="ij")
    values = surface.risk(np.stack([r * np.cos(theta), r * np.sin(theta)], axis=-1))
    found: list[Minimum] = []
    for i, j in zip(*np.nonzero(_local(values)), strict=True):
        minimum = _refined(surface, radii[i], angles[j])
        if minimum and not any(np.hypot(minimum.e - x.e, minimum.m - x.m) < 1e-2 for x in found):
            found.append(minimum)
    return found


def _local(values: np.ndarray) -> np.ndarray:
    """Where a value is not above its neighbours; angles are mirrored at both ends, the centre is one point."""
    padded = np.pad(values, ((0, 0), (1, 1)), mode="reflect")
    padded = np.vstack([padded[1:2], padded, np.full((1, padded.shape[1]), np.inf)])
    around = [
        padded[1 + i : 1 + i + values.shape[0], 1 + j : 1 + j + values.shape[1]]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    found = (values <= np.min(around, axis=0)) & (np.arange(values.shape[0]) > 0)[:, None]
    return found


def _refined(surface: Landscape, radius: float, angle: float) -> Minimum | None:
    from scipy.optimize import minimize

    def polar(x):
        r, theta = x
        direction = np.array([np.cos(theta), np.sin(theta)])
        slope = surface.gradient(r * direction)
        turned = np.array([-direction[1], direction[0]])
        return float(surface.risk(r * direction)), np.array([slope @ direction, r * (slope @ turned)])

    found = minimize(
        polar,
        [radius, angle],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 1), (0, np.pi / 2)],
        options={"ftol": 1e-15, "gtol": 1e-9},
    )
    e, m = (float(found.x[0] * f(found.x[1])) for f in (np.cos, np.sin))
    near = _AXES[surface.error < _EXACT]
    e, m = (0.0, 1.0) if np.hypot(e, m - 1) < near else (1.0, 0.0) if np.hypot(e - 1, m) < near else (e, m)
    return Minimum(e, m, float(surface.risk(np.array([e, m])))) if np.hypot(e, m) > near else None


def searched_boundaries(a: float, loss: str = "frobenius", family: str = "positional-semantic") -> Boundaries:
    """As `boundaries`, each bisected to 2e-4 on what a search finds, from a scan of 21 omegas."""
    _, a = checked(0.0, a)
    omegas = [float(x) for x in np.linspace(0, 0.999, 21)]

    def at(omega: float) -> dict[str, bool]:
        found = searched_phase(omega, a, loss, family)
        kinds = [minimum.side for minimum in found.minima]
        return {
            "dynamics": found.steepest == "positional",
            "global": bool(kinds) and kinds[0] == "positional",
            "positional_appears": "positional" in kinds,
            "semantic_disappears": "semantic" not in kinds,
        }

    scanned = [at(omega) for omega in omegas]
    return Boundaries(
        *(_turn(lambda omega, key=key: at(omega)[key], omegas, [x[key] for x in scanned]) for key in scanned[0])
    )


def _turn(holds, omegas: list[float], scanned: list[bool]) -> float | None:
    """Where something that does not hold first begins to."""
    for low, high, before, after in zip(omegas[:-1], omegas[1:], scanned[:-1], scanned[1:], strict=True):
        if after and not before:
            while high - low > _WIDTH:
                middle = (low + high) / 2
                low, high = (low, middle) if holds(middle) else (middle, high)
            return (low + high) / 2
    return None


def searched_minima(omega: np.ndarray, a: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """For `phase_diagram`: e, m, risk of the minima, shape (a, omega, minimum, 3), and whether semantic is steepest."""
    phases = [[searched_phase(float(w), float(s), loss) for w in omega] for s in a]
    most = max(len(found.minima) for row in phases for found in row)
    table = np.full((a.size, omega.size, max(most, 1), 3), np.nan)
    for i, row in enumerate(phases):
        for j, found in enumerate(row):
            for k, minimum in enumerate(found.minima):
                table[i, j, k] = minimum.e, minimum.m, minimum.risk
    return table, np.array([[found.steepest == "semantic" for found in row] for row in phases])
