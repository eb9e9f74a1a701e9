"""What every part of the configuration shares: strict sections, and the types of their keys."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep.quantities import read_integer, read_number, read_quantity
from ssi_kernels.sweep.refusals import first_error, refusal

_LIKE = 0.5
Written = int | float | str


@dataclass(frozen=True)
class Form:
    """How the documentation describes what may be written for a key."""

    text: str


class Section(BaseModel):
    """A mapping of the configuration: frozen, without unknown keys, and nothing coerced behind the user's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    place: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: object) -> object:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise refusal(value, f"must be a mapping with keys among {', '.join(cls.model_fields)}")
        for key, entry in value.items():
            if key not in cls.model_fields:
                raise ConfigError(str(key), entry, f"is not a key here; {nearest_key(str(key), cls)}")
        for key, field in cls.model_fields.items():
            if field.is_required() and key not in value:
                raise ConfigError(key, None, f"is required: {field.description}")
        return dict(value)


S = TypeVar("S", bound=Section)


def validated(section: type[S], value: object) -> S:
    """`value` as a section. Raises ConfigError with the key path inside the section."""
    try:
        return section.model_validate(value)
    except ValidationError as error:
        raise first_error(error) from None


def nearest_key(key: str, section: type[Section]) -> str:
    """Words that name the valid key most like `key`: of this section, or, where better, of another."""
    places: dict[str, str] = {name: name for name in section.model_fields}
    for other in sorted(Section.__subclasses__(), key=lambda other: _distance(section, other)):
        for name in other.model_fields:
            places.setdefault(name, f"{other.place}.{name}".lstrip("."))
    likeness, best = max((difflib.SequenceMatcher(None, key, name).ratio(), name) for name in places)
    if likeness < _LIKE:
        return f"valid keys are {', '.join(section.model_fields)}"
    return f"the nearest valid key is {places[best]}"


def _distance(section: type[Section], other: type[Section]) -> tuple[bool, bool, int]:
    """How far another section is from one: its own part of the file first, then sweeps, then what is less deep."""
    here, there = (place.split(".")[0] for place in (section.place, other.place))
    return here != there, there == "theory", other.place.count(".")


def read_name(value: object) -> str:
    """A label of one line. Raises ConfigError."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 100:
        raise refusal(value, "must be a name: text of one line and at most 100 characters")
    return value.strip()


def read_text(value: object) -> str:
    """Free text, also where YAML read it as a number. Raises ConfigError."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise refusal(value, "must be text")
    return str(value)


def read_numbers(value: object) -> tuple[int | float, ...]:
    """A non-empty list of numbers. Raises ConfigError."""
    if not isinstance(value, list | tuple) or not value:
        raise refusal(value, "must be a list of numbers such as [0.5, 0.5]")
    return tuple(read_number(entry) for entry in value)


def read_quantities(value: object) -> tuple[Written, ...]:
    """One quantity, or a non-empty list of them, as a tuple. Raises ConfigError."""
    entries = value if isinstance(value, list | tuple) else [value]
    if not entries:
        raise refusal(value, "is empty; give at least one")
    return tuple(read_quantity(entry) for entry in entries)


Number = Annotated[float, BeforeValidator(read_number, json_schema_input_type=Written), Form("number")]
Integer = Annotated[int, BeforeValidator(read_integer, json_schema_input_type=Written), Form("integer")]
Count = Annotated[Integer, Field(ge=1), Form("integer, at least 1")]
Numbers = Annotated[
    tuple[float, ...], BeforeValidator(read_numbers, json_schema_input_type=list[Written]), Form("list of numbers")
]
Quantity = Annotated[
    Written, BeforeValidator(read_quantity, json_schema_input_type=Written), Form("number, or text in d and L")
]
Quantities = Annotated[
    tuple[Written, ...],
    BeforeValidator(read_quantities, json_schema_input_type=Written | list[Written]),
    Form("number or text in d and L, or a list of them"),
]
Name = Annotated[str, BeforeValidator(read_name), Form("name")]
Text = Annotated[str, BeforeValidator(read_text, json_schema_input_type=Written), Form("text")]
