"""Figure: the gain against the sequence length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssi_kernels.report.choose import representative, varied
from ssi_kernels.report.labels import coordinates_math, with_interval
from ssi_kernels.report.style import legend_above, log_axis, note, numeric_axis, panels
from ssi_kernels.report.times import MOST_SERIES, look, thresholds


def draw_gain(gain: pd.DataFrame, fits: pd.DataFrame, axes: Sequence[str]) -> Figure:
    """Gain against L with its fits and a line proportional to L, one panel a threshold, one line a series."""
    levels = thresholds(gain) or [None]
    figure, grid = panels(len(levels), 2, 3.8, sharey=True)
    keys = varied(gain, [axis for axis in axes if axis not in ("student", "length")]) + varied(
        gain, ["student", "untied"]
    )
    shown = representative(gain, keys, MOST_SERIES)
    for panel, level in zip(grid, levels, strict=True):
        rows = shown[shown["threshold"] == level]
        if not (rows["gain_low"].notna() | rows["gain"].notna()).any():
            note(panel, "no gain is defined")
            continue
        for index, (coords, line) in enumerate(_series(rows, keys)):
            _draw_series(panel, line, _fit_of(fits, level, coords), index, coords)
        _finish(panel, rows)
        if len(levels) > 1:
            panel.set_title(coordinates_math({"threshold": level}))
    grid[0].set_ylabel("gain: steps untied / tied")
    legend_above(figure, grid[0])
    return figure


def _series(rows: pd.DataFrame, keys: list[str]) -> list[tuple[dict, pd.DataFrame]]:
    if not keys:
        return [({}, rows)]
    return [(dict(zip(keys, values, strict=True)), group) for values, group in rows.groupby(keys, sort=True)]


def _fit_of(fits: pd.DataFrame, level: object, coords: dict) -> pd.Series:
    here = fits[fits["threshold"] == level]
    return here.loc[(here[list(coords)] == pd.Series(coords)).all(axis=1)].iloc[0]


def _draw_series(axes: Axes, rows: pd.DataFrame, fit: pd.Series, index: int, coords: dict) -> None:
    """Points with intervals; an arrow from a bound where only one side is known; the fitted power."""
    colour, marker = look(index)
    style = {"color": colour, "marker": marker, "linestyle": "none", "capsize": 2.5, "elinewidth": 1.2}
    known = rows[rows["gain"].notna()]
    errors = np.vstack([known["gain"] - known["gain_low"], known["gain_high"] - known["gain"]])
    axes.errorbar(known["length"], known["gain"], np.nan_to_num(errors), label=_label(coords, fit), **style)
    for bound, upper in (("gain_high", True), ("gain_low", False)):
        one_sided = rows[rows["gain"].isna() & np.isfinite(rows[bound]) & (rows[bound] > 0)]
        reach = one_sided[bound] * (0.4 if upper else 0.6)
        limits = {"uplims": upper, "lolims": not upper}
        axes.errorbar(one_sided["length"], one_sided[bound], reach, markerfacecolor="none", **limits, **style)
    if np.isfinite(fit["exponent"]):
        along = np.geomspace(rows["length"].min(), rows["length"].max(), 40)
        axes.plot(along, fit["pivot_gain"] * (along / fit["pivot_length"]) ** fit["exponent"], color=colour, lw=1.2)
    predicted = rows[rows["predicted_gain"].notna()].sort_values("length")
    axes.plot(predicted["length"], predicted["predicted_gain"], ":", marker=".", color=colour, linewidth=1.2)


def _label(coords: dict, fit: pd.Series) -> str:
    if np.isnan(fit["exponent"]):
        law = "no exponent"
    else:
        exponent, low, high = with_interval(fit["exponent"], fit["exponent_low"], fit["exponent_high"])
        known = np.isfinite(fit["exponent_low"])
        law = f"$L^{{{exponent}}}$" + (f" ({low} to {high})" if known else "")
    pair = {axis: value for axis, value in coords.items() if axis != "untied"}
    against = f"against {coords['untied']}" if "untied" in coords else ""
    words = " ".join(filter(None, [coordinates_math(pair), against]))
    return ": ".join(filter(None, [words, f"{law}, {fit['protocol']} rates"]))


def _finish(axes: Axes, rows: pd.DataFrame) -> None:
    numeric_axis(axes, "x", "length", rows["length"])
    log_axis(axes, "y", rows["gain_low"].min(), rows["gain_high"].replace(np.inf, np.nan).max())
    lengths = np.array([rows["length"].min(), rows["length"].max()], dtype=float)
    if lengths[0] < lengths[1]:
        along = np.geomspace(*lengths, 40)
        axes.plot(along, along, color="0.5", linestyle="--", linewidth=1.0, label=r"proportional to $L$")
    if rows["predicted_gain"].notna().any():
        axes.plot([], [], ":", marker=".", color="0.25", label="gradient flow at the same rates")
