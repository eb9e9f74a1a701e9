for NAME in SWEEPS:

    rule:
        name:
            f"figures.{NAME}"
        input:
            marker=f"{RESULTS}/{NAME}/consolidated.json",
            tables=tables(NAME),
        output:
            figures(NAME),
        log:
            f"{RESULTS}/{NAME}/logs/figures.log",
        benchmark:
            f"{RESULTS}/{NAME}/logs/figures.benchmark.tsv"
        params:
            sweep=NAME,
        script:
            "../scripts/figures.py"
