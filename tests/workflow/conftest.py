"""A folder of its own for every test, and the real Snakemake in it."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
TINY = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "alternating",
    },
    "grid": {"d": [16, 32, 64], "length": [2], "omega": [0.1, 0.5], "a": 1.0},
    "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2, "start": {"m": 0.0, "e": 0.0}},
}


class Project:
    """A folder with `config.yaml`; `snakemake` runs there and returns status and everything it said."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.configure()

    def configure(self, **changes: dict) -> None:
        """Write the sweep `tiny`, with entries of its sections replaced."""
        sweep = copy.deepcopy(TINY)
        for section, entries in changes.items():
            sweep[section] = {**sweep.get(section, {}), **entries}
        self.write(yaml.safe_dump({"sweeps": {"tiny": sweep}}, sort_keys=False))

    def write(self, text: str) -> None:
        (self.folder / "config.yaml").write_text(text)

    def command(self, *arguments: str, file: bool = True) -> dict:
        """How to start Snakemake here; targets and options first, because --configfile takes all that follows."""
        configfile = ["--configfile", "config.yaml"] if file else []
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return {"args": [*SNAKEMAKE, *arguments, *configfile], "cwd": self.folder, "env": environment, "text": True}

    def snakemake(self, *arguments: str, file: bool = True) -> tuple[int, str]:
        done = subprocess.run(
            **self.command(*arguments, file=file), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=170
        )
        return done.returncode, done.stdout

    @property
    def sweep(self) -> Path:
        return self.folder / "results" / "tiny"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
