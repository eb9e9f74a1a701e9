"""Simulate what a sweep misses; say so in its manifest when nothing is missing any more."""

import sys

from ssi_kernels.execute.exits import FAILED_WORK, one_line_errors
from ssi_kernels.execute.ray_driver import run_sweep
from ssi_kernels.execute.request import place, write_manifest
from ssi_kernels.sweep import parse_config


def main(snakemake) -> None:
    with one_line_errors():
        placed = place(parse_config(snakemake.config))[snakemake.wildcards.sweep]
        outcome = run_sweep(placed, cores=snakemake.threads, log=snakemake.log[0])
        if outcome.failures:
            sys.exit(FAILED_WORK)
        write_manifest(placed)


main(snakemake)  # noqa: F821
