"""The command line: one JSON object on standard output, one line for an expected error, and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ssi_kernels.cli import main

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "opposite-pair",
    },
    "grid": {"d": [16, 32], "length": 2, "omega": [0.1, 0.5], "a": 1.0},
    "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2},
    "recovery": {"threshold": [0.6, 0.1]},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(
        yaml.safe_dump(
            {"sweeps": {"tiny": CONFIG, "other": CONFIG}, "results": str(tmp_path / "results")}, sort_keys=False
        )
    )
    return path


@pytest.fixture
def ssi(monkeypatch, capsys):
    """A function that runs `ssi` in this process; returns status, standard output and standard error."""
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ssi", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return call


def answer(result: tuple[int, str, str]) -> dict:
    status, out, err = result
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_validate(ssi, file):
    assert answer(ssi("validate", file, "--json")) == {
        "valid": True,
        "sweeps": ["tiny", "other"],
        "points": 8,
        "theory": [],
    }
    assert ssi("validate", file) == (0, f"{file}: valid: 8 points in 2 sweeps\n", "")


def test_plan(ssi, file):
    plan = answer(ssi("plan", file, "--json"))
    assert {key: plan[key] for key in ("points", "missing", "steps")} == {"points": 8, "missing": 8, "steps": 800}
    assert plan["estimated_seconds"] > 0 and plan["estimated_bytes"] > 0
    assert len(plan["reasons"]) == 8
    assert plan["reasons"][0]["reason"] == "never computed"
    assert plan["reasons"][0]["coords"] == {"d": 16, "length": 2, "omega": 0.1, "a": 1.0}


def test_plan_of_one_sweep_in_another_results_folder(ssi, file, tmp_path):
    plan = answer(ssi("plan", file, "--sweep", "tiny", "--results", tmp_path / "else", "--json"))
    assert plan["points"] == 4 and list(plan["sweeps"]) == ["tiny"]
    assert "d=32 length=2 omega=0.5 a=1.0: never computed" in ssi("plan", file, "--sweep", "tiny")[1]


def test_planning_writes_nothing(ssi, file, tmp_path):
    ssi("plan", file), ssi("status", file)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml"]


def test_status_of_nothing(ssi, file):
    status = answer(ssi("status", file, "--sweep", "tiny", "--json"))
    counts = {"points": 4, "complete": 0, "missing": 4, "failed": 0, "recovered": 0, "censored": 0, "diverged": 0}
    by_point = status.pop("by_point")
    assert status == {**counts, "sweeps": {"tiny": counts}, "theory": {}}
    assert [(entry["sweep"], entry["state"], entry["reason"]) for entry in by_point] == [
        ("tiny", "missing", "never computed")
    ] * 4
    assert "tiny: 4 points: 0 complete, 4 missing, 0 failed" in ssi("status", file)[1]


def test_simulate(ssi, file, tmp_path):
    arguments = ("simulate", file, "--sweep", "tiny", "--point", "d=16", "--point", "omega=0.5")
    told = answer(ssi(*arguments, "--json"))
    assert told["coords"] == {"d": 16, "length": 2, "omega": 0.5, "a": 1.0}
    assert [run["replica"] for run in told["recovery"]] == [0, 1]
    for run in told["recovery"]:
        assert set(run) == {"replica", "outcome", "step", "m", "e"}
        assert run["outcome"] in ("recovered", "censored", "diverged")
        assert (run["step"] is None) == (run["outcome"] != "recovered")
        assert -1 <= run["m"] <= 1 and -1 <= run["e"] <= 1
    assert [entry["threshold"] for entry in told["thresholds"]] == [0.1, 0.6]
    assert told["thresholds"][0]["recovery"] == told["recovery"]
    assert not (tmp_path / "results").exists()
    assert "replica 1: " in ssi(*arguments)[1]


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["simulate", "FILE", "--sweep", "tiny", "--point", "d=16"], "matches 2 points"),
        (["simulate", "FILE", "--sweep", "tiny", "--point", "d=17"], "d is 16, 32"),
        (["simulate", "FILE", "--sweep", "tiny", "--point", "width=1"], "is not an axis"),
        (["simulate", "FILE", "--sweep", "tiny", "--point", "d"], "KEY=VALUE"),
        (["simulate", "FILE"], "--sweep"),
        (["plan", "FILE", "--sweep", "none"], "it has tiny, other"),
        (["plan", "none.yaml"], "none.yaml"),
        (["plan"], "FILE"),
        (["plan", "FILE", "--jsno"], "--jsno"),
        (["plna"], "plna"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ssi, file, arguments, told):
    status, out, err = ssi(*(file if argument == "FILE" else argument for argument in arguments))
    assert (status, out) == (2, "")
    assert err.count("\n") == 1 and err.startswith("ssi: ") and told in err


def test_a_misspelt_key_is_answered_with_the_nearest(ssi, file):
    """Case 19."""
    file.write_text(file.read_text().replace("threshold:", "tresholds:", 1))
    status, out, err = ssi("validate", file)
    assert (status, out) == (2, "")
    assert "tresholds" in err and "nearest valid key is threshold" in err and err.count("\n") == 1


def test_an_empty_grid_names_the_key(ssi, file):
    """Case 14."""
    content = yaml.safe_load(file.read_text())
    content["sweeps"]["tiny"]["grid"]["omega"] = []
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    status, _out, err = ssi("validate", file)
    assert status == 2 and "sweeps.tiny.grid.omega" in err and err.count("\n") == 1


def test_a_gpu_that_jax_does_not_see_is_refused(ssi, file):
    """Case 27."""
    content = yaml.safe_load(file.read_text())
    content["sweeps"]["tiny"]["resources"] = {"gpu": 1}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    status, _out, err = ssi("simulate", file, "--sweep", "tiny", "--point", "d=16", "--point", "omega=0.5")
    assert status == 2 and "sweeps.tiny.resources.gpu" in err and "JAX sees no GPU here" in err


def test_the_program_in_its_own_process(file):
    """The entry point, with a target of the user's own from the current folder."""
    (file.parent / "mine.py").write_text("def target(z):\n    return z.sum()\n")
    content = yaml.safe_load(file.read_text())
    sweep = content["sweeps"]["tiny"]
    sweep["model"] = {"target": {"callable": "mine:target"}, "student": {"kind": "tied", "activation": "relu"}}
    sweep["grid"] = {"d": 16, "length": 2}
    file.write_text(yaml.safe_dump({"sweeps": {"tiny": sweep}}, sort_keys=False))
    program = [sys.executable, "-c", "from ssi_kernels.cli import main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*program, "validate", "config.yaml", "--json"],
        cwd=file.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout)["valid"] is True
    done = subprocess.run(program, cwd=file.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "Usage: ssi" in done.stderr


LANDSCAPE = "{kind: landscape, model: {target: {expression: z1*z2}, student: {kind: tied}}, length: 2, points: 5}"


@pytest.fixture
def theory_file(tmp_path: Path) -> Path:
    path = tmp_path / "theory.yaml"
    path.write_text(f"theory: {{hills: {LANDSCAPE}}}\nresults: {tmp_path / 'results'}\n")
    return path


def test_a_file_with_theory_only(ssi, theory_file):
    assert answer(ssi("validate", theory_file, "--json")) == {
        "valid": True,
        "sweeps": [],
        "points": 0,
        "theory": ["hills"],
    }
    assert ssi("validate", theory_file)[1].endswith("valid: 0 points in 0 sweeps, 1 entries of theory\n")
    plan = answer(ssi("plan", theory_file, "--json"))
    assert (plan["points"], plan["missing"], plan["reasons"]) == (0, 0, [])
    assert plan["theory"] == {"hills": "never built"}
    assert answer(ssi("status", theory_file, "--json"))["complete"] == 0
    for command in ("plan", "status"):
        assert ssi(command, theory_file, "--sweep", "hills")[1] == "theory hills: landscape, to compute: never built\n"


def test_theory_is_not_simulated(ssi, theory_file):
    status, _, err = ssi("simulate", theory_file, "--sweep", "hills")
    assert status == 2 and "is an entry of theory" in err


def test_a_report_of_theory(ssi, theory_file):
    page = Path(answer(ssi("report", theory_file, "--json"))["theory"]["hills"]["page"])
    assert "Theory hills" in page.read_text()
    assert answer(ssi("status", theory_file, "--json"))["theory"] == {"hills": None}
