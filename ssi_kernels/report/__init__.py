"""Figures and a page from the tables and datasets of a sweep.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib

_HOMES = {"draw_figures": "ssi_kernels.report.draw", "write_report": "ssi_kernels.report.page"}
__all__ = [*_HOMES]


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
