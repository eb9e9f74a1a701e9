"""Which part of a large sweep a figure can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

_ALONG = ("length", "omega", "a", "learning_rate")


def varied(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns with more than one value."""
    return [column for column in columns if table[column].nunique() > 1]


def spread_out(values: Sequence, most: int) -> list:
    """At most so many of the values, evenly spread in their order, both ends among them."""
    if len(values) <= most:
        return list(values)
    places = np.unique(np.linspace(0, len(values) - 1, most).round().astype(int))
    return [values[place] for place in places]


def shares(sizes: Mapping[str, int], most: int) -> dict[str, int]:
    """How many values of each axis to take so that their product is at most `most`, as even as the sizes allow.

    >>> shares({"d": 2, "omega": 41}, 12)
    {'d': 2, 'omega': 6}
    """
    taken = dict.fromkeys(sizes, 1)
    growing = set(sizes)
    while growing:
        axis = min(growing, key=lambda name: (taken[name], list(sizes).index(name)))
        product = np.prod([count for name, count in taken.items() if name != axis])
        if taken[axis] < sizes[axis] and product * (taken[axis] + 1) <= most:
            taken[axis] += 1
        else:
            growing.discard(axis)
    return taken


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
