"""Target, student, encoding and start as users write them, and the pieces of a model they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import encodings, starts, students, targets
from ssi_kernels.model.encodings import Encoding
from ssi_kernels.model.starts import Start
from ssi_kernels.model.students import Student
from ssi_kernels.model.targets import Target
from ssi_kernels.sweep.fields import (
    Form,
    Name,
    Numbers,
    Quantities,
    Quantity,
    Section,
    Text,
    Written,
    read_numbers,
    validated,
)
from ssi_kernels.sweep.quantities import evaluate
from ssi_kernels.sweep.refusals import refusal

_PATTERNS = {"opposite-pair": encodings.opposite_pair, "alternating": encodings.alternating}
PATTERN_WORDS = ("none", *_PATTERNS)
_NAME = "The coordinate of this entry, where it stands in a list under `grid`."


def read_pattern(value: object) -> str | tuple[tuple[float, ...], ...]:
    """A word, or a matrix with one row per position. Raises ConfigError."""
    if isinstance(value, str) and value in PATTERN_WORDS:
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(row, list | tuple) for row in value):
        return tuple(read_numbers(row) for row in value)
    raise refusal(value, f"must be one of {', '.join(PATTERN_WORDS)}, or rows such as [[1], [-1]]")


Pattern = Annotated[
    str | tuple[tuple[float, ...], ...],
    BeforeValidator(read_pattern, json_schema_input_type=Literal[PATTERN_WORDS] | list[list[Written]]),
    Form(f"{', '.join(PATTERN_WORDS)}, or a list of rows"),
]


class TargetConfig(Section):
    """What has to be learned: exactly one of `family`, `expression` and `callable`."""

    place: ClassVar[str] = "sweeps.<name>.model.target"
    family: Literal["positional-semantic", "mixed-logit", "hermite"] | None = Field(
        None, description="A named family. The first two need the axes `omega` and `a`, hermite needs the axis `sie`."
    )
    expression: str | None = Field(
        None,
        description="A scalar expression of the fields `z` (all), `z1`, `z2`, ... and the length `L`, "
        'such as "sum(He2(z))/sqrt(2)".',
    )
    callable: Annotated[str, Form('"module:function"')] | None = Field(
        None, description="A JAX-traceable Python function of the L fields; its source is part of the identity."
    )
    version: Text | None = Field(None, description="A version of the callable, part of its identity.")
    pattern: Pattern | None = Field(
        None,
        description="The positional pattern of positional-semantic and mixed-logit, one column; "
        "when absent, that of the encoding.",
    )
    name: Name | None = Field(None, description=_NAME)

    @model_validator(mode="after")
    def _check(self) -> TargetConfig:
        given = [key for key in ("family", "expression", "callable") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ConfigError("", given, "must have exactly one of family, expression and callable")
        if self.version is not None and self.callable is None:
            raise ConfigError("version", self.version, "is only for a callable target")
        if self.pattern is not None and "omega" not in self.axes:
            raise ConfigError("pattern", self.pattern, "is only for positional-semantic and mixed-logit")
        return self

    @property
    def axes(self) -> tuple[str, ...]:
        """The grid axes that this target needs."""
        if self.family is None:
            return ()
        return ("sie",) if self.family == "hermite" else ("omega", "a")

    def build(self, length: int, *, sie: int | None = None, omega: float = 0.0, a: float = 1.0) -> Target:
        """The target at one length. Raises ConfigError with a key that starts with `target`."""
        try:
            if self.expression is not None:
                return targets.expression(self.expression)
            if self.callable is not None:
                return targets.from_callable(self.callable, self.version)
        except ConfigError as error:
            raise error if error.key.startswith("target") else error.within("target") from None
        if self.family == "hermite":
            return targets.hermite(sie)
        make = targets.positional_semantic if self.family == "positional-semantic" else targets.mixed_logit
        return make(omega, a, self._rows(length))

    def _rows(self, length: int) -> tuple[tuple[float, ...], ...] | None:
        if not isinstance(self.pattern, str):
            return self.pattern
        if self.pattern == "none":
            return None
        return tuple(map(tuple, _PATTERNS[self.pattern]().matrix(length).tolist()))


_MAKERS = {
    "attention": students.attention,
    "linear-attention": students.linear_attention,
    "tied": students.tied,
    "untied": students.untied,
}
KINDS = tuple(_MAKERS)
_OPTIONS = {
    "attention": ("reduction", "a_left", "a_right"),
    "linear-attention": ("reduction", "a_left", "a_right"),
    "tied": ("activation",),
    "untied": ("activation", "norm"),
}


class StudentConfig(Section):
    """What is trained."""

    place: ClassVar[str] = "sweeps.<name>.model.student"
    kind: Literal[KINDS] = Field(
        description="Attention with one direction (with or without softmax), or a sum of tied or untied neurons."
    )
    reduction: Literal[students.REDUCTIONS] | None = Field(
        None, description="attention, linear-attention: what is read off the L x L matrix S; when absent, identity."
    )
    a_left: Numbers | None = Field(None, description="reduction projection: a_l in f = a_l^T S a_r.")
    a_right: Numbers | None = Field(None, description="reduction projection: a_r in f = a_l^T S a_r.")
    activation: Annotated[str, Form("identity, relu, tanh, sigmoid, square, He1, ... or h1, ...")] | None = Field(
        None, description="tied, untied: sigma in f = sigma(sum_i z_i / sqrt(L)); when absent, relu."
    )
    norm: Literal[students.NORMS] | None = Field(
        None, description="untied: keep the norm of all rows together, or of each row; when absent, joint."
    )
    name: Name | None = Field(None, description=_NAME)

    @model_validator(mode="after")
    def _check(self) -> StudentConfig:
        for key in ("reduction", "a_left", "a_right", "activation", "norm"):
            if getattr(self, key) is not None and key not in _OPTIONS[self.kind]:
                allowed = ", ".join(_OPTIONS[self.kind])
                raise ConfigError(key, getattr(self, key), f"is not an option of {self.kind}; those are {allowed}")
        return self

    def build(self) -> Student:
        """The student. Raises ConfigError with a key that starts with `student`."""
        options = {key: getattr(self, key) for key in _OPTIONS[self.kind] if getattr(self, key) is not None}
        return _MAKERS[self.kind](**options)


class EncodingConfig(Section):
    """The positional encoding: a pattern B, an injected shift, or both."""

    place: ClassVar[str] = "sweeps.<name>.model.encoding"
    pattern: Pattern = Field(
        "none",
        description="B, one row per position and one column per direction p_k; opposite-pair is [[1], [-1]], "
        "alternating is (-1)^i for any length.",
    )
    injected: Numbers | None = Field(None, description="A constant shift of the local fields, one number per position.")
    name: Name | None = Field(None, description=_NAME)

    @model_validator(mode="after")
    def _check(self) -> EncodingConfig:
        if not self.model_fields_set & {"pattern", "injected"}:
            raise refusal({}, "must have pattern, injected, or both; write none for no encoding")
        return self

    def build(self) -> Encoding:
        """The encoding. Raises ConfigError with a key that starts with `encoding`."""
        if isinstance(self.pattern, str):
            encoding = encodings.none() if self.pattern == "none" else _PATTERNS[self.pattern]()
        else:
            encoding = encodings.pattern(self.pattern)
        return encoding if self.injected is None else encoding + encodings.injected(self.injected)


def read_encoding(value: object) -> EncodingConfig:
    """A word, or a mapping with `pattern` and `injected`. Raises ConfigError."""
    if isinstance(value, Mapping | EncodingConfig):
        return validated(EncodingConfig, value)
    if not isinstance(value, str) or value not in PATTERN_WORDS:
        remedy = f"must be one of {', '.join(PATTERN_WORDS)}, or a mapping with pattern and injected"
        raise refusal(value, remedy)
    return EncodingConfig(pattern=value)


class StartConfig(Section):
    """Exact overlaps to start from."""

    place: ClassVar[str] = "sweeps.<name>.sgd.start"
    m: Quantity = Field(0, description="Semantic overlap; for untied students that of every position.")
    e: Quantities = Field((0,), description="Positional overlap, or a list with one per direction.")

    def build(self, d: int, length: int) -> Start:
        """The start at one dimension and length. Raises ConfigError with a key that starts with `start`."""
        try:
            m = evaluate(self.m, d, length)
        except ConfigError as error:
            raise error.within("start.m") from None
        try:
            e = [evaluate(entry, d, length) for entry in self.e]
        except ConfigError as error:
            raise error.within("start.e") from None
        return starts.overlaps(m, e)


def read_start(value: object) -> StartConfig | Literal["random"]:
    """`random`, or a mapping with `m` and `e`. Raises ConfigError."""
    if isinstance(value, str) and value == "random":
        return value
    if not isinstance(value, Mapping | StartConfig):
        raise refusal(value, "must be random, or exact overlaps such as {m: 0.0, e: 0.0}")
    return validated(StartConfig, value)
