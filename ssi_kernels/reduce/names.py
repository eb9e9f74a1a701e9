"""Which tables and figures a sweep has; imports nothing, so that a workflow can ask while it parses."""

from __future__ import annotations

from collections.abc import Iterable

ANALYSES = ("recovery", "scaling", "gain", "phase")
FORMATS = ("png", "svg", "pdf")

_TABLES = {
    "recovery": ("recovery",),
    "scaling": ("scaling",),
    "gain": ("gain", "gain_fit"),
    "phase": ("phase", "transition"),
}
_FIGURES = {
    "recovery": ("trajectories", "recovery", "outcomes"),
    "scaling": ("scaling",),
    "gain": ("gain",),
    "phase": ("phase",),
}


def table_names(analyses: Iterable[str]) -> tuple[str, ...]:
    """The tables of these analyses, without their suffix `.csv`.

    >>> table_names(["phase", "recovery"])
    ('recovery', 'phase', 'transition')
    """
    return _collect(_TABLES, analyses)


def figure_names(analyses: Iterable[str]) -> tuple[str, ...]:
    """The figures of these analyses, without a suffix; each exists as png, svg and pdf.

    >>> figure_names(["scaling"])
    ('scaling',)
    """
    return _collect(_FIGURES, analyses)


def _collect(members: dict[str, tuple[str, ...]], analyses: Iterable[str]) -> tuple[str, ...]:
    wanted = set(analyses)
    if unknown := sorted(wanted - set(ANALYSES)):
        raise ValueError(f"analyses: {unknown}: use any of {', '.join(ANALYSES)}")
    return tuple(name for analysis in ANALYSES if analysis in wanted for name in members[analysis])
