import re
import sys

sys.path.insert(
    0, workflow.basedir
)  # the package beside this workflow, installed or not

from ssi_kernels.execute.environment import extend_search_path
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.request import place, refresh_requests
from ssi_kernels.execute.theory_request import place_theory, refresh_theory_requests
from ssi_kernels.reduce import (
    figure_names,
    table_names,
    theory_figure_names,
    theory_table_names,
)
from ssi_kernels.sweep import analyses, parse_config
from ssi_kernels.sweep.load import read_yaml

extend_search_path()

with one_line_errors():
    for PATH in workflow.overwrite_configfiles:
        # Finds keys that are there twice, which Snakemake's own reading loses.
        read_yaml(PATH)
    CONFIG = parse_config(config)
    SWEEPS, THEORY = place(CONFIG), place_theory(CONFIG)
    RESULTS = CONFIG.results
    if workflow.is_main_process:
        for LINE in [*refresh_requests(SWEEPS), *refresh_theory_requests(THEORY)]:
            logger.info(LINE)


wildcard_constraints:
    sweep="|".join(map(re.escape, SWEEPS)) or "(?!)",  # without sweeps, nothing


def tables(name):
    """The tables of a sweep."""
    return expand(
        f"{RESULTS}/{name}/tables/{{table}}.csv",
        table=table_names(analyses(SWEEPS[name].sweep)),
    )


def figures(name):
    """The figures of a sweep."""
    return expand(
        f"{RESULTS}/{name}/figures/{{figure}}.{{suffix}}",
        figure=figure_names(analyses(SWEEPS[name].sweep)),
        suffix=["png", "svg", "pdf"],
    )


def finished(name):
    """What a sweep ends with: all of it is asked for, because Snakemake leaves lost intermediate files lost."""
    folder = f"{RESULTS}/{name}"
    return [
        f"{folder}/manifest.json",
        f"{folder}/consolidated.json",
        *tables(name),
        *figures(name),
        f"{folder}/report.html",
    ]


def theory_tables(name):
    """The tables of an entry of theory."""
    return expand(
        f"{RESULTS}/{name}/tables/{{table}}.csv",
        table=theory_table_names(THEORY[name].entry.kind),
    )


def theory_figures(name):
    """The figures of an entry of theory."""
    return expand(
        f"{RESULTS}/{name}/figures/{{figure}}.{{suffix}}",
        figure=theory_figure_names(THEORY[name].entry.kind),
        suffix=["png", "svg", "pdf"],
    )


def finished_theory(name):
    """What an entry of theory ends with."""
    folder = f"{RESULTS}/{name}"
    return [
        f"{folder}/consolidated.json",
        *theory_tables(name),
        *theory_figures(name),
        f"{folder}/report.html",
    ]


def fingerprint(wildcards):
    """Names the grid: a change of it, even to fewer points, is a reason to run."""
    return SWEEPS[wildcards.sweep].grid.fingerprint
