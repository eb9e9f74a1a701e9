"""What theory warns of, at the top of a page: models that never learn, and learning rates that are too large."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup, escape

from ssi_kernels.report.choose import varied
from ssi_kernels.report.labels import coordinates_plain, number

WARNING_VERDICTS = ("blind", "shrinks")
_FEW = 4


def theory_warnings(points: pd.DataFrame, axes: Sequence[str]) -> list[Markup]:
    """Sentences, HTML-safe: one for every verdict and its reason, then one for the rates above the noise bound.

    Args:
        points: from `theory_point_table`.
        axes: the grid axes.
    """
    warned = points[points["verdict"].isin(WARNING_VERDICTS)]
    groups = warned.groupby(["verdict", "why", "remedy"], sort=False)
    told = [_verdict(points, rows, axes, *key) for key, rows in groups]
    above = points[points["noise_dominated"] == 1]
    return [*told, _noise(points, above, axes)] if len(above) else told


def _verdict(
    points: pd.DataFrame, rows: pd.DataFrame, axes: Sequence[str], verdict: str, why: str, remedy: str
) -> Markup:
    word = {"blind": "blind", "shrinks": "shrinking"}[verdict]
    cure = f" What would help: {remedy}." if remedy else ""
    return _which(points, rows, axes) + escape(f"{word}: {why}. No horizon is long enough.{cure}")


def _noise(points: pd.DataFrame, rows: pd.DataFrame, axes: Sequence[str]) -> Markup:
    ratio = (rows["learning_rate"] / rows["noise_bound"]).max()
    return _which(points, rows, axes) + escape(
        f"noise-dominated: the learning rate is up to {number(float(ratio), 2)} times the largest useful one, "
        "above which noise outweighs the drift; exponents measured there are not those of theory."
    )


def _which(points: pd.DataFrame, rows: pd.DataFrame, axes: Sequence[str]) -> Markup:
    """How many points, and where along the axes on which it depends."""
    count = f"{number(len(rows))} of {number(len(points))} points"
    where = [_values(axis, rows) for axis in varied(points, axes) if rows[axis].nunique() < points[axis].nunique()]
    return Markup("<b>{}</b>: ").format(f"{count} ({'; '.join(where)})" if where else count)


def _values(axis: str, rows: pd.DataFrame) -> str:
    values = sorted(rows[axis].unique())
    if len(values) <= _FEW or isinstance(values[0], str):
        first, *others = (coordinates_plain({axis: value}) for value in values[:_FEW])
        rest = [text.partition(" = ")[2] or text for text in others]
        return ", ".join([first, *rest, *(["..."] if len(values) > _FEW else [])])
    return f"{coordinates_plain({axis: values[0]})} to {number(values[-1])}"
