"""Disks that are full or read-only, files that are lost or damaged, clocks that go back.

The cause is named in one line, nothing passes for done that is not, and a rerun after the cure does the rest.
The full disk is real: a tmpfs of 5 MB. Cases 5, 6, 7 and 40.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import xarray as xr
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from store.fabricate import fabricate

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.request import PlacedSweep, place, refresh_requests, write_manifest
from ssi_kernels.execute.simulate import simulate_point
from ssi_kernels.execute.tasks import Task
from ssi_kernels.execute.worker import perform
from ssi_kernels.store import consolidate, write_segment
from ssi_kernels.sweep import load_config, parse_config

ROOT = Path(__file__).resolve().parents[2]
FULL = "No space left on device: free some space and run again"
READ_ONLY = "Read-only file system: make the folder writable, or choose another results folder"
SWEEP = {
    "model": {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "alternating",
    },
    "grid": {"d": [16, 32], "length": 2, "omega": [0.1, 0.5], "a": 1.0},
    "sgd": {"learning_rate": 0.05, "steps": 50, "replicas": 2, "start": {"m": 0.0, "e": 0.0}},
}


class Disk:
    """A file system of 5 MB at `place`, which can be filled to the last page and made read-only."""

    def __init__(self, place: Path):
        self.place, self._ballast = place, place / "ballast"

    def fill(self) -> None:
        with open(self._ballast, "wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(4096))
            except OSError:
                pass

    def leave(self, pages: int) -> None:
        """Full but for so many pages of 4 kB."""
        self.fill()
        os.truncate(self._ballast, self._ballast.stat().st_size - pages * 4096)

    def free(self) -> None:
        self._ballast.unlink()

    def allow(self, how: str) -> None:
        """`ro` or `rw`."""
        subprocess.run(["mount", "-o", f"remount,{how}", self.place], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """The results folder of a test on a disk of its own."""
    place = tmp_path / "results"
    place.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=5m", "none", place], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    yield Disk(place)
    subprocess.run(["umount", "--lazy", place], check=True)


def placed_in(folder: Path, **sections: dict) -> PlacedSweep:
    sweep = {name: {**section, **sections.get(name, {})} for name, section in SWEEP.items()}
    return place(parse_config({"sweeps": {"tiny": sweep}}), folder / "results")["tiny"]


def simulate(placed: PlacedSweep) -> int:
    """Stores what is missing, in closed form; how many pieces that were."""
    work = placed.missing()
    for item in work:
        write_segment(placed.store, fabricate([item.point], item.replicas, item.steps))
    return len(work)


def finish(placed: PlacedSweep) -> int:
    """What a run does after Snakemake's files were read."""
    count = simulate(placed)
    write_manifest(placed)
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    return count


def datasets(placed: PlacedSweep) -> list[xr.Dataset]:
    return [xr.open_zarr(path).load() for path in (placed.trajectories, placed.recovery)]


def assert_same(placed: PlacedSweep, before: list[xr.Dataset]) -> None:
    for one, other in zip(datasets(placed), before, strict=True):
        xr.testing.assert_identical(one, other)


def asks(placed: PlacedSweep) -> bool:
    """Whether a run would be asked for."""
    before = placed.request.read_bytes() if placed.request.exists() else None
    refresh_requests({placed.name: placed})
    return placed.request.read_bytes() != before


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_worker_on_a_full_disk(tmp_path, disk):
    """Case 40: fatal, with the cause; nothing that looks like a result; the same task is done when there is room."""
    placed = placed_in(tmp_path)
    task = Task(placed.grid.points, (0, 2), (0, 50))
    disk.fill()
    performed = perform(task, placed.store)
    assert performed.fatal.endswith(FULL) and str(placed.store) in performed.fatal and "\n" not in performed.fatal
    assert performed.stored == performed.failures == ()
    assert files(disk.place) == {"ballast"}
    assert len(placed.missing()) == len(placed.grid.points)
    disk.free()
    assert len(perform(task, placed.store).stored) == len(placed.grid.points)
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    found = datasets(placed)[0]
    for point in placed.grid.points:
        assert found.m.sel(point.coords).values.tobytes() == simulate_point(point).m.values.tobytes()


@pytest.mark.parametrize("room", [0, 3, 10, 30, 60])
def test_a_consolidation_on_a_full_disk(tmp_path, disk, room):
    """Cases 6 and 40: with so many free pages it fails in one line, at another place each time; the earlier stay."""
    placed = placed_in(tmp_path)
    finish(placed)
    before = datasets(placed)
    more = placed_in(tmp_path, grid={"omega": [0.1, 0.3, 0.5]}, sgd={"replicas": 3})
    simulate(more)
    disk.leave(room)
    with pytest.raises(StoreError) as caught:
        consolidate(more.sweep, more.grid, more.store, more.folder)
    assert str(caught.value).endswith(FULL) and "\n" not in str(caught.value)
    assert_same(placed, before)
    assert not any("~" in name for name in files(disk.place))
    assert not more.is_consolidated()
    disk.free()
    finish(more)
    assert more.is_consolidated()
    elsewhere = placed_in(tmp_path / "elsewhere", grid={"omega": [0.1, 0.3, 0.5]}, sgd={"replicas": 3})
    finish(elsewhere)
    assert_same(more, datasets(elsewhere))


def test_no_consolidation_that_nearly_fits_is_taken_for_done(tmp_path, disk):
    """Case 40: full near the end, each dataset is the earlier or the later one, and no marker lies."""
    placed, more = placed_in(tmp_path), placed_in(tmp_path, grid={"omega": [0.1, 0.3, 0.5]})
    finish(more)
    later = datasets(more)
    finish(placed)
    earlier, failed = datasets(placed), 0
    for pages in range(56, 136, 8):
        disk.leave(pages)
        try:
            consolidate(more.sweep, more.grid, more.store, more.folder)
        except StoreError as error:
            failed += 1
            assert str(error).endswith(FULL)
            assert not more.is_consolidated()
            for found, one, other in zip(datasets(more), earlier, later, strict=True):
                assert found.identical(one) or found.identical(other)
        else:
            assert more.is_consolidated()
            assert_same(more, later)
        disk.free()
        consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        assert_same(placed, earlier)
    assert 0 < failed < 10, "the range should hold both ends"


def test_files_of_the_workflow_on_a_full_disk(tmp_path, disk):
    """Case 40: neither the request nor the manifest is left half written."""
    placed = placed_in(tmp_path)
    placed.folder.mkdir()
    simulate(placed)
    disk.fill()
    for write in (lambda: refresh_requests({"tiny": placed}), lambda: write_manifest(placed)):
        with pytest.raises(StoreError, match=FULL):
            write()
    assert not placed.request.exists() and not placed.manifest.exists()
    assert not any("~" in name for name in files(disk.place))


def test_read_only_results_can_be_read(tmp_path, disk):
    """Case 40: nothing to do is nothing to write; what must be written is refused in one line."""
    placed = placed_in(tmp_path)
    finish(placed)
    refresh_requests({"tiny": placed})
    before = datasets(placed)
    disk.allow("ro")
    try:
        assert not asks(placed)
        assert placed.missing() == [] and placed.is_consolidated()
        more = placed_in(tmp_path, sgd={"replicas": 3})
        assert len(more.missing()) == 4
        with pytest.raises(StoreError) as caught:
            refresh_requests({"tiny": more})
        assert str(caught.value) == f"{more.request}: cannot be written: {READ_ONLY}"
        performed = perform(Task(more.grid.points, (2, 3), (0, 50)), more.store)
        assert performed.fatal.endswith(READ_ONLY)
        with pytest.raises(StoreError, match=READ_ONLY):
            consolidate(more.sweep, more.grid, more.store, more.folder)
        assert_same(placed, before)
    finally:
        disk.allow("rw")
    assert finish(more) == 4 and more.is_consolidated()


DRIVE = """
import sys
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.ray_driver import run_sweep
from ssi_kernels.execute.request import place
from ssi_kernels.sweep import load_config

with one_line_errors():
    placed = place(load_config("config.yaml"))["tiny"]
    run_sweep(placed, cores=1, log=placed.folder / "logs" / "simulate.log")
    sys.exit("ray" in sys.modules)
"""


@pytest.mark.parametrize(
    "trouble, told",
    [
        ("full", "No space left on device"),
        ("ro", "Read-only file system"),
    ],
)
def test_a_driver_that_cannot_write_ends_before_it_starts_ray(tmp_path, disk, trouble, told):
    """Case 40: one line with the place and the cause, and status 1."""
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"sweeps": {"tiny": SWEEP}}))
    if trouble == "full":
        disk.fill()
    else:
        disk.allow("ro")
    done = subprocess.run(
        [sys.executable, "-c", DRIVE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    disk.allow("rw")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("ssi: ") and told in line and "results/tiny" in line


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace(path: Path) -> None:
    path.write_bytes(b"not what was here")


PLACES = {
    "segment": "results/store/??/*.zarr.zip",
    "index": "results/store/index.json",
    "chunk of m": "results/tiny/trajectories.zarr/m/c/0/**/*",
    "metadata of m": "results/tiny/trajectories.zarr/m/zarr.json",
    "metadata": "results/tiny/recovery.zarr/zarr.json",
    "chunk of outcome": "results/tiny/recovery.zarr/outcome/c/1/**/*",
    "coordinate": "results/tiny/recovery.zarr/d/c/0",
    "marker": "results/tiny/consolidated.json",
}


@pytest.mark.parametrize("place", PLACES)
def test_whatever_is_lost_or_damaged_a_rerun_makes_the_same(tmp_path, place):
    """Cases 5 and 7: asked for again, and only what was lost is simulated. The index alone is nobody's business."""
    placed = placed_in(tmp_path)
    finish(placed)
    assert asks(placed) and not asks(placed)
    before = datasets(placed)
    victim = next(path for path in sorted(tmp_path.glob(PLACES[place])) if path.is_file())
    for damage in (cut, empty, replace, Path.unlink):
        damage(victim)
        assert asks(placed) == (place != "index")
        assert finish(placed) == (place == "segment")
        assert_same(placed, before)
        assert victim.exists() and not asks(placed)


def test_foreign_files_are_in_nobodys_way(tmp_path):
    """Case 6: wherever they are put, they stay as they are, and there is nothing to do because of them."""
    placed = placed_in(tmp_path)
    finish(placed)
    asks(placed)
    before = datasets(placed)
    (segment,) = list(placed.store.glob("*/*.zarr.zip"))[:1]
    foreign = [
        *(placed.store / "notes.txt", placed.store / "zz" / "x.zarr.zip", segment.with_name("x.zarr.zip")),
        *(segment.with_name(f".{segment.name}.tmp"), placed.folder / "notes.txt", placed.trajectories / "notes.txt"),
        *(placed.results / "notes.zarr" / "zarr.json", placed.store / "claims" / "notes.txt"),
    ]
    for path in foreign:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    assert not asks(placed) and placed.missing() == []
    more = placed_in(tmp_path, sgd={"replicas": 3})
    assert finish(more) == 4
    assert finish(placed) == 0
    assert_same(placed, before)
    assert [path.read_text() for path in foreign] == ["mine"] * len(foreign)


@pytest.mark.parametrize("ahead", [3600, 400 * 86_400])
def test_a_clock_that_was_ahead_and_is_set_back(tmp_path, ahead):
    """Everything is dated in the future: nothing to do stays nothing to do, and what is lost is still asked for."""
    placed = placed_in(tmp_path)
    finish(placed)
    asks(placed)
    date_ahead(tmp_path / "results", ahead)
    assert not asks(placed)
    assert placed.manifest.stat().st_mtime <= time.time() and placed.request.stat().st_mtime <= time.time()
    date_ahead(tmp_path / "results", ahead)
    next(placed.store.glob("*/*.zarr.zip")).unlink()
    assert asks(placed)
    assert placed.manifest.stat().st_mtime_ns < placed.request.stat().st_mtime_ns <= time.time_ns()
    assert finish(placed) == 1


def date_ahead(folder: Path, seconds: float) -> None:
    """Moves the dates of all files, so that their order stays."""
    for path in [folder, *folder.rglob("*")]:
        date = path.lstat().st_mtime_ns + int(seconds * 1e9)
        os.utime(path, ns=(date, date), follow_symlinks=False)


SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]


class Pipeline:
    """The real Snakemake in a folder whose results are on a disk of their own."""

    def __init__(self, folder: Path):
        self.folder, self.sweep = folder, folder / "results" / "tiny"

    def configure(self, **sections: dict) -> None:
        sweep = {name: {**section, **sections.get(name, {})} for name, section in SWEEP.items()}
        (self.folder / "config.yaml").write_text(yaml.safe_dump({"sweeps": {"tiny": sweep}}))

    def run(self, *targets: str) -> tuple[int, str]:
        done = subprocess.run(
            [*SNAKEMAKE, *targets, "--configfile", "config.yaml"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout

    def assert_runs(self, told: str) -> None:
        status, said = self.run()
        assert status == 0, said
        assert told in said, said

    def assert_fails(self, told: str, *targets: str) -> None:
        """Not zero, and the cause in the one line that is ours."""
        status, said = self.run(*targets)
        ours = [line for line in said.splitlines() if line.startswith("ssi: ")]
        assert status != 0 and len(ours) == 1 and ours[0].endswith(told), said
        assert "Traceback" not in said, said

    def placed(self) -> PlacedSweep:
        return place(load_config(self.folder / "config.yaml"), self.folder / "results")["tiny"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder in which everything was run."""
    pipeline = Pipeline(tmp_path_factory.mktemp("finished"))
    pipeline.configure()
    pipeline.assert_runs("4 points simulated")
    return pipeline.folder


@pytest.fixture
def pipeline(finished: Path, tmp_path: Path, disk: Disk) -> Pipeline:
    """A copy of it, with results on a disk of 5 MB."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return Pipeline(tmp_path)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(400)
def test_a_run_on_a_full_disk(tmp_path, disk):
    """Case 40: whether it is full from the first byte on or while points are stored; with room, all is there."""
    pipeline = Pipeline(tmp_path)
    pipeline.configure(sgd={"replicas": 64, "steps": 5000})
    disk.fill()
    pipeline.assert_fails(FULL)
    disk.free()
    disk.leave(pages=12)
    pipeline.assert_fails(FULL)
    assert "store" in (tmp_path / "results/tiny/logs/simulate.log").read_text()
    assert not pipeline.placed().manifest.exists()
    disk.free()
    pipeline.assert_runs("0 failed")
    found = xr.open_zarr(pipeline.sweep / "trajectories.zarr").load()
    for point in pipeline.placed().grid.points:
        assert found.m.sel(point.coords).values.tobytes() == simulate_point(point).m.values.tobytes()
    pipeline.assert_runs("Nothing to be done")


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "lost, target",
    [
        ("trajectories.zarr", "consolidated.json"),
        ("tables", "tables/recovery.csv"),
        ("figures", "figures/recovery.png"),
        ("report.html", "report.html"),
    ],
)
def test_later_stages_on_a_full_disk(pipeline, disk, lost, target):
    """Case 40: the table, the figure, the page are not there afterwards, rather than there in part."""
    before = files(pipeline.folder / "results")
    datasets_before = datasets(pipeline.placed())
    place = pipeline.sweep / lost
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    shutil.rmtree(pipeline.sweep / "logs")
    disk.fill()
    pipeline.assert_fails(FULL, f"results/tiny/{target}")
    assert not any("~" in name for name in files(disk.place))
    disk.free()
    status, said = pipeline.run()
    assert status == 0, said
    assert "0 points simulated" in said
    pipeline.assert_runs("Nothing to be done")
    assert_same(pipeline.placed(), datasets_before)
    assert {name for name in before if "/logs/" not in name} <= files(disk.place)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(400)
def test_a_run_in_read_only_results(pipeline, disk):
    """Case 40: finished results can be looked at; more is refused in one line, and done when it is allowed."""
    disk.allow("ro")
    try:
        pipeline.assert_runs("Nothing to be done")
        pipeline.configure(sgd={"replicas": 3})
        pipeline.assert_fails(READ_ONLY)
    finally:
        disk.allow("rw")
    pipeline.assert_runs("4 points simulated")


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(400)
def test_runs_after_a_clock_was_set_back(pipeline, disk):
    """All results are dated tomorrow: nothing to do is nothing to do, and what is new is simulated and drawn once."""
    date_ahead(disk.place, 86_400)
    pipeline.assert_runs("Nothing to be done")
    date_ahead(disk.place, 86_400)
    pipeline.configure(grid={"omega": [0.1, 0.3, 0.5]})
    pipeline.assert_runs("2 points simulated")
    assert xr.open_zarr(pipeline.sweep / "trajectories.zarr").omega.values.tolist() == [0.1, 0.3, 0.5]
    for name in ("report.html", "tables/recovery.csv", "consolidated.json"):
        assert (pipeline.sweep / name).stat().st_mtime <= time.time()
    assert "0.3" in (pipeline.sweep / "tables/recovery.csv").read_text()
    pipeline.assert_runs("Nothing to be done")
    date_ahead(disk.place, 86_400)
    next(pipeline.placed().store.glob("*/*.zarr.zip")).unlink()
    pipeline.assert_runs("points simulated, 0 failed")
    pipeline.assert_runs("Nothing to be done")
