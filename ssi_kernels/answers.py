"""How every subcommand answers: in words, or with --json in one JSON object on standard output and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

import click

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")


def respond(as_json: bool, content: Mapping, text: Callable[[], str]) -> None:
    """Prints `content` as JSON, or what `text` makes of it."""
    click.echo(json.dumps(finite(content), allow_nan=False) if as_json else text())


def finite(value: object) -> object:
    """The value with every number that does not exist as None: JSON has no NaN."""
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
