"""Sweeps: from a configuration to points with identities. Imports no JAX.

>>> from ssi_kernels import sweep
>>> config = sweep.load_config("config/smoke.yaml")
>>> grid = sweep.expand(config.sweeps["transition"])

Names are loaded when first used.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "Config": "spec",
    "Estimate": "cost",
    "Grid": "grid",
    "Point": "point",
    "SEMANTICS_VERSION": "identity",
    "Sweep": "spec",
    "analyses": "analysis",
    "effective": "load",
    "estimate": "cost",
    "expand": "grid",
    "load_config": "load",
    "parse_config": "load",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
