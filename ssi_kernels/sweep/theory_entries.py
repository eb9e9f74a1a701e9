"""What is computed without simulating: entries of `theory`, as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.losses import LOSSES
from ssi_kernels.sweep.agreement import check_family_axes, check_names, check_pieces
from ssi_kernels.sweep.axis import Counts, Fractions, Positives, Range, read_axis, read_fraction, read_positive
from ssi_kernels.sweep.fields import Form, Integer, Section, validated
from ssi_kernels.sweep.pieces import EncodingConfig, StudentConfig, TargetConfig
from ssi_kernels.sweep.refusals import refusal
from ssi_kernels.sweep.sections import Encodings, ModelConfig, Students, Targets

MOST_PHASES = 250_000
MOST_SEARCHED = 500
"""Where every point takes seconds, and every a minutes."""


class PhaseDiagramEntry(Section):
    """`kind: phase-diagram`. Minima of the population risk and the first direction of learning over the (omega, a)
    plane, for the target positional-semantic, attention with reduction identity, opposite pair, L = 2."""

    place: ClassVar[str] = "theory.<name>"
    kind: Literal["phase-diagram"] = Field(description="What is computed: phase-diagram or landscape.")
    description: str | None = Field(None, description="A line about the entry, for its report.")
    omega: Fractions = Field(
        read_axis(Range(start=0, stop=1, num=101), read_fraction), description="Weights of the positional part."
    )
    a: Positives = Field(
        read_axis(Range(start=0.7, stop=1, num=61), read_positive), description="Strengths of the positional part."
    )
    loss: Literal[LOSSES] = Field("squared", description="||y - f||^2, or ||y - f|| (not squared).")

    @model_validator(mode="after")
    def _check(self) -> PhaseDiagramEntry:
        count, most = len(self.omega) * len(self.a), MOST_PHASES if self.loss == "squared" else MOST_SEARCHED
        if count > most:
            sizes = {"omega": len(self.omega), "a": len(self.a)}
            raise ConfigError("", sizes, f"has {count} points; the most with loss {self.loss} is {most}")
        return self


class LandscapeEntry(Section):
    """`kind: landscape`. The population risk over the overlaps (e, m), and what it looks like at 0, where learning
    starts; for every combination of the axes that are given."""

    place: ClassVar[str] = "theory.<name>"
    kind: Literal["landscape"] = Field(description="What is computed: phase-diagram or landscape.")
    description: str | None = Field(None, description="A line about the entry, for its report.")
    model: ModelConfig = Field(ModelConfig(), description="Target, student, encoding and loss, as in a sweep.")
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
    target: Targets | None = Field(None, description="Several targets, instead of `model.target`.")
    student: Students | None = Field(None, description="Several students, instead of `model.student`.")
    encoding: Encodings | None = Field(
        None, description="Several encodings, instead of `model.encoding`; a bare word is its own name."
    )
    points: Annotated[Integer, Field(ge=3, le=1001), Form("odd integer, at least 3")] = Field(
        81, description="Values of each overlap, from -1 to 1; odd, so that 0 is among them."
    )

    @property
    def targets(self) -> tuple[TargetConfig, ...]:
        """The targets of the list, or the one of the model."""
        return self.target or (self.model.target,)

    @property
    def students(self) -> tuple[StudentConfig, ...]:
        """The students of the list, or the one of the model."""
        return self.student or (self.model.student,)

    @property
    def encodings(self) -> tuple[EncodingConfig, ...]:
        """The encodings of the list, or the one of the model."""
        return self.encoding or (self.model.encoding,)

    @model_validator(mode="after")
    def _check(self) -> LandscapeEntry:
        check_names(self)
        check_pieces(self.model, self, "")
        check_family_axes(self.targets, self, "")
        if self.points % 2 == 0:
            raise ConfigError("points", self.points, "must be odd, so that the overlap 0 is among the values")
        return self


_SECTIONS = {"phase-diagram": PhaseDiagramEntry, "landscape": LandscapeEntry}
KINDS = tuple(_SECTIONS)


def read_theory_entry(value: object) -> PhaseDiagramEntry | LandscapeEntry:
    """An entry of the kind that it names. Raises ConfigError."""
    if isinstance(value, PhaseDiagramEntry | LandscapeEntry):
        return value
    if not isinstance(value, Mapping):
        raise refusal(value, "must be a mapping with the key kind")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _SECTIONS:
        told = refusal(kind, f"must be one of {', '.join(KINDS)}")
        raise told.within("kind")
    return validated(_SECTIONS[kind], value)


TheoryEntry = Annotated[PhaseDiagramEntry | LandscapeEntry, BeforeValidator(read_theory_entry)]
