"""Errors a user can act on, and the codes by which outcomes are stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ConfigError(ValueError):
    """Bad input, told in one line: which key, what value, and what would be right.

    >>> str(ConfigError("omega", 1.5, "must lie in [0, 1]"))
    'omega: 1.5: must lie in [0, 1]'
    """

    def __init__(self, key: str, value: object, remedy: str):
        self.key, self.value, self.remedy = key, value, remedy
        super().__init__(key, value, remedy)

    def __str__(self) -> str:
        return " ".join(f"{self.key}: {_shown(self.value)}: {self.remedy}".split())

    def within(self, path: str) -> ConfigError:
        """The same error with `path` put before its key, for a piece that sits inside a configuration."""
        return type(self)(f"{path}.{self.key}" if self.key else path, self.value, self.remedy)


def _shown(value: object) -> str:
    """`repr(value)`, shortened; the type where a value cannot be shown, such as an integer of 5000 digits."""
    try:
        shown = repr(value)
    except Exception:
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= 120 else shown[:117] + "..."


@contextmanager
def located(path: str) -> Iterator[None]:
    """Inside the block, a ConfigError gets `path` before its key."""
    try:
        yield
    except ConfigError as error:
        raise error.within(path) from None


class StoreError(RuntimeError):
    """The store could not do what was asked; the message names the file and the remedy."""


class Outcome(IntEnum):
    """What became of one replica at one weak-recovery threshold."""

    NOT_RUN = -1
    CENSORED = 0
    RECOVERED = 1
    DIVERGED = 2


class End(IntEnum):
    """Where one replica ended on the quarter disc of overlaps."""

    NOT_RUN = -1
    UNDECIDED = 0
    SEMANTIC = 1
    POSITIONAL = 2
    ELSEWHERE = 3


class Status(IntEnum):
    """Whether one (point, replica) has been computed."""

    MISSING = 0
    COMPLETE = 1
    FAILED = 2
