"""Which keys of a model go with which axes, in sweeps and in landscapes.

`axes` is the section that has the axes and the lists of targets, students and encodings; `at` is where it stands:
"grid." in a sweep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError

if TYPE_CHECKING:
    from ssi_kernels.sweep.fields import Section
    from ssi_kernels.sweep.pieces import TargetConfig

PIECES = ("target", "student", "encoding")
FAMILY_AXES = ("sie", "omega", "a")


def check_names(axes: Section) -> None:
    """Every entry of a list of pieces has a name of its own. Raises ConfigError."""
    for key in PIECES:
        names = set()
        for index, entry in enumerate(getattr(axes, key) or ()):
            if entry.name is None:
                raise ConfigError(f"{key}.{index}.name", None, "is required: it is the coordinate of this entry")
            if entry.name in names:
                raise ConfigError(f"{key}.{index}.name", entry.name, "is there twice; give each entry its own name")
            names.add(entry.name)


def check_pieces(model: Section, axes: Section, at: str) -> None:
    """Every piece is given in one of two places. Raises ConfigError."""
    for key in PIECES:
        listed, in_model = getattr(axes, key) is not None, key in model.model_fields_set
        if listed and in_model:
            where = f"is also in the {at.rstrip('.')}" if at else "is also a list"
            raise ConfigError(f"model.{key}", "(given)", f"{where}; keep model.{key} or {at}{key}")
        if not listed and getattr(model, key) is None:
            raise ConfigError(f"model.{key}", None, f"is required, unless {at}{key} lists several")


def check_family_axes(targets: Iterable[TargetConfig], axes: Section, at: str) -> None:
    """The axes sie, omega and a are there for the targets that need them, and for no others. Raises ConfigError."""
    for axis in FAMILY_AXES:
        values = getattr(axes, axis)
        for target in targets:
            kind = target.family or ("expression" if target.expression is not None else "callable")
            if axis in target.axes and values is None:
                raise ConfigError(f"{at}{axis}", None, f"is required: the target {kind} needs this axis")
            if axis not in target.axes and values is not None:
                remedy = f"is not an axis of the target {kind}; leave it out"
                raise ConfigError(f"{at}{axis}", list(values), remedy)
