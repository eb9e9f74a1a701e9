"""The report of a sweep: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import pandas as pd
import yaml

from ssi_kernels.reduce.names import figure_names
from ssi_kernels.reduce.tables import read_tables
from ssi_kernels.report.captions import FIGURES, SUBSET, TABLES
from ssi_kernels.report.headline import headlines
from ssi_kernels.report.labels import number
from ssi_kernels.store import open_recovery
from ssi_kernels.store.atomic import write_bytes

MOST_ROWS = 60
LARGEST_SVG = 300_000
_TITLES = {
    "package_version": "ssi-kernels",
    "device": "device",
    "xla_flags": "XLA flags",
    "commit": "commit",
    "python": "Python",
    "finished_at": "runs finished at (UTC)",
    "kernel_seconds": "time in the kernels, all workers (s)",
}


@dataclass(frozen=True)
class Figure:
    """A figure inside the page; `source` is a data URI."""

    name: str
    title: str
    caption: str
    source: str


@dataclass(frozen=True)
class Table:
    """The first rows of a table as text, and how many rows it has."""

    name: str
    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]
    is_text: list[bool]
    length: int


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
    attributes = dict(open_recovery(recovery_path).attrs)
    configuration = json.loads(attributes.pop("configuration", "{}"))
    page = _template().render(
        sweep=sweep_name,
        description=_description(configuration),
        headlines=headlines(tables),
        figures=_figures(Path(figures_dir), analyses),
        subset=SUBSET,
        tables=_tables(tables),
        configuration=yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True),
        provenance=_provenance(attributes),
    )
    write_bytes(Path(out), page.encode())
    return Path(out)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssi_kernels.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.j2")


def _description(configuration: Mapping) -> str:
    return " ".join(sweep.get("description", "") for sweep in configuration.get("sweeps", {}).values())


def _figures(folder: Path, analyses: tuple[str, ...]) -> list[Figure]:
    names = figure_names(analyses)
    return [Figure(name, *text, _data_uri(folder / name)) for name, text in FIGURES.items() if name in names]


def _data_uri(stem: Path) -> str:
    """The figure as SVG, or as PNG where the SVG is large."""
    svg = stem.with_name(f"{stem.name}.svg")
    small = svg.stat().st_size <= LARGEST_SVG
    path, kind = (svg, "svg+xml") if small else (stem.with_name(f"{stem.name}.png"), "png")
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _tables(tables: Mapping[str, pd.DataFrame]) -> list[Table]:
    return [_table(name, *text, tables[name]) for name, text in TABLES.items() if name in tables]


def _table(name: str, title: str, note: str, table: pd.DataFrame) -> Table:
    shown = table.head(MOST_ROWS)
    rows = [[_cell(value) for value in row] for row in shown.itertuples(index=False)]
    is_text = [not pd.api.types.is_numeric_dtype(table[column]) for column in table.columns]
    return Table(name, title, note, list(table.columns), rows, is_text, len(table))


def _cell(value: object) -> str:
    return value if isinstance(value, str) else number(value)


def _provenance(attributes: Mapping[str, object]) -> list[tuple[str, str]]:
    """Names and values of the dataset's attributes; those known come first, under their title."""
    known = [(title, str(attributes[key]) or "none") for key, title in _TITLES.items() if key in attributes]
    others = [(key, str(value) or "none") for key, value in sorted(attributes.items()) if key not in _TITLES]
    return known + others
