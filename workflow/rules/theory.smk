# As for sweeps, the dataset is not a declared output: its marker stands for it.
for NAME in THEORY:

    rule:
        name:
            f"theory.{NAME}"
        input:
            request=f"{RESULTS}/{NAME}/request.json",
        output:
            marker=f"{RESULTS}/{NAME}/consolidated.json",
            tables=theory_tables(NAME),
        log:
            f"{RESULTS}/{NAME}/logs/theory.log",
        benchmark:
            f"{RESULTS}/{NAME}/logs/theory.benchmark.tsv"
        params:
            entry=NAME,
            fingerprint=THEORY[NAME].fingerprint,
        script:
            "../scripts/theory.py"

    rule:
        name:
            f"theory_figures.{NAME}"
        input:
            marker=f"{RESULTS}/{NAME}/consolidated.json",
        output:
            theory_figures(NAME),
        log:
            f"{RESULTS}/{NAME}/logs/figures.log",
        params:
            entry=NAME,
        script:
            "../scripts/theory_figures.py"

    rule:
        name:
            f"theory_report.{NAME}"
        input:
            marker=f"{RESULTS}/{NAME}/consolidated.json",
            figures=theory_figures(NAME),
        output:
            page=f"{RESULTS}/{NAME}/report.html",
        log:
            f"{RESULTS}/{NAME}/logs/report.log",
        params:
            entry=NAME,
            description=THEORY[NAME].entry.description or "",
        script:
            "../scripts/theory_report.py"
