"""Tables of a sweep from its datasets, with what theory says of the same points."""

from ssi_kernels.execute.environment import prepare_theory
from ssi_kernels.execute.stage import stage
from ssi_kernels.reduce import reduce_sweep
from ssi_kernels.sweep import analyses


def main(snakemake) -> None:
    prepare_theory()
    with stage(snakemake.config, snakemake.params.sweep, snakemake.log[0]) as (placed, console):
        tables = reduce_sweep(placed.recovery, placed.trajectories, placed.tables, analyses(placed.sweep))
        console.say(f"sweep {placed.name}: tables {', '.join(tables)}")


main(snakemake)  # noqa: F821
