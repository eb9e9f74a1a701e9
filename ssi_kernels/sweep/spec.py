"""The configuration: frozen and strictly validated, with all that its parts must agree on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.fields import Form, Section
from ssi_kernels.sweep.pieces import KINDS, EncodingConfig, StudentConfig, TargetConfig
from ssi_kernels.sweep.refusals import refusal
from ssi_kernels.sweep.rules import check_students
from ssi_kernels.sweep.sections import (
    PIECES,
    GridConfig,
    ModelConfig,
    RecordConfig,
    RecoveryConfig,
    ResourcesConfig,
    SgdConfig,
)

FAMILY_AXES = ("sie", "omega", "a")
_SWEEP_NAME = re.compile(r"[A-Za-z0-9_-]+$")

RULES = ("all", "simulate", "consolidate", "report")
"""Rules of the workflow, whose names no sweep may take: a sweep's name is a target of its own."""


class Sweep(Section):
    """One sweep; its results are in the folder of its name."""

    place: ClassVar[str] = "sweeps.<name>"
    description: str | None = Field(None, description="A line about the sweep, for its report.")
    model: ModelConfig = Field(ModelConfig(), description="What is simulated.")
    grid: GridConfig = Field(description="The axes of the sweep.")
    sgd: SgdConfig = Field(description="How it is trained.")
    record: RecordConfig = Field(RecordConfig(per_decade=20), description="When overlaps are recorded.")
    recovery: RecoveryConfig = Field(RecoveryConfig(), description="What counts as weak recovery.")
    resources: ResourcesConfig = Field(ResourcesConfig(), description="What a task asks of the machine.")

    @property
    def targets(self) -> tuple[TargetConfig, ...]:
        """The targets of the grid, or the one of the model."""
        return self.grid.target or (self.model.target,)

    @property
    def students(self) -> tuple[StudentConfig, ...]:
        """The students of the grid, or the one of the model."""
        return self.grid.student or (self.model.student,)

    @property
    def encodings(self) -> tuple[EncodingConfig, ...]:
        """The encodings of the grid, or the one of the model."""
        return self.grid.encoding or (self.model.encoding,)

    @model_validator(mode="after")
    def _check(self) -> Sweep:
        self._check_pieces()
        self._check_axes()
        self._check_rules()
        return self

    def _check_pieces(self) -> None:
        for key in PIECES:
            in_grid, in_model = getattr(self.grid, key) is not None, key in self.model.model_fields_set
            if in_grid and in_model:
                raise ConfigError(f"model.{key}", "(given)", f"is also in the grid; keep model.{key} or grid.{key}")
            if not in_grid and getattr(self.model, key) is None:
                raise ConfigError(f"model.{key}", None, f"is required, unless grid.{key} lists several")

    def _check_axes(self) -> None:
        for axis in FAMILY_AXES:
            values = getattr(self.grid, axis)
            for target in self.targets:
                kind = target.family or ("expression" if target.expression is not None else "callable")
                if axis in target.axes and values is None:
                    raise ConfigError(f"grid.{axis}", None, f"is required: the target {kind} needs this axis")
                if axis not in target.axes and values is not None:
                    raise ConfigError(
                        f"grid.{axis}", list(values), f"is not an axis of the target {kind}; leave it out"
                    )

    def _check_rules(self) -> None:
        if self.sgd.learning_rate is not None and self.grid.learning_rate is not None:
            raise ConfigError(
                "sgd.learning_rate", self.sgd.learning_rate, "is also an axis of the grid; keep one of the two"
            )
        if self.sgd.learning_rate is None and self.grid.learning_rate is None:
            remedy = "is required: give a number, a rule, or the axis grid.learning_rate"
            raise ConfigError(
                "sgd.learning_rate", None, f"{remedy} (a default from the computed noise bound comes later)"
            )
        for key in ("learning_rate", "steps"):
            try:
                check_students(getattr(self.sgd, key), [(s.name, s.kind) for s in self.students], KINDS)
            except ConfigError as error:
                raise error.within(f"sgd.{key}") from None


def _read_sweeps(value: object) -> object:
    if not isinstance(value, Mapping) or not value:
        raise refusal(value, "must hold at least one sweep, such as {transition: {model: ..., grid: ..., sgd: ...}}")
    for name in value:
        if not isinstance(name, str) or not _SWEEP_NAME.match(name):
            raise refusal(name, "is not the name of a sweep; use letters, digits, - and _ (quote a number)")
        if name == "store":
            raise refusal(name, "is the folder of the store; choose another name for the sweep")
        if name in RULES:
            raise refusal(name, "is the name of a rule of the workflow; choose another name for the sweep")
    return dict(value)


class Config(Section):
    """A whole file."""

    place: ClassVar[str] = ""
    sweeps: Annotated[dict[str, Sweep], BeforeValidator(_read_sweeps), Form("mapping from names to sweeps")] = Field(
        description="The sweeps by name: letters, digits, - and _."
    )
    results: Annotated[str, Form("folder")] = Field("results", min_length=1, description="Where results are kept.")
