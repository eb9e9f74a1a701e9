"""Kills at random moments, through the real Snakemake: nothing is lost, nothing is computed twice, the bits are right.

Case 4, and case 5 for writers. `SSI_KILLS` sets how often (50 in the slow test).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import xarray as xr
import yaml

from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.store import SegmentIndex
from ssi_kernels.sweep import load_config

pytestmark = [pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
KINDS = ("snakemake", "driver", "worker", "worker", "worker", "worker", "raylet", "gcs", "everything")
PATTERNS = {
    "driver": ".snakemake/scripts",  # the script of whatever rule is running: simulate, consolidate, reduce, figures
    "worker": "ray::perform",
    "raylet": "raylet/raylet",
    "gcs": "gcs_server",
}


class Harassed:
    """A folder with a sweep, and a Snakemake whose processes are known by their TMPDIR."""

    def __init__(self, folder: Path, temporary: Path, steps: float):
        self.folder, self.temporary = folder, temporary
        folder.mkdir()
        sweep = {
            "model": {
                "target": {"family": "positional-semantic"},
                "student": {"kind": "attention"},
                "encoding": "opposite-pair",
            },
            "grid": {
                "d": 100,
                "length": 2,
                "omega": {"start": 0.0, "stop": 1.0, "num": 20},
                "a": {"start": 0.2, "stop": 2.0, "num": 15},
            },
            "sgd": {"learning_rate": 0.05, "steps": steps, "replicas": 16, "start": {"m": 0.0, "e": 0.0}},
        }
        (folder / "config.yaml").write_text(yaml.safe_dump({"sweeps": {"map": sweep}}))

    def start(self) -> subprocess.Popen:
        if any((self.folder / ".snakemake/locks").glob("*")):
            self._snakemake("--unlock").wait()  # the remedy that Snakemake itself names after a SIGKILL
        return self._snakemake()

    def _snakemake(self, *arguments: str) -> subprocess.Popen:
        with open(self.folder / "log", "a") as log:
            return subprocess.Popen(
                [*SNAKEMAKE, *arguments, "--configfile", "config.yaml"],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def processes(self) -> list[psutil.Process]:
        """All living processes that inherited the temporary folder, or whose current folder is this one.

        Ray's agents write their titles over their environment.
        """
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.cwd() == str(self.folder) or process.environ().get("TMPDIR") == str(self.temporary)
                if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def kill(self, kind: str, snakemake: subprocess.Popen) -> str:
        """Kills what `kind` says; where there is no such process, Snakemake itself. Returns what was killed."""
        if kind == "everything":
            for process in self.processes():
                _kill(process)
            return kind
        victims = [p for p in self.processes() if PATTERNS.get(kind, " \0") in _command(p)]
        if kind == "snakemake" or not victims:
            snakemake.kill()
            return "snakemake"
        _kill(victims[0])
        return kind

    def settle(self, patience: float) -> None:
        """Leaves what a killed Snakemake left running alone for so many seconds, then kills it; nothing is left."""
        deadline = time.monotonic() + patience
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.2)
        while left := self.processes():
            for process in left:
                _kill(process)
            time.sleep(0.1)

    @property
    def placed(self) -> PlacedSweep:
        return place(load_config(self.folder / "config.yaml"), self.folder / "results")["map"]

    def segments(self) -> dict[str, tuple[int, int]]:
        """Every segment's file, by what changes when it is written again."""
        found = {}
        for path in (self.folder / "results/store").glob("*/*.zarr.zip"):
            state = path.stat()
            found[path.name] = state.st_ino, state.st_mtime_ns
        return found


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        pass


@pytest.fixture
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def harass(project: Harassed, kills: int, generator: random.Random) -> Counter:
    """Runs Snakemake again and again, killing something after a random time, until there were `kills` kills."""
    done: Counter = Counter()
    known: dict = {}
    while done.total() < kills:
        snakemake = project.start()
        early = generator.random() < 0.35  # before Ray and JAX have started, which takes some ten seconds
        wait = generator.uniform(0.2, 4) if early else generator.uniform(12, 30)
        while done.total() < kills:
            try:
                snakemake.wait(wait)
                break
            except subprocess.TimeoutExpired:
                pass
            killed = project.kill(generator.choice(KINDS), snakemake)
            done[killed] += 1
            if killed != "worker":
                break
            wait = generator.uniform(1, 8)
        if done.total() < kills or snakemake.poll() is None:
            snakemake.kill()
        snakemake.wait()
        project.settle(patience=generator.choice([0, generator.uniform(1, 10)]))
        stored = project.segments()
        assert known.items() <= stored.items(), "a stored segment was lost or written again"
        known = stored
    return done


def finish(project: Harassed) -> None:
    """An uninterrupted run to the end, after which a further one has nothing to do."""
    snakemake = project.start()
    assert snakemake.wait(timeout=600) == 0, (project.folder / "log").read_text()[-3000:]
    project.settle(patience=60)


def assert_each_cell_once(project: Harassed) -> None:
    """No (point, replica, step) is in two segments, and none is missing."""
    index = SegmentIndex(project.placed.store)
    index.refresh()
    assert project.placed.missing(index) == []
    cells: Counter = Counter()
    for heading in index.headings().values():
        size = (heading.replicas[1] - heading.replicas[0]) * (heading.steps[1] - heading.steps[0])
        for point_id in heading.point_ids:
            cells[point_id] += size
    expected = {point.point_id: point.replicas * point.steps for point in project.placed.grid.points}
    assert cells == expected, "something was computed twice"


def assert_clean(project: Harassed) -> None:
    """No temporary file, no process, no session folder: the last session removes those of killed drivers."""
    results = project.folder / "results"
    assert [path for path in results.rglob(".*.tmp") if "~" in path.name] == []
    assert [path for path in results.rglob("*.corrupt")] == []
    assert project.processes() == []
    assert list(project.temporary.glob("ssi-ray-*")) == []


def trial(tmp_path: Path, temporary: Path, kills: int, steps: float, seed: int) -> Counter:
    harassed = Harassed(tmp_path / "harassed", temporary, steps)
    try:
        done = harass(harassed, kills, random.Random(seed))
        finish(harassed)
        assert_each_cell_once(harassed)
        assert_clean(harassed)
        whole = Harassed(tmp_path / "whole", temporary, steps)
        finish(whole)
        for one, other in zip(datasets_of(harassed), datasets_of(whole), strict=True):
            xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())
    finally:
        harassed.settle(patience=0)
    return done


@pytest.mark.timeout(600)
def test_four_random_kills(tmp_path, temporary):
    assert trial(tmp_path, temporary, 4, 1e5, seed=4).total() == 4


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Iterator[Harassed]:
    """A sweep of which everything is done."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp", ignore_cleanup_errors=True) as temporary:
        project = Harassed(tmp_path_factory.mktemp("later") / "finished", Path(temporary), 1000)
        try:
            finish(project)
            yield project
        finally:
            project.settle(patience=0)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", ["script", "snakemake", "everything"])
@pytest.mark.parametrize(
    "script, lost",
    [
        ("consolidate.py", "trajectories.zarr"),
        ("reduce.py", "tables"),
        ("figures.py", "figures"),
        ("report.py", "report.html"),
    ],
)
def test_a_kill_after_the_simulation(finished, script, lost, victim):
    """Case 6 through Snakemake: nothing is simulated again, and the datasets and the tables are the same afterwards."""
    sweep, generator = finished.folder / "results" / "map", random.Random(f"{script}{victim}")
    stored, datasets, tables = finished.segments(), datasets_of(finished), contents(sweep / "tables")
    place = sweep / lost
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    snakemake = finished.start()
    process = wait_for(lambda: next((p for p in finished.processes() if script in _command(p)), None))
    time.sleep(generator.uniform(0, 3))
    if victim == "script":
        _kill(process)
    else:
        finished.kill(victim, snakemake)
    snakemake.wait(timeout=300)
    finished.settle(patience=generator.choice([0, 20]))
    finish(finished)
    assert finished.segments() == stored
    assert contents(sweep / "tables") == tables
    for one, other in zip(datasets_of(finished), datasets, strict=True):
        xr.testing.assert_identical(one, other)
    assert_clean(finished)


def wait_for(found):
    """What `found()` finds."""
    deadline = time.monotonic() + 120
    while (value := found()) is None:
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def datasets_of(project: Harassed) -> list[xr.Dataset]:
    return [xr.open_zarr(project.folder / f"results/map/{name}.zarr").load() for name in ("trajectories", "recovery")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.timeout(3000)
def test_fifty_random_kills(tmp_path, temporary):
    done = trial(tmp_path, temporary, int(os.environ.get("SSI_KILLS", "50")), 8e5, seed=20261201)
    print(dict(done))
