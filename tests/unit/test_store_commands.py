"""`ssi compact`, `forget`, `gc`, `verify` and `status`: one JSON object or a few lines, and the exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from store.fabricate import fabricate

from ssi_kernels.cli import main
from ssi_kernels.execute.failures import Failure, write_failures
from ssi_kernels.execute.request import place
from ssi_kernels.store import consolidate, write_segment
from ssi_kernels.store.claims import reading
from ssi_kernels.sweep import load_config

SWEEP = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "opposite-pair",
    },
    "grid": {"d": [16, 32], "length": 2, "omega": [0.1, 0.5], "a": 1.0},
    "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2},
}


def written(path: Path, results: Path, **sweeps: dict) -> Path:
    path.write_text(yaml.safe_dump({"sweeps": sweeps, "results": str(results)}, sort_keys=False))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "config.yaml", tmp_path / "results", tiny=SWEEP)


@pytest.fixture
def placed(file):
    """Every point stored in two segments of its own."""
    placed = place(load_config(file))["tiny"]
    for point in placed.grid.points:
        for steps in ((0, 20), (20, 50)):
            write_segment(placed.store, fabricate([point], (0, 2), steps, diverged={1: 30}))
    return placed


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


def answer(result: tuple[int, str, str], status: int = 0) -> dict:
    ended, out, err = result
    assert ended == status and out.count("\n") == 1 and err.count("\n") == status
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_compact(ssi, file, placed):
    told = answer(ssi("compact", file, "--dry-run", "--json"))
    assert (told["dry_run"], told["files_before"], told["files_after"], told["bytes_after"]) == (True, 8, 1, None)
    with reading(placed.store, "somebody"):
        assert "nothing was removed: " in ssi("compact", file)[1]
    done = answer(ssi("compact", file, "--json"))
    assert (done["files_before"], done["files_after"], done["removed"], done["busy"]) == (9, 1, 8, None)
    assert "1 files" in ssi("compact", file)[1] and placed.missing() == []


def test_forget(ssi, file, placed):
    chosen = ("forget", file, "--sweep", "tiny", "--point", "omega=0.1,0.5", "--point", "d=16")
    told = answer(ssi(*chosen, "--json"))
    assert (told["done"], told["points"], told["stored"], told["replicas"], told["removed"]) == (False, 2, 2, 4, 4)
    assert "add --yes" in ssi(*chosen)[1] and placed.missing() == []
    assert "the next run computes them again" in ssi(*chosen, "--yes")[1]
    assert [item.point.coords["d"] for item in placed.missing()] == [16, 16]


def test_several_values_of_an_axis_may_be_repeated(ssi, file, placed):
    chosen = ("forget", file, "--sweep", "tiny", "--point", "omega=0.1", "--point", "omega=0.5")
    assert answer(ssi(*chosen, "--json"))["points"] == 4


def test_gc(ssi, file, placed, tmp_path):
    narrow = {**SWEEP, "grid": {**SWEEP["grid"], "omega": [0.1]}}
    other = written(tmp_path / "other.yaml", tmp_path / "results", narrow=narrow)
    assert answer(ssi("gc", other, file, "--json"))["points"] == 0
    told = answer(ssi("gc", other, "--json"))
    assert (told["deleted"], told["points"], told["removed"], told["rewritten"]) == (False, 2, 4, 0)
    assert [entry["coords"]["omega"] for entry in told["unused"]] == [0.5, 0.5] and told["bytes"] > 0
    out = ssi("gc", other)[1]
    assert "d=16 length=2 omega=0.5 a=1.0: 2 segments" in out and "add --delete" in out
    assert placed.missing() == []
    assert answer(ssi("gc", other, "--delete", "--json"))["deleted"]
    assert {item.point.coords["omega"] for item in placed.missing()} == {0.5}


def test_verify(ssi, file, placed):
    """The fabricated segments are no kernel's: everything that is computed again differs."""
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    found = answer(ssi("verify", file, "--sample", "0", "--json"))
    assert (found["sound"], found["files"], found["datasets"]) == (True, 8, {"tiny": "equal"})
    status, out, err = ssi("verify", file, "--sample", "1")
    assert status == 1 and err.count("\n") == 1 and "1 points that differ when computed again" in err
    assert "different: " in out and "ssi forget FILE --sweep tiny --point d=" in out
    assert "jaxlib: jaxlib 1 when it was computed" in out
    found = answer(ssi("verify", file, "--sample", "1", "--json"), status=1)
    assert not found["sound"] and found["recomputed"][0]["recorded"][0]["jaxlib"] == "jaxlib 1"


def test_status_tells_of_points(ssi, file, placed):
    lost = placed.grid.points[2]
    write_failures(placed.folder, {lost.point_id: Failure(lost.point_id, dict(lost.coords), "boom", "")})
    for piece in placed.index().covered(lost.point_id):
        piece.path.unlink()
    found = answer(ssi("status", file, "--json"))
    assert (found["points"], found["complete"], found["failed"], found["diverged"]) == (4, 3, 1, 3)
    assert [(one["state"], one["reason"], one["diverged"]) for one in found["by_point"]] == [
        ("complete", None, 1),
        ("complete", None, 1),
        ("failed", "boom", 0),
        ("complete", None, 1),
    ]
    assert found["by_point"][2]["coords"] == dict(lost.coords) and found["by_point"][2]["sweep"] == "tiny"
    out = ssi("status", file)[1]
    assert "d=32 length=2 omega=0.1 a=1.0: failed: boom" in out
    assert "d=16 length=2 omega=0.1 a=1.0: complete; 1 replicas diverged" in out


def test_status_lists_ordinary_points_only_when_asked(ssi, file):
    placed = place(load_config(file))["tiny"]
    for point in placed.grid.points:
        write_segment(placed.store, fabricate([point], (0, 2), (0, 50)))
    assert answer(ssi("status", file, "--json"))["by_point"] == []
    assert len(answer(ssi("status", file, "--all", "--json"))["by_point"]) == 4


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["forget", "FILE", "--sweep", "tiny"], "name at least one axis"),
        (["forget", "FILE", "--sweep", "none", "--point", "d=16"], "it has tiny"),
        (["forget", "FILE", "--sweep", "tiny", "--point", "d=17"], "d is 16, 32"),
        (["forget", "FILE", "--sweep", "tiny", "--point", "d"], "KEY=VALUE"),
        (["forget", "FILE", "--sweep", "tiny", "--point", "width=1"], "is not an axis"),
        (["forget", "FILE", "--point", "d=16"], "--sweep"),
        (["gc", "FILE", "ELSEWHERE"], "several stores"),
        (["gc", "THEORY"], "has no sweep"),
        (["gc"], "FILE"),
        (["verify", "FILE", "--sweep", "none"], "it has tiny"),
        (["verify", "FILE", "--sample", "-1"], "--sample"),
        (["compact", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_input_is_one_line_and_status_2(ssi, file, tmp_path, arguments, told):
    theory = tmp_path / "theory.yaml"
    theory.write_text(f"theory: {{p: {{kind: phase-diagram}}}}\nresults: {tmp_path / 'results'}\n")
    files = {"FILE": file, "THEORY": theory}
    files["ELSEWHERE"] = written(tmp_path / "elsewhere.yaml", tmp_path / "elsewhere", tiny=SWEEP)
    status, out, err = ssi(*(files.get(argument, argument) for argument in arguments))
    assert (status, out) == (2, "") and err.count("\n") == 1 and told in err


@pytest.mark.parametrize("arguments", [["forget", "--sweep", "tiny", "--point", "d=16", "--yes"], ["gc", "--delete"]])
def test_what_removes_files_waits_for_nobody(ssi, file, placed, arguments):
    with reading(placed.store, "a consolidation"):
        status, out, err = ssi(arguments[0], file, *arguments[1:])
    assert (status, out) == (1, "") and err.count("\n") == 1 and "a consolidation is at work here" in err
    assert placed.missing() == []
