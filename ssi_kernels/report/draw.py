"""All figures of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from matplotlib.figure import Figure

from ssi_kernels.reduce.names import figure_names
from ssi_kernels.reduce.runs import axes_of
from ssi_kernels.reduce.tables import read_tables
from ssi_kernels.report.gain import draw_gain
from ssi_kernels.report.outcomes import draw_outcomes
from ssi_kernels.report.phase import draw_phase
from ssi_kernels.report.recovery import draw_recovery
from ssi_kernels.report.scaling import draw_scaling
from ssi_kernels.report.style import save
from ssi_kernels.report.trajectories import draw_trajectories
from ssi_kernels.store import open_recovery, open_trajectories


def draw_figures(
    recovery_path: str | Path,
    trajectories_path: str | Path,
    tables_dir: str | Path,
    figures_dir: str | Path,
    analyses: Iterable[str],
) -> dict[str, list[Path]]:
    """Draws every figure of the analyses (`figure_names`) from the datasets and tables; returns the files by figure.

    Each is written as png, svg and pdf, whole or not at all, and to the same bytes when nothing changed.
    """
    names = figure_names(analyses)
    recovery, trajectories = open_recovery(recovery_path), open_trajectories(trajectories_path)
    axes, tables = axes_of(recovery), read_tables(tables_dir, analyses)
    drawings: dict[str, Callable[[], Figure]] = {
        "trajectories": lambda: draw_trajectories(recovery, trajectories, tables["theory_flow"]),
        "recovery": lambda: draw_recovery(tables["recovery"], axes),
        "outcomes": lambda: draw_outcomes(tables["recovery"], axes),
        "scaling": lambda: draw_scaling(tables["recovery"], tables["scaling"], axes),
        "gain": lambda: draw_gain(tables["gain"], tables["gain_fit"], axes),
        "phase": lambda: draw_phase(tables["phase"], tables["transition"], tables["theory_boundaries"], axes),
    }
    return {name: save(drawings[name], Path(figures_dir) / name) for name in names}
