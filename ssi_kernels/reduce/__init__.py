"""From datasets to tables: recovery times, scaling exponents, gains, phase fractions, each with its interval.

Names are loaded when first used: `table_names` and `figure_names` must cost no import of dask, pandas or SciPy.
"""

from __future__ import annotations

import importlib

_HOMES = {
    "table_names": "ssi_kernels.reduce.names",
    "figure_names": "ssi_kernels.reduce.names",
    "reduce_sweep": "ssi_kernels.reduce.tables",
    "read_tables": "ssi_kernels.reduce.tables",
}
__all__ = [*_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
