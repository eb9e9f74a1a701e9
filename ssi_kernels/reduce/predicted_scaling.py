"""How recovery times should grow with the dimension, by the gradient flow at the rates of a sweep.

In steps, T = (d / gamma) t with the flow's time t from the size s of the start to the threshold eta. Let R go down
first at order k (`theory.escape`). Near 0 the overlap grows like x' = x^(k-1), so that t ~ eta for k = 1, log(eta / s)
for k = 2 and s^-(k-2) beyond. With gamma ~ d^g, s ~ d^-p and eta ~ d^-q the exponent of T in d is then
    k = 1: 1 - g - q,    k = 2: 1 - g, with a logarithm where p > q,    k >= 3: 1 - g + (k - 2) p.
A random start, or one at 0 exactly, has p = 1/2. At the largest useful rates, g = 0 for k <= 2 and g = -(k/2 - 1)
beyond, this is 1, 1 and k - 1 (Arnaboldi et al. 2025, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ssi_kernels.errors import ConfigError
from ssi_kernels.reduce.prediction import SweepModels, attempted, threshold_value

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

VALUES = ("predicted_slope", "predicted_law")
LOG = " log d"
"""How a law with a logarithm ends."""

_ROUND = 6


def with_predicted_slopes(scaling: pd.DataFrame, models: SweepModels) -> pd.DataFrame:
    """`scaling_table` with `predicted_slope` and `predicted_law`, such as 1 and "d log d", before the reason.

    Where there is no prediction, the slope is empty and the law says why.
    """
    keys = [column for column in scaling.columns if column in models.axes]
    dimensions = sorted({point.d for point in models.points.values()})
    rows = []
    for row in scaling[[*keys, "threshold"]].to_dict("records"):
        coords, threshold = {key: row[key] for key in keys}, row["threshold"]
        found, reason = attempted(lambda c=coords, t=threshold: _predicted(models, c, dimensions, t))
        rows.append(found or (np.nan, reason))
    place = scaling.columns.get_loc("reason")
    table = scaling.copy()
    for offset, name in enumerate(VALUES):
        table.insert(place + offset, name, [row[offset] for row in rows])
    return table


def slope_and_law(order: int, rate: float, start: float, threshold: float) -> tuple[float, str]:
    """The exponent of T in d and its words, at escape order k and powers g, p, q of d (above).

    >>> slope_and_law(2, 0.0, 0.5, 0.0)
    (1.0, 'd log d')
    """
    slope = 1.0 - rate
    if order == 1:
        slope -= threshold
    elif order > 2:
        slope += (order - 2) * start
    slope = round(slope, _ROUND) + 0.0
    power = "d" if slope == 1 else f"d^{slope:.4g}"
    return slope, f"{power}{LOG}" if order == 2 and start > threshold else power


def _predicted(models: SweepModels, coords: Mapping, dimensions: list[int], threshold: object) -> tuple[float, str]:
    from ssi_kernels.theory.escape import escape

    if len(dimensions) < 2 and not models.reason:
        raise ConfigError("d", dimensions, "there is one value")
    points = [models.model_at({**coords, "d": d}) for d in dimensions or [0]]
    order = escape(points[-1].model, points[-1].length).order
    if order is None:
        raise ConfigError("model", "(this one)", "the risk goes down in no direction from 0: no run should recover")
    d = [point.d for point in points]
    rate = _power(d, [point.learning_rate for point in points])
    start = -_power(d, [_start_size(point) for point in points])
    level = -_power(d, [threshold_value(point, threshold) for point in points])
    return slope_and_law(order, rate, start, level)


def _start_size(point: Point) -> float:
    """||(e, m)|| at the start, up to a factor that does not depend on d."""
    size = 0.0 if point.start.random else float(np.hypot(point.start.m, np.linalg.norm(point.start.e)))
    return size or point.d**-0.5


def _power(d: Sequence[int], values: Sequence[float]) -> float:
    """The slope of log(value) over log(d)."""
    return float(np.polyfit(np.log(d), np.log(values), 1)[0])
