"""Sweeps of one-pass SGD: simulate what is missing on Ray, then datasets, tables, figures and a page for each sweep."""

import os

from snakemake.utils import min_version

min_version("9.10")

if "sweeps" not in config and not workflow.overwrite_configfiles:

    configfile: os.path.join(workflow.basedir, "config", "quickstart.yaml")


include: "workflow/rules/common.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/reduce.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        [finished(name) for name in SWEEPS],
    localrule: True


for NAME in SWEEPS:

    rule:
        name:
            NAME
        input:
            finished(NAME),
        localrule: True
