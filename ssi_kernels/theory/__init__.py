"""The population risk, exponents, flows and phase diagram of a model, to machine precision where a series exists.

>>> import ssi_kernels as ssi
>>> ssi.theory.sie("He4(z1) + 2*He4(z2)", length=2)
4

Names are loaded when first used.
"""

from __future__ import annotations

from ssi_kernels.lazy import lazy_names

_HOMES = {
    "sie": "ssi_kernels.theory.exponent",
    "exponent": "ssi_kernels.theory.exponent",
    "landscape": "ssi_kernels.theory.landscape",
    "risk": "ssi_kernels.theory.risk",
    "gradient": "ssi_kernels.theory.risk",
    "hessian": "ssi_kernels.theory.risk",
    "escape": "ssi_kernels.theory.escape",
    "learnability": "ssi_kernels.theory.learnability",
    "noise_bound": "ssi_kernels.theory.bound",
    "default_rate": "ssi_kernels.theory.bound",
    "flow": "ssi_kernels.theory.flow",
    "predicted_recovery": "ssi_kernels.theory.recovery",
    "best_rate": "ssi_kernels.theory.recovery",
    "predicted_gain": "ssi_kernels.theory.gain",
    "phase": "ssi_kernels.theory.phase",
    "searched_phase": "ssi_kernels.theory.searched",
    "boundaries": "ssi_kernels.theory.boundaries",
    "phase_diagram": "ssi_kernels.theory.diagram",
}
__all__ = [*_HOMES]

_load = lazy_names(__name__, _HOMES)
_FUNCTIONS = {name: home for name, home in _HOMES.items() if home.rpartition(".")[2] == name}


def __getattr__(name: str):
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
