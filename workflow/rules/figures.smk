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
        params:
            sweep=NAME,
        script:
            "../scripts/figures.py"
