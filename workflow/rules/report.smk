rule report:
    input:
        manifest=f"{RESULTS}/{{sweep}}/manifest.json",
        tables=lambda wildcards: tables(wildcards.sweep),
        figures=lambda wildcards: figures(wildcards.sweep),
    output:
        page=f"{RESULTS}/{{sweep}}/report.html",
    log:
        f"{RESULTS}/{{sweep}}/logs/report.log",
    script:
        "../scripts/report.py"
