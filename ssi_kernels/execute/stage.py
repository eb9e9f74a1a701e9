"""What every script of the workflow begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ssi_kernels.execute.console import Console
from ssi_kernels.execute.environment import extend_search_path, prepare_theory
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.theory_request import PlacedEntry, place_theory
from ssi_kernels.sweep import parse_config


@contextmanager
def stage(config: Mapping, name: str, log: Path | None = None) -> Iterator[tuple[PlacedSweep, Console]]:
    """The sweep `name` of a configuration and a console with the file `log`; expected errors end in one line."""
    extend_search_path()
    with one_line_errors(), Console(log) as console:
        yield place(parse_config(config))[name], console


@contextmanager
def theory_stage(config: Mapping, name: str, log: Path | None = None) -> Iterator[tuple[PlacedEntry, Console]]:
    """As `stage`, for the entry `name` of `theory`."""
    extend_search_path()
    prepare_theory()
    with one_line_errors(), Console(log) as console:
        yield place_theory(parse_config(config))[name], console
