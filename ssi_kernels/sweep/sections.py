"""The parts of a sweep as users write them; every key is described (config/README.md is made from this)."""

from __future__ import annotations

import difflib
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.losses import LOSSES
from ssi_kernels.sweep.agreement import check_names
from ssi_kernels.sweep.axis import Counts, Fractions, Positives
from ssi_kernels.sweep.fields import Count, Form, Integer, Number, Quantities, Section
from ssi_kernels.sweep.identity import SHARED
from ssi_kernels.sweep.pieces import (
    PATTERN_WORDS,
    EncodingConfig,
    StartConfig,
    StudentConfig,
    TargetConfig,
    read_encoding,
    read_start,
)
from ssi_kernels.sweep.refusals import refusal
from ssi_kernels.sweep.rules import Rule


class ModelConfig(Section):
    """What is simulated."""

    place: ClassVar[str] = "sweeps.<name>.model"
    target: TargetConfig | None = Field(None, description="What has to be learned; required unless in the grid.")
    student: StudentConfig | None = Field(None, description="What is trained; required unless in the grid.")
    encoding: Annotated[
        EncodingConfig,
        BeforeValidator(read_encoding, json_schema_input_type=Literal[PATTERN_WORDS] | EncodingConfig),
        Form(f"{', '.join(PATTERN_WORDS)}, or a mapping"),
    ] = Field(EncodingConfig(pattern="none"), description="The positional encoding of the student's tokens.")
    loss: Literal[LOSSES] = Field("squared", description="||y - f||^2, or ||y - f|| (not squared).")


def read_shared_axes(value: object) -> tuple[str, ...]:
    """A list of axes, sorted, each once. Raises ConfigError."""
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        raise refusal(value, "must be a list of axes, such as [omega]")
    for entry in entries:
        if entry == "length":
            raise refusal(entry, "sequences of another length draw other numbers; leave it out")
        if entry not in SHARED:
            near = difflib.get_close_matches(str(entry), SHARED, 1)
            hint = f"; the nearest is {near[0]}" if near else ""
            raise refusal(entry, f"is not an axis that can share random numbers: {', '.join(SHARED)}{hint}")
    return tuple(sorted(set(entries)))


class SgdConfig(Section):
    """How it is trained."""

    place: ClassVar[str] = "sweeps.<name>.sgd"
    learning_rate: Rule | None = Field(
        None,
        description="The learning rate gamma. Absent, and no axis of the grid: 0.3 of the noise bound that theory "
        "gives for each dimension, length and model (three digits); needed for positional-semantic and mixed-logit.",
    )
    steps: Rule = Field(
        description="The horizon, in steps of one sample each; what follows d or L is rounded up. "
        "Raising it later continues from what is stored."
    )
    start: Annotated[
        StartConfig | Literal["random"],
        BeforeValidator(read_start, json_schema_input_type=Literal["random"] | StartConfig),
        Form("random, or a mapping"),
    ] = Field("random", description="Uniform on the student's sphere, or exact overlaps.")
    replicas: Count = Field(16, description="Independent runs of every point. Raising it later runs only the new ones.")
    seed: Integer = Field(0, description="Another seed gives other random numbers everywhere.")
    kernel: Literal["auto", "reduced", "full", "one-noise"] = Field(
        "auto",
        description="reduced simulates the overlaps, exactly in law, at a cost that does not depend on d; full keeps "
        "the weights in R^d and draws every sample; one-noise keeps the weights, and draws one d-vector of noise per "
        "step (not for untied students); auto is reduced wherever that is exact.",
    )
    dtype: Literal["float32", "float64"] = Field(
        "float32", description="Floating-point type of the simulation and of what is stored."
    )
    stop: Literal["horizon", "recovered", "decided"] = Field(
        "horizon",
        description="When a replica freezes: at the horizon, at its weak recovery, or when its end is decided. "
        "Later recordings are NaN.",
    )
    common_random_numbers: Annotated[
        tuple[str, ...],
        BeforeValidator(read_shared_axes, json_schema_input_type=list[Literal[SHARED]]),
        Form("list of axes"),
    ] = Field(
        (),
        description="Axes along which points use the same random numbers, replica by replica, so that they can be "
        "compared with less noise. Intervals allow for it. Any axis of the grid but length.",
    )


def _read_entries(value: object) -> tuple:
    """One entry or a list of them, as a tuple. Raises ConfigError for an empty list."""
    entries = value if isinstance(value, list | tuple) else (value,)
    if not entries:
        raise refusal(value, "is empty; give at least one entry")
    return tuple(entries)


def _read_encodings(value: object) -> tuple:
    """As `_read_entries`; a bare word is the encoding of that name."""
    entries = _read_entries(value)
    return tuple({"name": entry, "pattern": entry} if isinstance(entry, str) else entry for entry in entries)


_ENTRIES = Form("list of mappings, each with a `name`")
Targets = Annotated[tuple[TargetConfig, ...], BeforeValidator(_read_entries), _ENTRIES]
Students = Annotated[tuple[StudentConfig, ...], BeforeValidator(_read_entries), _ENTRIES]
_Encoding = Literal[PATTERN_WORDS] | EncodingConfig
Encodings = Annotated[
    tuple[EncodingConfig, ...],
    BeforeValidator(_read_encodings, json_schema_input_type=_Encoding | list[_Encoding]),
    _ENTRIES,
]


class GridConfig(Section):
    """The axes of the sweep; a single value keeps its axis, and the order of values does not matter."""

    place: ClassVar[str] = "sweeps.<name>.grid"
    d: Counts = Field(description="Token dimension.")
    length: Counts = Field(description="Sequence length L.")
    sie: Counts | None = Field(
        None, description="Sequence information exponent; for the family hermite, and only there."
    )
    omega: Fractions | None = Field(
        None, description="Weight of the positional part; for positional-semantic and mixed-logit, and only there."
    )
    a: Positives | None = Field(
        None, description="Strength of the positional part; for positional-semantic and mixed-logit, and only there."
    )
    learning_rate: Positives | None = Field(
        None, description="Learning rates as an axis, instead of `sgd.learning_rate`."
    )
    target: Targets | None = Field(None, description="Several targets, instead of `model.target`.")
    student: Students | None = Field(None, description="Several students, instead of `model.student`.")
    encoding: Encodings | None = Field(
        None, description="Several encodings, instead of `model.encoding`; a bare word is its own name."
    )

    @model_validator(mode="after")
    def _check_names(self) -> GridConfig:
        check_names(self)
        return self


class RecordConfig(Section):
    """When overlaps are recorded; step 0 always is. One of the two keys; the default is {per_decade: 20}."""

    place: ClassVar[str] = "sweeps.<name>.record"
    per_decade: Count | None = Field(None, description="Recordings per decade of steps, evenly spaced in log(step).")
    every: Count | None = Field(None, description="One recording every so many steps.")

    @model_validator(mode="after")
    def _check(self) -> RecordConfig:
        given = [key for key in ("per_decade", "every") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ConfigError("", given, "must have exactly one of per_decade and every")
        return self


class RecoveryConfig(Section):
    """What counts as weak recovery, and as a decided end."""

    place: ClassVar[str] = "sweeps.<name>.recovery"
    threshold: Quantities = Field(
        (0.5,), description="Norms ||(e, m)||, inside (0, 1), at which weak recovery is timed."
    )
    decided: Annotated[Number, Form("number inside (0, 1)")] = Field(
        0.7, gt=0, lt=1, description="The overlap beyond which an end is semantic or positional."
    )


class ResourcesConfig(Section):
    """What a task asks of the machine."""

    place: ClassVar[str] = "sweeps.<name>.resources"
    gpu: Annotated[Number, Form("number, at least 0")] = Field(
        0, ge=0, description="GPUs for each task; a fraction shares one between tasks. 0 runs on CPUs."
    )
    checkpoint: Annotated[Number, Form("number of seconds, above 0")] = Field(
        120,
        gt=0,
        description="A task that runs longer stores what it has after every so many seconds, and after a kill goes on "
        "from there. It changes no number.",
    )
