"""Which part of a large sweep is drawn, so that what is computed for a figure is what it shows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from ssi_kernels.reduce.runs import axes_of

MOST_PANELS = 12


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


def panel_places(dataset: xr.Dataset) -> dict[str, list[int]]:
    """The places along each grid axis whose trajectories are drawn, at most 12 points."""
    axes = axes_of(dataset)
    taken = shares({axis: dataset.sizes[axis] for axis in axes}, MOST_PANELS)
    return {axis: spread_out(range(dataset.sizes[axis]), taken[axis]) for axis in axes}


def panel_coordinates(dataset: xr.Dataset) -> list[dict[str, object]]:
    """The coordinates of the points whose trajectories are drawn, in the order of the panels."""
    places = panel_places(dataset)
    values = [[dataset[axis].values[place] for place in found] for axis, found in places.items()]
    return [dict(zip(places, point, strict=True)) for point in itertools.product(*values)]
