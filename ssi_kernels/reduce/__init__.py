"""From datasets to tables: recovery times, scaling exponents, gains, phase fractions, each with its interval.

Names are loaded when first used: `table_names` and `figure_names` must cost no import of dask, pandas or SciPy.
"""

from __future__ import annotations

from ssi_kernels.lazy import lazy_names

_HOMES = {
    "table_names": "ssi_kernels.reduce.names",
    "figure_names": "ssi_kernels.reduce.names",
    "theory_table_names": "ssi_kernels.reduce.names",
    "theory_figure_names": "ssi_kernels.reduce.names",
    "compute_entry": "ssi_kernels.reduce.theory_entry",
    "reduce_sweep": "ssi_kernels.reduce.tables",
    "read_tables": "ssi_kernels.reduce.tables",
}
__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
