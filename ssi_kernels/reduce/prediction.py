"""Predictions beside measurements: the models behind a dataset, and what to say where theory has no answer.

A prediction that fails must never fail a report, whatever the error: it becomes the words `no prediction: ...`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import xarray as xr

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.reduce.runs import axes_of
from ssi_kernels.reduce.subset import panel_coordinates, spread_out
from ssi_kernels.sweep import expand, parse_config, thresholds
from ssi_kernels.sweep.identity import digest

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.sweep import Point

T = TypeVar("T")
NONE = "no prediction"
MOST_MODELS = 16
"""Evaluating one takes about a second."""


def attempted(compute: Callable[[], T]) -> tuple[T | None, str]:
    """What `compute` returns, and ""; or None and, in one line, why there is no prediction."""
    try:
        return compute(), ""
    except ConfigError as error:
        return None, f"{NONE}: {error.key}: {error.remedy}"
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return None, f"{NONE}: {words}"


@dataclass(frozen=True)
class SweepModels:
    """The points of a sweep by their coordinates; where they cannot be had, `reason` says why.

    `first` are the coordinates whose models are evaluated in any case.
    """

    axes: tuple[str, ...]
    points: Mapping[tuple, Point]
    reason: str = ""
    first: Sequence[Mapping[str, object]] = ()

    @cached_property
    def evaluated(self) -> frozenset[str]:
        """The models (`model_key`) that are evaluated: some, spread evenly, where the sweep has very many."""
        wanted = {self.model_key(coords) for coords in self.first} if not self.reason else set()
        others = list(dict.fromkeys(key for key in self._keys.values() if key not in wanted))
        return frozenset([*wanted, *spread_out(others, max(MOST_MODELS - len(wanted), 0))])

    @cached_property
    def _keys(self) -> dict[tuple, str]:
        return {place: _named(point.model, point.length) for place, point in self.points.items()}

    @cached_property
    def _models(self) -> int:
        return len(set(self._keys.values()))

    def model_key(self, coords: Mapping[str, object]) -> str:
        """Names the model at these coordinates: two spellings of one model have one key. Raises as `at`."""
        self.at(coords)
        return self._keys[_key(coords, self.axes)]

    def model_at(self, coords: Mapping[str, object]) -> Point:
        """As `at`, only for models that are evaluated. Raises ConfigError for others."""
        point = self.at(coords)
        if self.model_key(coords) not in self.evaluated:
            some = f"{len(self.evaluated)} of {self._models}"
            raise ConfigError("model", "(this one)", f"is not among the {some} evaluated")
        return point

    def at(self, coords: Mapping[str, object]) -> Point:
        """The point at these coordinates. Raises ConfigError where there is none."""
        if self.reason:
            raise ConfigError("configuration", "(of the dataset)", self.reason)
        key = _key(coords, self.axes)
        if key not in self.points:
            raise ConfigError("configuration", dict(coords), "has no such point")
        return self.points[key]


def sweep_models(recovery: xr.Dataset) -> SweepModels:
    """The points behind a dataset, from the configuration that it carries."""
    axes = tuple(map(str, axes_of(recovery)))
    points, reason = attempted(lambda: _points(recovery.attrs["configuration"], axes))
    return SweepModels(axes, points or {}, reason.removeprefix(f"{NONE}: "), panel_coordinates(recovery))


def refuse_sampled(model: Model, length: int) -> None:
    """Raises ConfigError for a model whose risk has no series: following it through time takes minutes."""
    from ssi_kernels.theory.landscape import landscape
    from ssi_kernels.theory.sampled_landscape import SampledLandscape

    if isinstance(landscape(model, length), SampledLandscape):
        remedy = "the population risk of this model is sampled, and its flow takes minutes; call ssi.theory.flow for it"
        raise ConfigError("model", model.student.label, remedy)


def _named(model: Model, length: int) -> str:
    return digest([length, model.canonical(length)])


def threshold_value(point: Point, label: object) -> float:
    """The number behind a threshold of a table at one point."""
    label = label if isinstance(label, str) else float(label)
    return thresholds.resolve((label,), point.d, point.length)[label]


def _points(configuration: str, axes: Sequence[str]) -> dict[tuple, Point]:
    (sweep,) = parse_config(json.loads(configuration)).sweeps.values()
    return {_key(point.coords, axes): point for point in expand(sweep).points}


def _key(coords: Mapping[str, object], axes: Sequence[str]) -> tuple:
    return tuple(value if isinstance(value, str) else canonical_number(value) for value in map(coords.get, axes))
