"""Build the two datasets of a sweep from the store."""

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.stage import stage
from ssi_kernels.store import consolidate


def main(snakemake) -> None:
    with stage(snakemake.config, snakemake.wildcards.sweep, snakemake.log[0]) as (placed, console):
        built = consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        if built.missing:
            raise StoreError(f"sweep {placed.name}: {built.missing} points were lost from the store: run again")
        kept = f", {built.reused} of {built.blocks} groups as they were" if built.reused else ""
        console.say(
            f"sweep {placed.name}: {built.complete} points in {built.trajectories} and {built.recovery.name}{kept}"
        )


main(snakemake)  # noqa: F821
