"""Tables of a phase diagram that was computed: where its boundaries are, and how much of the plane each regime has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

BOUNDARIES = ("dynamics", "global", "positional_appears", "semantic_disappears")


def boundary_table(diagram: xr.Dataset) -> pd.DataFrame:
    """The omegas at which something changes along every a; empty where it does not.

    `dynamics`: the steepest direction at 0 turns from semantic to positional. `global`: the global minimum does.
    `positional_appears`, `semantic_disappears`: a local minimum of that kind begins or ceases to exist.
    """
    columns = {name: diagram[f"boundary_{name}"].to_numpy() for name in BOUNDARIES}
    return pd.DataFrame({"a": diagram["a"].to_numpy(), **columns})


def region_table(diagram: xr.Dataset) -> pd.DataFrame:
    """For every regime how many points of the grid have it, of them how many with a mixed minimum."""
    found, mixed = diagram["regime"].to_numpy(), mixed_minima(diagram)
    total = found.size
    rows = [
        {"regime": name, "points": int(here.sum()), "fraction": here.sum() / total, "mixed": int((here & mixed).sum())}
        for code, name in flag_names(diagram["regime"]).items()
        for here in [found == code]
    ]
    return pd.DataFrame(rows)


def mixed_minima(diagram: xr.Dataset) -> np.ndarray:
    """Where some minimum is neither semantic nor positional, bool of shape (a, omega)."""
    codes = [code for code, name in flag_names(diagram["kind"]).items() if name == "mixed"]
    order = ("a", "omega", "minimum")
    return np.isin(diagram["kind"].transpose(*order).to_numpy(), codes).any(axis=-1)


def flag_names(variable: xr.DataArray) -> dict[int, str]:
    """Codes and their meanings, from the attributes."""
    codes, names = np.atleast_1d(variable.attrs["flag_values"]), variable.attrs["flag_meanings"].split()
    return {int(code): name for code, name in zip(codes, names, strict=True)}
