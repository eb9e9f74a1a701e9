"""What theory says of every point of a sweep before it runs: can it be learned, and is its learning rate too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ssi_kernels.provenance import package_version
from ssi_kernels.reduce.prediction import SweepModels, attempted
from ssi_kernels.sweep.identity import digest
from ssi_kernels.sweep.remembered import remembered

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

VALUES = ("learning_rate", "verdict", "why", "remedy", "noise_bound", "noise_dominated", "reason")
_TEXT = ("verdict", "why", "remedy", "reason")


def theory_point_table(facts: pd.DataFrame, models: SweepModels) -> pd.DataFrame:
    """One row a point: the verdict of `learnability` with why and a remedy; the largest useful learning rate
    (`noise_bound`), and whether that of the point is above it.

    A verdict belongs to a model and a bound to a model at one dimension: each is computed once. Where there is none the
    `reason` says why.

    Args:
        facts: from `point_facts`.
    """
    found: dict[tuple, dict] = {}
    rows = []
    for fact in facts[[*models.axes, "learning_rate"]].to_dict("records"):
        coords = {axis: fact[axis] for axis in models.axes}
        rows.append({**fact, **_row(coords, models, found)})
    table = pd.DataFrame(rows, columns=list(dict.fromkeys([*models.axes, *VALUES])))
    table[list(_TEXT)] = table[list(_TEXT)].fillna("")
    above = table["learning_rate"].astype(float) > table["noise_bound"].astype(float)
    table["noise_dominated"] = np.where(table["noise_bound"].isna(), np.nan, above)
    return table


def _row(coords: dict, models: SweepModels, found: dict[tuple, dict]) -> dict:
    point, reason = attempted(lambda: models.model_at(coords))
    if point is None:
        return {"noise_bound": np.nan, "reason": reason}
    key = models.model_key(coords), point.d
    if key not in found:
        found[key] = told(point)
    return found[key]


_VERSION = 1
"""Raised whenever theory says something else."""


def told(point: Point) -> dict:
    """The verdict with `why` and `remedy`, the `noise_bound` (NaN where there is none), and a `reason` for lacks.

    Kept from one time to the next in the user's cache folder, unless something failed.
    """
    model, start = point.model.canonical(point.length), point.start.canonical()
    key = digest([_VERSION, package_version(), model, point.length, point.d, start, max(point.thresholds)])
    return remembered("verdicts", key, lambda: _told(point), lambda found: not found["reason"])


def _told(point: Point) -> dict:
    verdict, failure = attempted(lambda: _learnability(point))
    bound, other = attempted(lambda: _noise_bound(point))
    reasons = dict.fromkeys(filter(None, (failure, other)))
    bound = np.nan if bound is None else bound
    return {**(verdict or {}), "noise_bound": bound, "reason": "; ".join(reasons)}


def _learnability(point: Point) -> dict[str, str]:
    from ssi_kernels.theory.learnability import learnability

    found = learnability(point.model, point.length)
    return {"verdict": found.verdict, "why": found.reason, "remedy": found.remedy}


def _noise_bound(point: Point) -> float | None:
    """From the start to the largest threshold; None where the model does not learn."""
    from ssi_kernels.theory.bound import noise_bound

    return noise_bound(point.model, point.length, point.d, point.start, max(point.thresholds))
