rule simulate:
    input:
        request=f"{RESULTS}/{{sweep}}/request.json",
    output:
        manifest=f"{RESULTS}/{{sweep}}/manifest.json",
    log:
        f"{RESULTS}/{{sweep}}/logs/simulate.log",
    benchmark:
        f"{RESULTS}/{{sweep}}/logs/simulate.benchmark.tsv"
    threads: 64
    params:
        fingerprint=fingerprint,
    script:
        "../scripts/simulate.py"
