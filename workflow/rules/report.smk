rule report:
    input:
        manifest=f"{RESULTS}/{{sweep}}/manifest.json",
        tables=lambda wildcards: tables(wildcards.sweep),
        figures=lambda wildcards: figures(wildcards.sweep),
    output:
        page=f"{RESULTS}/{{sweep}}/report.html",
    log:
        f"{RESULTS}/{{sweep}}/logs/report.log",
    benchmark:
        f"{RESULTS}/{{sweep}}/logs/report.benchmark.tsv"
    script:
        "../scripts/report.py"
