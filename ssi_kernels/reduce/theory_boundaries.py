"""The boundaries of the phase diagram beside where runs end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.reduce.phase_theory import BOUNDARIES
from ssi_kernels.reduce.prediction import SweepModels, attempted

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

AXES = ("length", "target", "student", "encoding")
"""The grid axes on which it depends whether there are boundaries at all."""
_BETWEEN = 33


def theory_boundary_table(models: SweepModels) -> pd.DataFrame:
    """The four boundaries along omega at every a of the sweep, and, where it has several, at values between them.

    Only for the model of the phase diagram: positional-semantic, attention with reduction identity, opposite pair,
    L = 2, and the loss that is named. One row for each value of the axes of `AXES` that the sweep has, and of a.
    """
    axes = [axis for axis in AXES if axis in models.axes]
    rows = [row for point in _representatives(models, axes) for row in _rows(point, axes, models)]
    return pd.DataFrame(rows, columns=[*axes, "a", *BOUNDARIES, "loss", "reason"])


def has_phase_diagram(model: Model, length: int) -> bool:
    """Whether the model is that of the phase diagram (Arnaboldi et al. 2025, section 4), whatever omega, a and loss."""
    standard = Model(targets.positional_semantic(0, 1), students.attention(), encodings.opposite_pair(), model.loss)
    if length != 2 or model.target.family != standard.target.family:
        return False
    return replace(model, target=model.target.static()).canonical(2) == standard.canonical(2)


def _representatives(models: SweepModels, axes: list[str]) -> Iterator[Point]:
    """One point for each combination of the axes that has a phase diagram."""
    seen = set()
    for point in models.points.values():
        key = tuple(point.coords[axis] for axis in axes)
        if key not in seen and has_phase_diagram(point.model, point.length):
            seen.add(key)
            yield point


def _rows(point: Point, axes: list[str], models: SweepModels) -> Iterator[dict]:
    strengths = sorted({other.coords["a"] for other in models.points.values()})
    head = {axis: point.coords[axis] for axis in axes}
    for a in _refined(strengths, point.model.loss):
        found, reason = attempted(lambda a=a: _boundaries(a, point.model.loss))
        yield {**head, "a": a, **(found or {}), "loss": point.model.loss, "reason": reason}


def _refined(strengths: list[float], loss: str) -> list[float]:
    """The values of a, and values between them for a smooth curve; where each takes minutes, the largest only."""
    if loss != "squared":
        return strengths[-1:]
    between = np.linspace(strengths[0], strengths[-1], _BETWEEN) if len(strengths) > 1 else []
    return sorted({*strengths, *(float(f"{a:.12g}") for a in between)})


def _boundaries(a: float, loss: str) -> dict[str, float | None]:
    from ssi_kernels.theory.boundaries import boundaries

    if loss == "squared":
        return boundaries(a).as_dict()
    from ssi_kernels.theory.searched import searched_boundaries

    return searched_boundaries(a, loss).as_dict()
