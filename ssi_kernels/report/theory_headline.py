"""The main results of an entry of `theory` in words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from ssi_kernels.reduce.landscapes import AT_0
from ssi_kernels.report.boundaries import STYLES
from ssi_kernels.report.choose import varied
from ssi_kernels.report.labels import coordinates_plain, number

MOST_MODELS = 12
_LEAST_PART = 0.95
"""Of a unit vector: a direction with this much of m or e is along it."""


def theory_headlines(kind: str, tables: Mapping[str, pd.DataFrame]) -> list[Markup]:
    """Sentences, HTML-safe."""
    if kind == "landscape":
        return _landscapes(tables["landscapes"])
    return [_regimes(tables["phase_regions"]), *_boundaries(tables["phase_boundaries"])]


def _regimes(regions: pd.DataFrame) -> Markup:
    found = regions[regions["points"] > 0].sort_values("points", ascending=False)
    parts = [f"{row['regime'].replace('-', ' ')} {100 * row['fraction']:.3g} %" for _, row in found.iterrows()]
    mixed = int(found["mixed"].sum())
    more = f" At {number(mixed)} points some minimum is mixed." if mixed else ""
    return escape(f"Of {number(int(regions['points'].sum()))} points of the plane: {', '.join(parts)}.{more}")


def _boundaries(boundaries: pd.DataFrame) -> list[Markup]:
    """At the largest a, and at the smallest."""
    rows = boundaries.sort_values("a", ascending=False)
    ends = [rows.iloc[0]] if len(rows) == 1 else [rows.iloc[0], rows.iloc[-1]]
    return [_boundary(row) for row in ends]


def _boundary(row: pd.Series) -> Markup:
    parts = [f"{words} at ω = {number(row[name])}" for name, (words, _) in STYLES.items() if np.isfinite(row[name])]
    return Markup("<b>{}</b>: {}.").format(coordinates_plain({"a": row["a"]}), ", ".join(parts) or "no boundary")


def _landscapes(table: pd.DataFrame) -> list[Markup]:
    if len(table) > MOST_MODELS:
        orders = ", ".join(number(order) for order in sorted(table["escape_order"].dropna().unique()))
        return [escape(f"{len(table)} models; R goes down first at orders {orders or 'none'} (table below).")]
    keys = varied(table, [column for column in table.columns if column not in (*AT_0, "sie")])
    keys += [axis for axis in varied(table, ["sie"]) if axis == table.columns[1]]
    return [_landscape(row, keys) for _, row in table.iterrows()]


def _landscape(row: pd.Series, keys: list[str]) -> Markup:
    where = Markup("<b>{}</b>: ").format(coordinates_plain(row[keys].to_dict())) if keys else Markup()
    sie = "no information exponent" if np.isnan(row["sie"]) else f"information exponent {number(row['sie'])}"
    if np.isnan(row["escape_order"]):
        return where + escape(f"{sie}; the risk goes down in no direction from 0.")
    return where + escape(f"{sie}; the risk goes down first at order {number(row['escape_order'])}, {_along(row)}.")


def _along(row: pd.Series) -> str:
    m, e = row["direction_m"], row["direction_e"]
    if np.isnan(e) or abs(m) > _LEAST_PART:
        return "along m (semantic)"
    return "along e (positional)" if abs(e) > _LEAST_PART else f"along (e, m) = ({number(e, 2)}, {number(m, 2)})"
