"""Sweeps: from a configuration to points with identities. Imports no JAX.

>>> from ssi_kernels import sweep
>>> config = sweep.load_config("config/smoke.yaml")
>>> grid = sweep.expand(config.sweeps["transition"])

Names are loaded when first used.
"""

from __future__ import annotations

from ssi_kernels.lazy import lazy_names

_HOMES = {
    "Config": "ssi_kernels.sweep.spec",
    "Estimate": "ssi_kernels.sweep.cost",
    "Grid": "ssi_kernels.sweep.grid",
    "Point": "ssi_kernels.sweep.point",
    "SEMANTICS_VERSION": "ssi_kernels.sweep.identity",
    "Sweep": "ssi_kernels.sweep.spec",
    "analyses": "ssi_kernels.sweep.analysis",
    "effective": "ssi_kernels.sweep.load",
    "effective_entry": "ssi_kernels.sweep.theory_models",
    "entry_fingerprint": "ssi_kernels.sweep.theory_models",
    "estimate": "ssi_kernels.sweep.cost",
    "expand": "ssi_kernels.sweep.grid",
    "load_config": "ssi_kernels.sweep.load",
    "parse_config": "ssi_kernels.sweep.load",
}
__all__ = sorted(_HOMES)

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
