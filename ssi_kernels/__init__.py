"""Exact, distributed parameter sweeps of one-pass SGD on sequence single-index models and attention.

>>> import ssi_kernels as ssi
>>> model = ssi.Model(target=ssi.targets.positional_semantic(omega=0.5, a=1.0),
...                   student=ssi.students.attention(), encoding=ssi.encodings.opposite_pair())

Names are loaded when first used, so that reading a configuration imports no JAX.
"""

from __future__ import annotations

from importlib import import_module

from ssi_kernels.kernels import xla as xla  # sets XLA's options, before anyone starts JAX
from ssi_kernels.lazy import lazy_names

_HOMES = {
    "ConfigError": "ssi_kernels.errors",
    "StoreError": "ssi_kernels.errors",
    "Model": "ssi_kernels.model",
    "targets": "ssi_kernels.model",
    "students": "ssi_kernels.model",
    "encodings": "ssi_kernels.model",
    "starts": "ssi_kernels.model",
    "simulate": "ssi_kernels.execute.simulate",
}
__all__ = [*_HOMES, "__version__", "theory"]
_load = lazy_names(__name__, _HOMES)


def __getattr__(name: str):
    if name == "__version__":
        from importlib.metadata import version

        return version("ssi-kernels")
    if name == "theory":
        return import_module("ssi_kernels.theory")
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
