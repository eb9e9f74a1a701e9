"""The report of a sweep: one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ssi_kernels.reduce.names import figure_names
from ssi_kernels.reduce.runs import axes_of
from ssi_kernels.reduce.tables import read_tables
from ssi_kernels.report.captions import FIGURES, SUBSET, TABLES, TABLES_NOTE
from ssi_kernels.report.headline import headlines
from ssi_kernels.report.html import Page, figures_of, tables_of, write_page
from ssi_kernels.report.warnings import theory_warnings
from ssi_kernels.store import open_recovery


def write_report(
    sweep_name: str,
    recovery_path: str | Path,
    tables_dir: str | Path,
    figures_dir: str | Path,
    analyses: Iterable[str],
    out: str | Path,
) -> Path:
    """Writes the report of a sweep to `out`, whole or not at all, and returns its path.

    First the results in words, then figures, tables, configuration and provenance, with figures and styles inside the
    file: it makes no request. Figures and tables are those that `draw_figures` and `reduce_sweep` wrote.
    """
    analyses = tuple(analyses)
    tables = read_tables(tables_dir, analyses)
    recovery = open_recovery(recovery_path)
    attributes = dict(recovery.attrs)
    configuration = json.loads(attributes.pop("configuration", "{}"))
    page = Page(
        name=sweep_name,
        title=f"Sweep {sweep_name}",
        description=_description(configuration),
        headlines=headlines(tables),
        warnings=theory_warnings(tables["theory_points"], axes_of(recovery)) if "theory_points" in tables else [],
        figures=figures_of(Path(figures_dir), FIGURES, figure_names(analyses)),
        subset=SUBSET,
        tables=tables_of(tables, TABLES),
        tables_note=TABLES_NOTE,
        configuration=configuration,
        attributes=attributes,
    )
    return write_page(page, out)


def _description(configuration: Mapping) -> str:
    return " ".join(sweep.get("description", "") for sweep in configuration.get("sweeps", {}).values())
