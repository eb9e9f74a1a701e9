"""Which tables and figures a sweep has; imports nothing, so that a workflow can ask while it parses."""

from __future__ import annotations

from collections.abc import Iterable

ANALYSES = ("recovery", "scaling", "gain", "phase")
FORMATS = ("png", "svg", "pdf")

_TABLES = {
    "recovery": ("recovery", "theory_points", "theory_flow"),
    "scaling": ("scaling",),
    "gain": ("gain", "gain_fit"),
    "phase": ("phase", "transition", "theory_boundaries"),
}
_FIGURES = {
    "recovery": ("trajectories", "recovery", "outcomes"),
    "scaling": ("scaling",),
    "gain": ("gain",),
    "phase": ("phase",),
}

_THEORY_TABLES = {"phase-diagram": ("phase_boundaries", "phase_regions"), "landscape": ("landscapes",)}
_THEORY_FIGURES = {"phase-diagram": ("phase_diagram",), "landscape": ("landscapes",)}


def theory_table_names(kind: str) -> tuple[str, ...]:
    """The tables of an entry of `theory` of this kind.

    >>> theory_table_names("landscape")
    ('landscapes',)
    """
    return _THEORY_TABLES[kind]


def theory_figure_names(kind: str) -> tuple[str, ...]:
    """The figures of an entry of `theory` of this kind."""
    return _THEORY_FIGURES[kind]


def table_names(analyses: Iterable[str]) -> tuple[str, ...]:
    """The tables of these analyses, without their suffix `.csv`.

    >>> table_names(["phase"])
    ('phase', 'transition', 'theory_boundaries')
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
