"""The phase diagram of the positional-semantic target as a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.theory.arc_minima import AXIS, arc_minima
from ssi_kernels.theory.arc_table import arc_table
from ssi_kernels.theory.boundaries import Boundaries, boundaries
from ssi_kernels.theory.phase import DIRECTIONS, KINDS, REGIMES, checked, regime_code, steepest_semantic

if TYPE_CHECKING:
    import xarray as xr

BOUNDARIES = ("dynamics", "global", "positional_appears", "semantic_disappears")


def phase_diagram(omega, a, loss: str = "squared") -> xr.Dataset:
    """Minima, regime and steepest direction on a grid, and the boundaries between the regimes along omega.

    Attention with identity reduction, opposite pair, L = 2 (Arnaboldi et al. 2025, section 4 and figure 4).

    Args:
        omega, a: one-dimensional, omega in [0, 1] and a >= 0.
        loss: `squared`; `frobenius` takes seconds per point (see `frobenius`).

    Returns dimensions a, omega, minimum (from the lowest): `e`, `m`, `risk`, NaN where there are fewer minima, `kind`;
    `regime`, `steepest`, `degenerate` by (a, omega); and by a `boundary_dynamics`, `boundary_global`,
    `boundary_positional_appears`, `boundary_semantic_disappears`, NaN where there is none. Codes carry `flag_values`
    and `flag_meanings`. Raises ConfigError for numbers out of range.
    """
    omega, a = _axis("omega", omega), _axis("a", a)
    if loss == "squared":
        table, steepest = _squared_minima(omega, a)
        lines = [boundaries(float(value)) for value in a]
    else:
        from ssi_kernels.theory.searched import searched_boundaries, searched_minima

        table, steepest = searched_minima(omega, a, loss)
        lines = [searched_boundaries(float(value), loss) for value in a]
    return _dataset(omega, a, table, steepest, lines, loss)


def _axis(key: str, values) -> np.ndarray:
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if values.ndim != 1 or not values.size:
        raise ConfigError(key, values.tolist(), "must be a number or a list of numbers")
    for value in values:
        checked(*((value, 1.0) if key == "omega" else (0.5, value)))
    return values


def _squared_minima(omega: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e, m and risk of the minima of every point from the lowest, shape (a, omega, minimum, 3); the steepest."""
    strengths, weights = (grid.ravel() for grid in np.meshgrid(a, omega, indexing="ij"))
    found = arc_minima(weights, strengths)
    risks = arc_table().risk(found.u, weights[found.point], strengths[found.point])
    order = np.lexsort((found.u, np.round(risks, 14), found.point))
    point, u, risks = found.point[order], found.u[order], risks[order]
    first = np.searchsorted(point, point)
    place = np.arange(point.size) - first
    table = np.full((weights.size, place.max() + 1, 3), np.nan)
    table[point, place] = np.column_stack([np.sqrt(u), np.sqrt(1 - u), risks])
    steepest = steepest_semantic(weights, strengths)
    return table.reshape(a.size, omega.size, -1, 3), steepest.reshape(a.size, omega.size)


def _dataset(omega, a, table, steepest, lines: list[Boundaries], loss: str) -> xr.Dataset:
    import xarray as xr

    e, m, risk = np.moveaxis(table, -1, 0)
    there, semantic = np.isfinite(e), m >= e
    regime = regime_code((there & semantic).any(-1), (there & ~semantic).any(-1), semantic[..., 0], steepest)
    grid, all_minima = ("a", "omega"), ("a", "omega", "minimum")
    limits = np.array([[np.nan if v is None else v for v in line.as_dict().values()] for line in lines])
    degenerate = np.broadcast_to(omega == 1.0, steepest.shape)
    return xr.Dataset(
        {
            "regime": (grid, regime.astype(np.int8), _flags("regime of the risk landscape", REGIMES)),
            "steepest": (grid, np.where(steepest, 0, 1).astype(np.int8), _flags("steepest direction at 0", DIRECTIONS)),
            "degenerate": (grid, degenerate, _words("minima are limits from below in omega")),
            "e": (all_minima, e, _words("positional overlap of a local minimum")),
            "m": (all_minima, m, _words("semantic overlap of a local minimum")),
            "risk": (all_minima, risk, _words("population risk of a local minimum")),
            "kind": (all_minima, _kinds(e, m), _flags("kind of a local minimum", ("none", *KINDS))),
            **{
                f"boundary_{name}": (("a",), limits[:, k], _words(f"omega of the boundary {name}"))
                for k, name in enumerate(BOUNDARIES)
            },
        },
        coords={
            "a": ("a", a, _words("strength of the positional part")),
            "omega": ("omega", omega, _words("weight of the positional part")),
            "minimum": ("minimum", np.arange(table.shape[2]), _words("local minima from the lowest")),
        },
        attrs={"loss": loss, "model": "positional-semantic target, attention, identity, opposite pair, L = 2"},
    )


def _kinds(e: np.ndarray, m: np.ndarray) -> np.ndarray:
    """0 where there is no minimum, else 1 + its place in KINDS."""
    semantic, positional = np.hypot(e, m - 1) < AXIS, np.hypot(e - 1, m) < AXIS
    return np.where(np.isnan(e), 0, np.where(semantic, 1, np.where(positional, 2, 3))).astype(np.int8)


def _words(long_name: str) -> dict:
    return {"long_name": long_name, "units": "1"}


def _flags(long_name: str, meanings: tuple[str, ...]) -> dict:
    return {**_words(long_name), "flag_values": list(range(len(meanings))), "flag_meanings": " ".join(meanings)}
