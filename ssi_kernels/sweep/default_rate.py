"""The learning rate of a sweep that gives none: a fraction of the noise bound, remembered between runs.

Theory needs JAX, which parsing a workflow must not import again and again: what was computed once is kept in a file.
"""

from __future__ import annotations

from functools import lru_cache

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model
from ssi_kernels.model.starts import Start
from ssi_kernels.sweep.identity import digest
from ssi_kernels.sweep.remembered import remembered

_VERSION = 1
"""Raised whenever theory gives other rates."""


@lru_cache(maxsize=4096)
def default_rate(model: Model, length: int, d: int, start: Start) -> float:
    """0.3 of the noise bound at three digits (`ssi_kernels.theory.bound`).

    Raises ConfigError (no key) where there is none, because the model does not learn.
    """
    key = digest([_VERSION, model.canonical(length), length, d, start.canonical()])
    rate = remembered("rates", key, lambda: _computed(model, length, d, start))
    if rate is None:
        raise ConfigError("", None, f"has no default: {_reason(model, length)}; give a number")
    return rate


def _computed(model: Model, length: int, d: int, start: Start) -> float | None:
    from ssi_kernels.theory.bound import default_rate as computed

    return computed(model, length, d, start)


def _reason(model: Model, length: int) -> str:
    from ssi_kernels.theory.learnability import learnability

    found = learnability(model, length)
    return f"{found.reason} ({found.remedy})" if found.remedy else found.reason
