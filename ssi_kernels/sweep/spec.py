"""The configuration: frozen and strictly validated, with all that its parts must agree on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.agreement import check_family_axes, check_pieces
from ssi_kernels.sweep.fields import Form, Section
from ssi_kernels.sweep.identity import SHARED
from ssi_kernels.sweep.pieces import KINDS, EncodingConfig, StudentConfig, TargetConfig
from ssi_kernels.sweep.refusals import refusal
from ssi_kernels.sweep.rules import check_students
from ssi_kernels.sweep.sections import (
    GridConfig,
    ModelConfig,
    RecordConfig,
    RecoveryConfig,
    ResourcesConfig,
    SgdConfig,
)
from ssi_kernels.sweep.theory_entries import TheoryEntry

_NAME = re.compile(r"[A-Za-z0-9_-]+$")

RULES = ("all", "simulate", "consolidate", "report")
"""Rules of the workflow, whose names nothing may take: a sweep's name is a target of its own."""


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
        check_pieces(self.model, self.grid, "grid.")
        check_family_axes(self.targets, self.grid, "grid.")
        self._check_rules()
        return self

    def _check_rules(self) -> None:
        for axis in self.sgd.common_random_numbers:
            if getattr(self.grid, axis) is None:
                present = ", ".join(name for name in SHARED if getattr(self.grid, name) is not None)
                raise ConfigError("sgd.common_random_numbers", axis, f"is not an axis of the grid, which has {present}")
        if self.sgd.learning_rate is not None and self.grid.learning_rate is not None:
            raise ConfigError(
                "sgd.learning_rate", self.sgd.learning_rate, "is also an axis of the grid; keep one of the two"
            )
        for key in ("learning_rate", "steps"):
            try:
                check_students(getattr(self.sgd, key), [(s.name, s.kind) for s in self.students], KINDS)
            except ConfigError as error:
                raise error.within(f"sgd.{key}") from None


def _read_named(kind: str) -> Callable[[object], object]:
    """A reader of a mapping from names to sweeps, or to other things of one kind."""

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise refusal(value, f"must be a mapping from names to {kind}s")
        for name in value:
            _check_name(name, kind)
        return dict(value)

    return read


def _check_name(name: object, kind: str) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise refusal(name, f"is not the name of a {kind}; use letters, digits, - and _ (quote a number)")
    if name == "store":
        raise refusal(name, f"is the folder of the store; choose another name for the {kind}")
    if name in RULES:
        raise refusal(name, f"is the name of a rule of the workflow; choose another name for the {kind}")


_Sweeps = Annotated[dict[str, Sweep], BeforeValidator(_read_named("sweep")), Form("mapping from names to sweeps")]
_Theory = Annotated[
    dict[str, TheoryEntry], BeforeValidator(_read_named("theory entry")), Form("mapping from names to entries")
]


class Config(Section):
    """A whole file: sweeps, or entries of theory, or both."""

    place: ClassVar[str] = ""
    sweeps: _Sweeps = Field({}, description="What is simulated, by name: letters, digits, - and _.")
    theory: _Theory = Field(
        {}, description="What is computed without simulating, by name: phase diagrams and risk landscapes."
    )
    results: Annotated[str, Form("folder")] = Field("results", min_length=1, description="Where results are kept.")
    store: Annotated[str | None, Form("folder or URL")] = Field(
        None,
        min_length=1,
        description="Where segments are kept, instead of `store` in the results folder: a folder, or a URL such as "
        "s3://bucket/folder. Configurations with one store never compute a point twice.",
    )

    @model_validator(mode="after")
    def _check(self) -> Config:
        if not self.sweeps and not self.theory:
            remedy = "must hold at least one sweep, such as {transition: {model: ..., grid: ..., sgd: ...}}"
            raise ConfigError("sweeps", {}, f"{remedy}, unless theory has an entry")
        for name in self.theory:
            if name in self.sweeps:
                raise ConfigError(f"theory.{name}", "(name)", "is also the name of a sweep; choose another one")
        return self
