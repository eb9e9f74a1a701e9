"""Simulate what a sweep misses; say so in its manifest when nothing is missing any more."""

import sys

from ssi_kernels.execute.exits import FAILED_WORK
from ssi_kernels.execute.ray_driver import run_sweep
from ssi_kernels.execute.request import write_manifest
from ssi_kernels.execute.stage import stage


def main(snakemake) -> None:
    with stage(snakemake.config, snakemake.wildcards.sweep) as (placed, _):
        outcome = run_sweep(placed, cores=snakemake.threads, log=snakemake.log[0])
        if outcome.failures:
            sys.exit(FAILED_WORK)
        write_manifest(placed)


main(snakemake)  # noqa: F821
