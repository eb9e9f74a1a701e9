"""Compute an entry of theory: its dataset and tables."""

from ssi_kernels.execute.stage import theory_stage
from ssi_kernels.reduce import compute_entry


def main(snakemake) -> None:
    with theory_stage(snakemake.config, snakemake.params.entry, snakemake.log[0]) as (placed, console):
        tables = compute_entry(placed.name, placed.entry, placed.fingerprint, placed.dataset, placed.tables)
        console.say(f"theory {placed.name}: {placed.dataset}, tables {', '.join(tables)}")


main(snakemake)  # noqa: F821
