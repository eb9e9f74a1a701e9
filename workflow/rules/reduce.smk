# The two datasets are not declared outputs: Snakemake would delete them before rebuilding. The marker stands for them.
rule consolidate:
    input:
        manifest=f"{RESULTS}/{{sweep}}/manifest.json",
    output:
        marker=f"{RESULTS}/{{sweep}}/consolidated.json",
    log:
        f"{RESULTS}/{{sweep}}/logs/consolidate.log",
    benchmark:
        f"{RESULTS}/{{sweep}}/logs/consolidate.benchmark.tsv"
    params:
        fingerprint=fingerprint,
    script:
        "../scripts/consolidate.py"


for NAME in SWEEPS:

    rule:
        name:
            f"tables.{NAME}"
        input:
            marker=f"{RESULTS}/{NAME}/consolidated.json",
        output:
            tables(NAME),
        log:
            f"{RESULTS}/{NAME}/logs/tables.log",
        benchmark:
            f"{RESULTS}/{NAME}/logs/tables.benchmark.tsv"
        params:
            sweep=NAME,
        script:
            "../scripts/reduce.py"
