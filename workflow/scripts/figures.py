"""Figures of a sweep from its datasets and tables."""

from ssi_kernels.execute.stage import stage
from ssi_kernels.report import draw_figures
from ssi_kernels.sweep import analyses


def main(snakemake) -> None:
    with stage(snakemake.config, snakemake.params.sweep, snakemake.log[0]) as (placed, console):
        figures = draw_figures(
            placed.recovery, placed.trajectories, placed.tables, placed.figures, analyses(placed.sweep)
        )
        console.say(f"sweep {placed.name}: figures {', '.join(figures)}")


main(snakemake)  # noqa: F821
