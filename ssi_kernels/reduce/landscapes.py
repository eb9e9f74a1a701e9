"""Risk landscapes of an entry of `theory`: R over the overlaps (e, m), and what it looks like at 0.

Theory is imported where it is evaluated, so that reading a dataset for a figure imports none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from ssi_kernels.errors import ConfigError
from ssi_kernels.store.attributes import COORDINATES
from ssi_kernels.sweep.agreement import PIECES
from ssi_kernels.sweep.theory_models import PlacedModel, landscape_axes, landscape_models

if TYPE_CHECKING:
    from ssi_kernels.sweep.theory_entries import LandscapeEntry

_DESCRIBED = {
    "risk": "population risk R(e, m); NaN outside the unit disc",
    "rank": "number of positional overlaps",
    "risk_at_0": "population risk at e = m = 0",
    "gradient_e": "dR/de at 0",
    "gradient_m": "dR/dm at 0",
    "hessian_ee": "d2R/de2 at 0",
    "hessian_em": "d2R/de dm at 0",
    "hessian_mm": "d2R/dm2 at 0",
    "information_exponent": "sequence information exponent of the target; NaN for a constant",
    "flatness": "lowest order of a non-zero derivative of R at 0; NaN where there is none",
    "escape_order": "lowest order at which R goes down from 0; NaN where it does not",
    "direction_e": "component along e of the direction in which R goes down first",
    "direction_m": "component along m of the direction in which R goes down first",
    "error": "estimate of the absolute error of the risk",
    "method": "how the risk was computed",
}
_COORDINATES = {"e": "positional overlap e", "m": "semantic overlap m"}
AT_0 = (
    "information_exponent",
    "flatness",
    "escape_order",
    "direction_m",
    "direction_e",
    "risk_at_0",
    "gradient_m",
    "gradient_e",
    "hessian_mm",
    "hessian_ee",
    "hessian_em",
    "error",
    "method",
)


def landscape_dataset(entry: LandscapeEntry) -> xr.Dataset:
    """R over (axes of the entry..., e, m), e and m from -1 to 1, and over the axes what it is like at 0.

    Without any encoding there is no e. A model without a positional overlap, beside others that have one, has values
    at e = 0 only.
    """
    axes, models = landscape_axes(entry), landscape_models(entry)
    overlap = np.linspace(-1.0, 1.0, entry.points)
    flat = not any(placed.model.rank(placed.length) for placed in models)
    shape = tuple(map(len, axes.values()))
    risks = np.array([_risk(placed, overlap, flat) for placed in models])
    facts = pd.DataFrame([_at_0(placed) for placed in models])
    inner = ("m",) if flat else ("e", "m")
    variables = {"risk": ((*axes, *inner), risks.reshape(*shape, *risks.shape[1:]))}
    for name in facts:
        variables[name] = (tuple(axes), _array(facts[name]).reshape(shape))
    coordinates = {name: _labels(name, values) for name, values in axes.items()} | dict.fromkeys(inner, overlap)
    return _described(xr.Dataset(variables, coordinates))


def landscape_table(dataset: xr.Dataset) -> pd.DataFrame:
    """What every model looks like at 0, one row a model, in the order of the axes."""
    axes = list(dataset["flatness"].dims)
    frame = dataset[list(AT_0)].to_dataframe(dim_order=axes).reset_index()
    columns = [*axes, *AT_0]
    frame = frame[columns].rename(columns={"information_exponent": "sie"} if "sie" not in axes else {})
    return frame.drop(columns="information_exponent", errors="ignore")


def _risk(placed: PlacedModel, overlap: np.ndarray, flat: bool) -> np.ndarray:
    """R over (e, m), or over m alone where `flat`; NaN outside the disc, and off e = 0 for a model without e."""
    from ssi_kernels.theory.landscape import landscape

    function = landscape(placed.model, placed.length).risk
    if flat:
        return function(overlap[:, None])
    e, m = np.meshgrid(overlap, overlap, indexing="ij")
    rank = placed.model.rank(placed.length)
    inside = e**2 + m**2 <= 1 + 1e-12 if rank else e == 0
    found = np.full(e.shape, np.nan)
    found[inside] = function(np.stack([e[inside], m[inside]], axis=-1)[:, 1 - rank :])
    return found


def _at_0(placed: PlacedModel) -> dict[str, object]:
    from ssi_kernels.theory.escape import escape
    from ssi_kernels.theory.landscape import landscape

    model, length = placed.model, placed.length
    surface, escaped = landscape(model, length), escape(model, length)
    rank = model.rank(length)
    origin = np.zeros(rank + 1)
    slope, curvature = _padded(surface.gradient(origin)), _padded(surface.hessian(origin))
    direction = _padded(np.full(rank + 1, np.nan) if escaped.direction is None else np.asarray(escaped.direction))
    return {
        "rank": rank,
        "risk_at_0": float(surface.risk(origin)),
        "gradient_e": slope[0],
        "gradient_m": slope[1],
        "hessian_ee": curvature[0, 0],
        "hessian_em": curvature[0, 1],
        "hessian_mm": curvature[1, 1],
        "information_exponent": _order(_information_exponent(placed)),
        "flatness": _order(escaped.flatness),
        "escape_order": _order(escaped.order),
        "direction_e": direction[0],
        "direction_m": direction[1],
        "error": float(surface.error),
        "method": surface.method,
    }


def _information_exponent(placed: PlacedModel) -> int | None:
    """The exponent of the target; None also where it cannot be told."""
    from ssi_kernels.theory.exponent import exponent

    try:
        return exponent(placed.model.target, placed.length, placed.model.encoding).sie
    except ConfigError:
        return None


def _padded(values: np.ndarray) -> np.ndarray:
    """Entries for (e, m), NaN for an e that the model does not have; 0 has no sign."""
    return np.pad(values + 0.0, [(2 - size, 0) for size in values.shape], constant_values=np.nan)


def _order(value: int | None) -> float:
    return np.nan if value is None else float(value)


def _array(values: pd.Series) -> np.ndarray:
    return np.array(list(values), np.dtypes.StringDType()) if values.name == "method" else values.to_numpy()


def _labels(axis: str, values: tuple) -> np.ndarray:
    return np.array(values, np.dtypes.StringDType() if axis in PIECES else None)


def _described(dataset: xr.Dataset) -> xr.Dataset:
    for name, words in {**_DESCRIBED, **_COORDINATES}.items():
        if name in dataset.variables:
            dataset[name].attrs = {"long_name": words, "units": "1"}
    for name, attributes in COORDINATES.items():
        if name in dataset.coords:
            dataset[name].attrs = attributes
    return dataset
