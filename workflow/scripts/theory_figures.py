"""Figures of an entry of theory from its dataset."""

from ssi_kernels.execute.stage import theory_stage
from ssi_kernels.report import draw_entry


def main(snakemake) -> None:
    with theory_stage(snakemake.config, snakemake.params.entry, snakemake.log[0]) as (placed, console):
        figures = draw_entry(placed.entry.kind, placed.dataset, placed.figures)
        console.say(f"theory {placed.name}: figures {', '.join(figures)}")


main(snakemake)  # noqa: F821
