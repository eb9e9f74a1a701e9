"""Turning what is wrong with a configuration into one line: key path, value, remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import ValidationError

_BOOLEAN = "; YAML reads yes, no, on and off as booleans, so put such a word in quotes"


def refusal(value: object, remedy: str) -> ConfigError:
    """The error for a value whose key the caller of the reader knows; explains YAML's booleans."""
    return ConfigError("", value, remedy + _BOOLEAN if isinstance(value, bool) else remedy)


def first_error(error: ValidationError) -> ConfigError:
    """The first of pydantic's complaints, with its whole key path."""
    told = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in told["loc"])
    cause = told.get("ctx", {}).get("error")
    found = cause if isinstance(cause, ConfigError) else refusal(told["input"], _remedy(told))
    return found.within(path) if path else found


def _remedy(told: dict) -> str:
    if told["type"] == "literal_error":
        return f"must be {told['ctx']['expected']}"
    return told["msg"].replace("Input should be", "must be")
