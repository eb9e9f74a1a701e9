"""Figures and the page of an entry of `theory`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ssi_kernels.reduce.names import theory_figure_names
from ssi_kernels.reduce.theory_entry import read_entry
from ssi_kernels.report.html import Page, figures_of, tables_of, write_page
from ssi_kernels.report.landscapes import draw_landscapes
from ssi_kernels.report.phase_diagram import draw_phase_diagram
from ssi_kernels.report.style import save
from ssi_kernels.report.theory_captions import FIGURES, SUBSET, TABLES, TABLES_NOTE
from ssi_kernels.report.theory_headline import theory_headlines


def draw_entry(kind: str, dataset_path: str | Path, figures_dir: str | Path) -> dict[str, list[Path]]:
    """Draws the figures of an entry (`theory_figure_names`) from its dataset; returns the files by figure."""
    dataset, tables = read_entry(kind, dataset_path)
    drawings: dict[str, Callable[[], Figure]] = {
        "phase_diagram": lambda: draw_phase_diagram(dataset, tables["phase_boundaries"]),
        "landscapes": lambda: draw_landscapes(dataset),
    }
    return {name: save(drawings[name], Path(figures_dir) / name) for name in theory_figure_names(kind)}


def write_entry_report(
    name: str, kind: str, dataset_path: str | Path, figures_dir: str | Path, out: str | Path, description: str | None
) -> Path:
    """Writes the report of an entry to `out`, whole or not at all, and returns its path. It makes no request."""
    dataset, tables = read_entry(kind, dataset_path)
    attributes = dict(dataset.attrs)
    page = Page(
        name=name,
        title=f"Theory {name}",
        description=description or "",
        headlines=theory_headlines(kind, tables),
        warnings=[],
        figures=figures_of(Path(figures_dir), FIGURES, theory_figure_names(kind)),
        subset=SUBSET if kind == "landscape" else "",
        tables=tables_of(tables, TABLES),
        tables_note=TABLES_NOTE,
        configuration=json.loads(attributes.pop("configuration")),
        attributes=attributes,
    )
    return write_page(page, out)
