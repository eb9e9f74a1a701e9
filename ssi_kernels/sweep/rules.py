"""Learning rates and horizons that follow the dimension, the length and the student.

Four forms: a quantity (`0.3`, `"1/sqrt(d)"`); powers `{coefficient, d, length, log_d}`; a table
`{by_d: {100: 1e5, 1000: 5e5}}`; or a mapping from students to any of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.sweep.fields import Form, Number, Section, Written, validated
from ssi_kernels.sweep.quantities import evaluate, read_integer, read_quantity
from ssi_kernels.sweep.refusals import refusal

MAX_STEPS = 2**53


class PowerRule(Section):
    """coefficient * d^d * L^length * log(d)^log_d."""

    place: ClassVar[str] = "sweeps.<name>.sgd.<learning_rate or steps>"
    coefficient: Number = Field(description="The factor in front.")
    d: Number = Field(0, description="Power of the dimension.")
    length: Number = Field(0, description="Power of the sequence length.")
    log_d: Number = Field(0, description="Power of the natural logarithm of the dimension.")

    def value(self, d: int, length: int) -> int | float:
        """The rule at one dimension and length, at 12 significant digits. Raises ConfigError where it is not finite."""
        try:
            factors = float(d) ** self.d, float(length) ** self.length, math.log(d) ** self.log_d
            value = self.coefficient * math.prod(factors)
        except ArithmeticError:
            value = math.nan
        if not math.isfinite(value):
            raise refusal(self.model_dump(), f"has no finite value at d = {d}, L = {length}")
        return canonical_number(value)


def _read_table(value: object) -> dict[int, Written]:
    if not isinstance(value, Mapping) or not value:
        raise refusal(value, "must be a mapping from dimensions to values, such as {100: 1e5, 1000: 5e5}")
    table = {}
    for key, entry in value.items():
        d = read_integer(key)
        if d in table:
            raise refusal(key, f"the dimension {d} is there twice; keep one")
        table[d] = read_quantity(entry)
    return dict(sorted(table.items()))


class DimensionTable(Section):
    """One value for each dimension."""

    place: ClassVar[str] = "sweeps.<name>.sgd.<learning_rate or steps>"
    by_d: Annotated[
        dict[int, Written],
        BeforeValidator(_read_table, json_schema_input_type=dict[str, Written]),
        Form("mapping from d to a number, or text in d and L"),
    ] = Field(description="The value at each dimension of the grid.")

    def value(self, d: int) -> Written:
        """The entry for one dimension. Raises ConfigError where there is none."""
        if d not in self.by_d:
            raise ConfigError("by_d", list(self.by_d), f"has no entry for d = {d}; add one")
        return self.by_d[d]


Term = PowerRule | DimensionTable | Written


def read_rule(value: object) -> Term | dict[str, Term]:
    """A rule in one of the four forms; a mapping from students is a dict. Raises ConfigError."""
    rule_keys = PowerRule.model_fields.keys() | DimensionTable.model_fields.keys()
    if not isinstance(value, Mapping) or any(key in rule_keys for key in value):
        return _read_term(value)
    if not value:
        raise refusal(value, "is empty; give a number, {coefficient: ...} or one entry per student")
    return {_student_key(key): _read_entry(str(key), entry) for key, entry in value.items()}


def _student_key(key: object) -> str:
    if not isinstance(key, str):
        raise refusal(key, "must be the name of a student, or a key of a rule such as coefficient")
    return key


def _read_entry(key: str, entry: object) -> Term:
    try:
        return _read_term(entry)
    except ConfigError as error:
        raise error.within(key) from None


def _read_term(value: object) -> Term:
    if isinstance(value, PowerRule | DimensionTable):
        return value
    if not isinstance(value, Mapping):
        return read_quantity(value)
    return validated(DimensionTable if "by_d" in value else PowerRule, value)


_TermInput = Written | PowerRule | DimensionTable
Rule = Annotated[
    Term | dict[str, Term],
    BeforeValidator(read_rule, json_schema_input_type=_TermInput | dict[str, _TermInput]),
    Form("number, text in d and L, rule, table by d, or one of these per student"),
]


def check_students(
    rule: Term | dict[str, Term], students: list[tuple[str | None, str]], kinds: tuple[str, ...]
) -> None:
    """Every entry must be a student or a kind, and every student (name, kind) must find one. Raises ConfigError."""
    if not isinstance(rule, dict):
        return
    known = {name for name, _ in students} | set(kinds)
    for key in rule:
        if key not in known:
            options = ", ".join(PowerRule.model_fields)
            raise ConfigError(
                key, rule[key], f"is neither a student of this sweep nor a key of a rule ({options}, by_d)"
            )
    for name, kind in students:
        if name not in rule and kind not in rule:
            raise refusal(list(rule), f"has no entry for the student {name or kind!r}; add one")


def resolve_rate(rule: Term | dict[str, Term], d: int, length: int, name: str | None, kind: str) -> float:
    """The learning rate of one student at one dimension and length. Raises ConfigError unless it is positive."""
    rate = _value(_choose(rule, d, name, kind), d, length)
    if rate <= 0:
        raise refusal(rate, f"must be positive, at d = {d}, L = {length}")
    return float(rate)


def resolve_steps(rule: Term | dict[str, Term], d: int, length: int, name: str | None, kind: str) -> int:
    """The horizon in steps; what follows d or L is rounded up, a plain number must be an integer.

    Raises ConfigError unless it lies in [1, 2**53).
    """
    term = _choose(rule, d, name, kind)
    steps = math.ceil(_value(term, d, length))
    if isinstance(term, float) and steps != term:
        raise refusal(term, "must be an integer number of steps")
    if not 1 <= steps < MAX_STEPS:
        raise refusal(steps, f"must be at least 1 and below 2**53 steps, at d = {d}, L = {length}")
    return steps


def _choose(rule: Term | dict[str, Term], d: int, name: str | None, kind: str) -> PowerRule | Written:
    term = rule.get(name, rule.get(kind)) if isinstance(rule, dict) else rule
    return term.value(d) if isinstance(term, DimensionTable) else term


def _value(term: PowerRule | Written, d: int, length: int) -> int | float:
    return term.value(d, length) if isinstance(term, PowerRule) else evaluate(term, d, length)
