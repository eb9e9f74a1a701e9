"""Which part of a large sweep a figure can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ssi_kernels.reduce.subset import shares, spread_out

_ALONG = ("length", "omega", "a", "learning_rate")


def varied(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns with more than one value."""
    return [column for column in columns if table[column].nunique() > 1]


def representative(table: pd.DataFrame, columns: Sequence[str], most: int) -> pd.DataFrame:
    """The rows with at most so many combinations of values of the columns, spread evenly over each column."""
    values = {column: sorted(table[column].unique()) for column in columns}
    taken = shares({column: len(found) for column, found in values.items()}, most)
    for column, found in values.items():
        table = table[table[column].isin(spread_out(found, taken[column]))]
    return table


def main_axis(table: pd.DataFrame, axes: Sequence[str]) -> str:
    """The numeric axis to put along x: that with the most values, d only where no other has more than one."""
    others = [axis for axis in varied(table, axes) if axis in _ALONG]
    return max(others, key=lambda axis: table[axis].nunique()) if others else "d"


def at(table: pd.DataFrame, coords: Mapping[str, object]) -> pd.DataFrame:
    """The rows at these coordinates; numbers need only agree in 9 digits, because tables come from text."""
    for column, value in coords.items():
        same = table[column] == value if isinstance(value, str) else np.isclose(table[column], value, rtol=1e-9, atol=0)
        table = table[same]
    return table
