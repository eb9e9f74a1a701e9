"""What Snakemake says while it parses: one clear line for bad input, and the truth about what is missing. No Ray."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.cli import parse_config as parse_command_line
from snakemake.utils import update_config

from ssi_kernels.sweep import expand, load_config, parse_config
from ssi_kernels.sweep.load import read_yaml

ROOT = Path(__file__).resolve().parents[2]


def lines(said: str) -> list[str]:
    return [line for line in said.splitlines() if line and not line.startswith("Using workflow specific profile")]


def test_a_dry_run_tells_what_is_missing_and_runs_nothing(project):
    status, said = project.snakemake("-n")
    assert status == 0
    assert "sweep tiny: 6 points, 6 missing" in said
    for rule in ("simulate", "consolidate", "tables.tiny", "figures.tiny", "report"):
        assert f"rule {rule}:" in said
    assert not (project.folder / "results/store").exists()


def test_a_misspelt_key_is_answered_with_the_nearest(project):
    """Case 19, in the file."""
    project.configure(recovery={"tresholds": 0.5})
    status, said = project.snakemake("-n")
    assert status == 2
    (line,) = lines(said)
    assert line.startswith("ssi: sweeps.tiny.recovery.tresholds: 0.5: ") and line.endswith("key is threshold")


@pytest.mark.parametrize("given", ["tresholds=0.5", "sweeps={tiny: {recovery: {tresholds: 0.5}}}"])
def test_a_misspelt_key_on_the_command_line(project, given):
    """Case 19, by --config."""
    status, said = project.snakemake("-n", "--config", given)
    assert status == 2
    (line,) = lines(said)
    assert "tresholds" in line and "the nearest valid key is" in line and line.endswith("threshold")


def test_an_empty_grid_names_the_key(project):
    """Case 14."""
    project.configure(grid={"omega": []})
    status, said = project.snakemake("-n")
    assert status == 2
    (line,) = lines(said)
    assert line.startswith("ssi: sweeps.tiny.grid.omega: []: ")


def test_a_sweep_may_not_be_named_like_a_rule(project):
    project.write((project.folder / "config.yaml").read_text().replace("tiny:", "simulate:"))
    status, said = project.snakemake("-n")
    assert status == 2
    (line,) = lines(said)
    assert line.startswith("ssi: sweeps") and "'simulate': is the name of a rule of the workflow" in line


@pytest.mark.parametrize("number", ["3e5", "300000", "3.0e+5"])
def test_numbers_are_the_same_in_the_file_and_on_the_command_line(project, number):
    """Case 36: YAML reads 3e5 as text, and Snakemake's own parser everything."""
    project.configure(sgd={"steps": 300_000, "learning_rate": 0.05})
    wanted = expand(load_config(project.folder / "config.yaml").sweeps["tiny"]).fingerprint
    project.configure()
    merged = read_yaml(project.folder / "config.yaml")
    given = f"sweeps={{tiny: {{sgd: {{steps: {number}, learning_rate: 5e-2}}, grid: {{omega: [1e-1, 0.5]}}}}}}"
    update_config(merged, parse_command_line([given]))
    assert expand(parse_config(merged).sweeps["tiny"]).fingerprint == wanted


def test_without_sweeps_the_quickstart_is_run(project):
    status, said = project.snakemake("-n", "--quiet", "rules", "--config", "results=elsewhere", file=False)
    assert status == 0
    for name in load_config(ROOT / "config" / "quickstart.yaml").sweeps:
        assert f"sweep {name}: " in said
        assert (project.folder / "elsewhere" / name / "request.json").exists()


def test_the_default_sweeps_do_not_run_beside_the_users(project):
    _status, said = project.snakemake("-n")
    assert said.count("\nsweep ") + said.startswith("sweep ") == 1


def test_results_that_cannot_be_written_are_named(project):
    """Case 40."""
    status, said = project.snakemake("-n", "--config", "results=/proc/results")
    assert status == 1
    (line,) = lines(said)
    assert line.startswith("ssi: /proc/results/tiny/request.json: cannot be written: ")


def test_lint_complains_of_environments_only(project):
    _status, said = project.snakemake("--lint")
    complaints = [line.strip() for line in said.splitlines() if line.strip().startswith("* ")]
    assert set(complaints) <= {"* Specify a conda environment or container for each rule.:"}


@pytest.mark.skipif(shutil.which("snakefmt", path=Path(sys.executable).parent) is None, reason="snakefmt is not there")
def test_the_rules_are_formatted():
    program = Path(sys.executable).parent / "snakefmt"
    done = subprocess.run([program, "--check", "Snakefile", "workflow/rules"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_snakefile_and_rules_are_short():
    assert len((ROOT / "Snakefile").read_text().splitlines()) < 50
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        assert len(path.read_text().splitlines()) < 200


def test_a_file_without_sweeps_is_not_taken_for_no_file(project):
    (project.folder / "config.yaml").write_text("results: elsewhere\n")
    status, said = project.snakemake("-n")
    assert status == 2
    (line,) = lines(said)
    assert line.startswith("ssi: sweeps: ")


def test_a_key_that_is_there_twice_is_refused(project):
    config = project.folder / "config.yaml"
    config.write_text(config.read_text() + "results: one\nresults: two\n")
    status, said = project.snakemake("-n")
    assert status == 2
    (line,) = lines(said)
    assert "is there twice" in line
