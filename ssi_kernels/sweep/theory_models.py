"""The models of a landscape entry, and what makes two entries of `theory` the same. Imports no JAX."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model
from ssi_kernels.provenance import package_version
from ssi_kernels.sweep.agreement import FAMILY_AXES, PIECES
from ssi_kernels.sweep.fields import Section
from ssi_kernels.sweep.identity import digest
from ssi_kernels.sweep.theory_entries import LandscapeEntry, PhaseDiagramEntry

AXES = ("length", *FAMILY_AXES, *PIECES)
MOST_MODELS = 1000
DATASET_VERSION = 1
"""Raised whenever the same entry would give other numbers or another dataset; older results are then computed again."""

_ANY_DIMENSION = 10**9


@dataclass(frozen=True)
class PlacedModel:
    """A model, its length, and its coordinates along the axes of the entry."""

    coords: dict[str, int | float | str]
    model: Model
    length: int


def landscape_axes(entry: LandscapeEntry) -> dict[str, tuple]:
    """Each axis that is given with its values: numbers sorted, names in the order of the list."""
    axes = {}
    for axis in AXES:
        values = getattr(entry, axis)
        if values is not None:
            axes[axis] = tuple(piece.name for piece in values) if axis in PIECES else values
    return axes


def landscape_models(entry: LandscapeEntry) -> list[PlacedModel]:
    """The models of an entry, the last axis varying fastest. Raises ConfigError with the key inside the entry."""
    axes = landscape_axes(entry)
    count = math.prod(map(len, axes.values()))
    if count > MOST_MODELS:
        sizes = {axis: len(values) for axis, values in axes.items()}
        raise ConfigError("", sizes, f"has {count} models; the most one entry may have is {MOST_MODELS}")
    coordinates = (dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))
    return [PlacedModel(coords, _model(entry, coords), coords["length"]) for coords in coordinates]


def check_entry(entry: PhaseDiagramEntry | LandscapeEntry) -> None:
    """All that depends on the models. Raises ConfigError with the key inside the entry."""
    if isinstance(entry, LandscapeEntry):
        landscape_models(entry)


def entry_fingerprint(entry: PhaseDiagramEntry | LandscapeEntry) -> str:
    """A digest of what the results of an entry depend on: its content in canonical form, and the package's version."""
    if isinstance(entry, PhaseDiagramEntry):
        content = [entry.omega, entry.a, entry.loss]
    else:
        models = landscape_models(entry)
        content = [entry.points, [[list(m.coords.items()), m.model.canonical(m.length)] for m in models]]
    return digest([DATASET_VERSION, package_version(), entry.kind, content])


def effective_entry(entry: PhaseDiagramEntry | LandscapeEntry) -> dict:
    """The entry as plain data, defaults written out; reading it again gives an equal entry."""
    written = entry.model_dump(mode="json", exclude_none=True)
    if isinstance(entry, LandscapeEntry) and entry.encoding is not None:
        del written["model"]["encoding"]
    return written


def _model(entry: LandscapeEntry, coords: dict) -> Model:
    length = coords["length"]
    parameters = {axis: coords[axis] for axis in FAMILY_AXES if axis in coords}
    with _placed(coords):
        model = Model(
            target=_piece(entry.targets, coords.get("target")).build(length, **parameters),
            student=_piece(entry.students, coords.get("student")).build(),
            encoding=_piece(entry.encodings, coords.get("encoding")).build(),
            loss=entry.model.loss,
        )
        model.check(_ANY_DIMENSION, length)
        if model.student.is_untied:
            raise ConfigError(
                "student", model.student.label, "has an overlap for each position: no landscape in (e, m)"
            )
        if model.rank(length) > 1:
            remedy = f"has {model.rank(length)} directions; a landscape in (e, m) needs one, or none"
            raise ConfigError("encoding", model.encoding.shown, remedy)
    return model


def _piece(entries: tuple[Section, ...], name: str | None) -> Section:
    return entries[0] if name is None else next(entry for entry in entries if entry.name == name)


@contextmanager
def _placed(coords: dict) -> Iterator[None]:
    """Puts a model's own key, such as `student.reduction`, where the user wrote it."""
    try:
        yield
    except ConfigError as error:
        piece, dot, rest = error.key.partition(".")
        if piece in PIECES:
            place = f"{piece}.{coords[piece]}" if piece in coords else f"model.{piece}"
            raise ConfigError(f"{place}{dot}{rest}", error.value, error.remedy) from None
        raise error.within("model") if piece == "loss" else error from None
