"""Build the two datasets of a sweep from the store."""

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.console import Console
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.request import place
from ssi_kernels.store import consolidate
from ssi_kernels.sweep import parse_config


def main(snakemake) -> None:
    with one_line_errors(), Console(snakemake.log[0]) as console:
        placed = place(parse_config(snakemake.config))[snakemake.wildcards.sweep]
        built = consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        if built.missing:
            raise StoreError(f"sweep {placed.name}: {built.missing} points were lost from the store: run again")
        console.say(f"sweep {placed.name}: {built.complete} points in {built.trajectories} and {built.recovery.name}")


main(snakemake)  # noqa: F821
