"""The page of an entry of theory from its dataset and figures."""

from ssi_kernels.execute.stage import theory_stage
from ssi_kernels.report import write_entry_report


def main(snakemake) -> None:
    with theory_stage(snakemake.config, snakemake.params.entry, snakemake.log[0]) as (placed, console):
        description = placed.entry.description
        page = write_entry_report(
            placed.name, placed.entry.kind, placed.dataset, placed.figures, placed.page, description
        )
        console.say(f"theory {placed.name}: {page}")


main(snakemake)  # noqa: F821
