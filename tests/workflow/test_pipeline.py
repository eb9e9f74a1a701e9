"""The whole pipeline, run after run, on a tiny sweep."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.simulate import simulate_point
from ssi_kernels.sweep import load_config

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]
NOTHING = "Nothing to be done"
FRAGILE = '''
import sys
from pathlib import Path

def target(z):
    """Raises in a worker at length 2 until it is cured."""
    in_worker = "default_worker" in sys.argv[0]
    if in_worker and z.shape[-1] == 2 and not Path(__file__).with_name("cured").exists():
        raise FloatingPointError("no label")
    return z.sum()
'''


def trajectories(project) -> xr.Dataset:
    with xr.open_zarr(project.sweep / "trajectories.zarr") as dataset:
        return dataset.load()


def placed(project) -> PlacedSweep:
    return place(load_config(project.folder / "config.yaml"), project.folder / "results")["tiny"]


def segments(project) -> set[Path]:
    return set((project.folder / "results/store").glob("*/*.zarr.zip"))


def assert_same_bits(first: xr.Dataset, second: xr.Dataset) -> None:
    """Equal to the bit wherever both have a value."""
    for name in ("m", "e"):
        a, b = xr.align(first[name], second[name], join="inner")
        assert a.size > 0
        assert a.values.tobytes() == b.values.tobytes()


def test_run_after_run(project):
    """Cases 1, 2, 9, 10, 12, 24, 25 and 36, each a run of the same folder."""
    status, said = project.snakemake()
    assert status == 0, said
    assert "sweep tiny: 6 points simulated, 0 failed" in said
    for name in ("manifest.json", "consolidated.json", "config.yaml", "report.html", "logs/simulate.log"):
        assert (project.sweep / name).stat().st_size > 0
    first, written = trajectories(project), segments(project)
    assert_bits_of_one_process(project, first)
    assert_cosmetic_edits_run_nothing(project)
    assert segments(project) == written

    more = {"grid": {"omega": [0.5, 0.3, 0.1], "length": [2, 3]}, "sgd": {"replicas": 3}}
    project.configure(**more)
    page = (project.sweep / "report.html").stat().st_mtime_ns
    status, said = project.snakemake("-n")
    assert "sweep tiny: 18 points, 18 missing" in said and "simulate" in said
    reasons = {item.reason for item in placed(project).missing()}
    assert reasons == {"never computed", "replica 2"}
    status, said = project.snakemake()
    assert status == 0, said
    assert segments(project) > written
    assert (project.sweep / "report.html").stat().st_mtime_ns > page
    second = trajectories(project)
    assert second.omega.values.tolist() == [0.1, 0.3, 0.5] and second.sizes["replica"] == 3
    assert not np.isnan(second.m).any()
    assert_same_bits(first, second)

    everything = segments(project)
    project.configure()
    status, said = project.snakemake("results/tiny/consolidated.json")
    assert "sweep tiny: 6 points, 0 missing: 0 points simulated" in said
    assert segments(project) == everything
    third = trajectories(project)
    assert third.length.values.tolist() == [2] and third.sizes["replica"] == 2
    assert_same_bits(first, third)


def assert_bits_of_one_process(project, dataset: xr.Dataset) -> None:
    """Cases 24 and 25: the pipeline and one process give the same bits."""
    for point in placed(project).grid.points:
        alone = simulate_point(point)
        assert dataset.m.sel(point.coords).values.tobytes() == alone.m.values.tobytes()


def assert_cosmetic_edits_run_nothing(project) -> None:
    """Cases 1, 9, 10, 12 and 36: the same sweep in other words."""
    config = project.folder / "config.yaml"
    project.configure(grid={"omega": [0.5, 0.1], "d": [64, 32, 16]})
    config.write_text("# a comment\n" + config.read_text())
    assert_nothing_to_do(project)
    project.configure(grid={"omega": ["1e-1", 0.5000000000000001], "d": [16.0, "32", 64], "a": 1})
    assert_nothing_to_do(project)
    project.configure()
    project.snakemake("--touch")
    assert_nothing_to_do(project)
    assert_nothing_to_do(project, "--config", "sweeps={tiny: {sgd: {steps: 5e1, learning_rate: 5e-2}}}")
    for target in ("tiny", "results/tiny/report.html"):
        assert_nothing_to_do(project, target)


def assert_nothing_to_do(project, *arguments: str) -> None:
    status, said = project.snakemake(*arguments)
    assert status == 0, said
    assert "sweep tiny: 6 points, 0 missing: 0 points simulated" in said
    assert NOTHING in said
    assert "rule simulate" not in said


@pytest.mark.slow
def test_derived_files_that_are_lost_are_made_again_without_simulating(project):
    """Case 6 and 7 seen from the workflow, and a grid of one point (case 14)."""
    project.configure(grid={"d": [16], "omega": [0.5]}, sgd={"replicas": 1})
    status, said = project.snakemake()
    assert status == 0, said
    assert "undefined" in (project.sweep / "tables/scaling.csv").read_text()
    shutil.rmtree(project.sweep / "trajectories.zarr")
    status, said = project.snakemake()
    assert status == 0, said
    assert "sweep tiny: 1 points, 0 missing: 0 points simulated" in said
    assert (project.sweep / "trajectories.zarr").is_dir()
    status, said = project.snakemake()
    assert NOTHING in said


@pytest.mark.slow
def test_a_killed_snakemake(project):
    """Case 4: after SIGKILL of Snakemake a run resumes, or prints the one remedy. Case 39: two runs at once."""
    project.configure(sgd={"steps": 3_000_000, "replicas": 64, "start": {"m": 0.0}})
    first = subprocess.Popen(
        **project.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        log = project.sweep / "logs/simulate.log"
        wait_until(lambda: log.exists() and "tasks on" in log.read_text())
        status, said = project.snakemake()
        assert status != 0 and "cannot be locked" in said and "--unlock" in said
        assert first.poll() is None
        first.kill()
        first.wait()
        status, said = project.snakemake()
        assert status != 0 and "--unlock" in said
        project.snakemake("--unlock")
        status, said = project.snakemake()
        assert status != 0 and "another driver (pid" in said and "is at work here" in said
    finally:
        end_group(first.pid)
    assert_a_run_finishes(project)


def assert_a_run_finishes(project) -> None:
    project.configure(grid={"d": [16], "omega": [0.5]}, sgd={"steps": 3_000, "replicas": 2})
    status, said = project.snakemake("results/tiny/consolidated.json")
    assert status == 0, said
    assert not np.isnan(trajectories(project).m).any()


def end_group(pid: int) -> None:
    """End what the killed Snakemake of this test has left running in its session, and wait for it."""
    try:
        os.killpg(pid, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            os.killpg(pid, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        return


def wait_until(holds, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_failing_sweep_ends_with_a_list_and_a_non_zero_status(project):
    """Cases 18 and 29 through Snakemake: what is there can be looked at, and a rerun does only the rest."""
    (project.folder / "fragile.py").write_text(FRAGILE)
    sweep = "{model: {target: {callable: 'fragile:target'}, student: {kind: tied, activation: relu}}, "
    sweep += "grid: {d: 16, length: [1, 2]}, sgd: {learning_rate: 0.1, steps: 20, replicas: 2}}"
    project.write(f"sweeps:\n  tiny: {sweep}\n")
    status, said = project.snakemake()
    assert status == 1
    assert "FAILED d=16 length=2: FloatingPointError: no label" in said
    assert "1 of 2 points failed, the others are stored" in said
    assert len(json.loads((project.sweep / "failed.json").read_text())) == 1
    assert not (project.sweep / "manifest.json").exists()
    status = ssi(project, "status")
    assert (status["complete"], status["missing"], status["failed"]) == (1, 0, 1)
    assert status["recovered"] + status["censored"] + status["diverged"] == 2
    drawn = ssi(project, "report")["sweeps"]["tiny"]
    assert (drawn["complete"], drawn["missing"], drawn["failed"]) == (1, 0, 1)
    assert "<html" in (project.sweep / "report.html").read_text()
    assert trajectories(project).status.values.ravel().tolist() == [1, 1, 2, 2]

    (project.folder / "cured").touch()
    status, said = project.snakemake("results/tiny/consolidated.json")
    assert status == 0, said
    assert "sweep tiny: 1 points simulated, 0 failed" in said
    assert trajectories(project).status.values.ravel().tolist() == [1, 1, 1, 1]


def ssi(project, command: str) -> dict:
    """The JSON answer of `ssi`, in a process of its own."""
    program = [sys.executable, "-c", "from ssi_kernels.cli import main; main()", command, "config.yaml", "--json"]
    return json.loads(
        subprocess.run(**{**project.command(), "args": program}, stdout=subprocess.PIPE, check=True).stdout
    )
