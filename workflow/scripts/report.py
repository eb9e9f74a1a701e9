"""The page of a sweep from its tables, figures and provenance."""

from ssi_kernels.execute.stage import stage
from ssi_kernels.report import write_report
from ssi_kernels.sweep import analyses


def main(snakemake) -> None:
    with stage(snakemake.config, snakemake.wildcards.sweep, snakemake.log[0]) as (placed, console):
        page = write_report(
            placed.name, placed.recovery, placed.tables, placed.figures, analyses(placed.sweep), placed.page
        )
        console.say(f"sweep {placed.name}: {page}")


main(snakemake)  # noqa: F821
