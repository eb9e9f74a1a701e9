"""Figures and a page from the tables and datasets of a sweep.

Names are loaded when first used.
"""

from __future__ import annotations

from ssi_kernels.lazy import lazy_names

_HOMES = {
    "draw_figures": "ssi_kernels.report.draw",
    "write_report": "ssi_kernels.report.page",
    "draw_entry": "ssi_kernels.report.theory_page",
    "write_entry_report": "ssi_kernels.report.theory_page",
}
__all__ = [*_HOMES]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
