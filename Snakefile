"""Sweeps of one-pass SGD, simulated on Ray, and entries of theory: datasets, tables, figures and a page for each."""

import os

from snakemake.utils import min_version

min_version("9.10")

if not {"sweeps", "theory"} & config.keys() and not workflow.overwrite_configfiles:

    configfile: os.path.join(workflow.basedir, "config", "quickstart.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/reduce.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/theory.smk"


rule all:
    default_target: True
    input:
        [finished(name) for name in SWEEPS],
        [finished_theory(name) for name in THEORY],
    localrule: True


for NAME in [*SWEEPS, *THEORY]:

    rule:
        name:
            NAME
        input:
            finished(NAME) if NAME in SWEEPS else finished_theory(NAME),
        localrule: True
