"""Killed at every step of writing: no half of a segment is ever seen, and the earlier datasets stay whole.

A process that has imported everything forks a child for each kill, which costs milliseconds. A child is killed at its
n-th step in the file system (told by Python's audit events and fsync), after so many bytes of a file (a limit on the
size of files), or after some time. Cases 5 and 6.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import xarray as xr

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from store.fabricate import built, fabricate, make_sweep, store_whole

from ssi_kernels.store import SegmentIndex, fingerprint, read_segment, stale
from ssi_kernels.store.atomic import is_temporary

UNIT = Path(__file__).resolve().parents[1] / "unit"
GRIDS = [
    {"d": [16, 32], "omega": [0.1, 0.5]},
    {"d": [16, 32], "omega": [0.1, 0.3, 0.7]},
    {"d": [16, 64], "omega": [0.1, 0.5]},  # shares a block with the first
]
FORKS = """
import json, os, resource, signal, sys, time
from pathlib import Path

sys.path.insert(0, sys.argv[1])
root = Path(sys.argv[2])
from store.fabricate import fabricate, make_sweep
from ssi_kernels.store import consolidation, write_segment

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.listdir", "os.scandir", "os.utime",
         "shutil.copyfile", "shutil.rmtree", "ctypes.dlopen", "ctypes.dlsym", "fsync"}
GRIDS = json.loads(sys.argv[3])
PLACING = {"os.rename", "shutil.rmtree", "ctypes.dlopen", "ctypes.dlsym", "open", "fsync"}
taken = 0

def count_steps(limit, steps):
    def step(event, told):
        global taken
        if event in steps and (event != "open" or steps is STEPS or ".consolidated.json" in str(told[0])):
            taken += 1
            if taken == limit:
                os.kill(os.getpid(), signal.SIGKILL)
    fsync = os.fsync
    def told(file):
        step("fsync", None)
        fsync(file)
    os.fsync = told
    sys.addaudithook(step)

def count_steps_of_placing(limit):
    place = consolidation._place
    def placing(build, target):
        if target.name == "trajectories.zarr":
            count_steps(limit, PLACING)
        place(build, target)
    consolidation._place = placing

def limit_bytes(limit):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

def segment(number):
    _, grid = make_sweep()
    write_segment(root / "store", fabricate(grid.points[:2], (number, number + 1), (0, 50)))

def datasets(number):
    sweep, grid = make_sweep(grid=GRIDS[number])
    consolidation.consolidate(sweep, grid, root / "store", root / "x")

WORK = {"segment": segment, "datasets": datasets}

def child(work, number, how, limit):
    if how == "step":
        count_steps(int(limit), STEPS)
    if how == "placing":
        count_steps_of_placing(int(limit))
    if how == "bytes":
        limit_bytes(int(limit))
    began = time.perf_counter()
    WORK[work](int(number))
    os.write(1, f"done {taken} {time.perf_counter() - began}\\n".encode())

if __name__ == "__main__":
    for line in sys.stdin:
        work, number, how, limit = line.split()
        pid = os.fork()
        if pid == 0:
            try:
                child(work, number, how, limit)
            finally:
                os._exit(0)
        if how == "seconds":
            time.sleep(float(limit))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.write(1, b"killed\\n" if os.WIFSIGNALED(status) else b"ended\\n")
"""


class Forks:
    """The process that forks: `kill("segment", 3, "step", 7)` says whether that killed the child."""

    def __init__(self, root: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", FORKS, str(UNIT), str(root), json.dumps(GRIDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(UNIT.parents[1])},
        )

    def kill(self, work: str, number: int, how: str, limit: float) -> bool:
        return self._ask(work, number, how, limit)[-1] == "killed"

    def measure(self, work: str, number: int, how: str = "step") -> tuple[int, float]:
        """Steps and seconds of an uninterrupted run."""
        done, ended = self._ask(work, number, how, 0)
        assert ended == "ended"
        _, steps, seconds = done.split()
        return int(steps), float(seconds)

    def _ask(self, *words: object) -> list[str]:
        print(*words, file=self.process.stdin, flush=True)
        lines = []
        while not lines or lines[-1] not in ("killed", "ended"):
            line = self.process.stdout.readline()
            assert line, "the process that forks has ended"
            lines.append(line.strip())
        return lines

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    forks = Forks(tmp_path)
    yield forks
    forks.end()


def leftovers(folder: Path) -> list[Path]:
    """Temporary files and folders."""
    return [path for path in folder.rglob("*") if is_temporary(path.name)]


def assert_segments_are_whole(store: Path, points) -> set[int]:
    """Every file that is named like a segment is one, of exactly the bytes of an uninterrupted write."""
    seen = set()
    for path in store.glob("*/*.zarr.zip"):
        found = read_segment(path)
        expected = fabricate(points, found.replicas, found.steps)
        assert path.name.startswith(expected.segment_id) and found.point_ids == expected.point_ids
        assert {name: array.tobytes() for name, array in found.arrays.items()} == {
            name: array.tobytes() for name, array in expected.arrays.items()
        }
        seen.add(found.replicas[0])
    return seen


def test_a_writer_killed_at_every_step_and_byte(tmp_path, forks):
    """Case 5: a segment is there whole or not at all; what is left of the others goes, and they can be written."""
    points, store = make_sweep()[1].points[:2], tmp_path / "store"
    steps = [forks.measure("segment", number)[0] for number in range(2)][-1]  # the first one makes the store
    size = next(store.glob("*/*.zarr.zip")).stat().st_size
    kills = [("step", n) for n in range(1, steps + 1)] + [("bytes", n) for n in (0, 1, 1000, size // 2, size - 500)]
    left = []
    for number, (how, limit) in enumerate(kills, start=2):
        assert forks.kill("segment", number, how, limit), f"{how} {limit} killed nobody"
        left.append(len(leftovers(store)))
        assert_segments_are_whole(store, points)
    assert left[-1] >= 5, "the kills in mid-write leave temporary files"
    assert any(path.stat().st_size == size // 2 for path in leftovers(store))
    SegmentIndex(store).refresh()
    assert leftovers(store) == []
    for number in range(2, len(kills) + 2):
        forks.measure("segment", number)
    assert assert_segments_are_whole(store, points) == set(range(len(kills) + 2))


@pytest.mark.slow
def test_a_writer_killed_at_random_moments(tmp_path, forks):
    """Case 5, by the clock: 300 kills."""
    points, store, generator = make_sweep()[1].points[:2], tmp_path / "store", random.Random(20261201)
    _, seconds = forks.measure("segment", 0)
    ends: Counter = Counter()
    for number in range(1, 301):
        ends[forks.kill("segment", number, "seconds", generator.uniform(0, 1.5 * seconds))] += 1
        if number % 20 == 0:
            assert_segments_are_whole(store, points)
    assert ends[True] > 30
    SegmentIndex(store).refresh()
    assert leftovers(store) == []
    assert_segments_are_whole(store, points)


NAMES = ("trajectories.zarr", "recovery.zarr")


class Rebuilt:
    """Datasets that are made of one grid after another, and what each of them should be."""

    def __init__(self, root: Path, forks: Forks):
        self.root, self.folder, self.forks = root, root / "x", forks
        self.sweeps = [make_sweep(grid=grid) for grid in GRIDS]
        for _, grid in self.sweeps:
            store_whole(root / "store", grid)
        self.expected = [self._from_nothing(number) for number in range(len(GRIDS))]
        built(root, *self.sweeps[-1])
        self.costs = [forks.measure("datasets", number) for number in range(len(GRIDS))]

    def _from_nothing(self, number: int) -> tuple[xr.Dataset, xr.Dataset]:
        place = self.root / f"alone-{number}"
        place.mkdir()
        (place / "store").symlink_to(self.root / "store")
        return built(place, *self.sweeps[number])[:2]

    def which(self) -> list[int]:
        """For both datasets, of which grid they are, whole and to the last bit."""
        found = []
        for place, name in enumerate(NAMES):
            dataset = xr.open_zarr(self.folder / name).load()
            same = [n for n, expected in enumerate(self.expected) if dataset.identical(expected[place])]
            assert same, f"{name} is neither the earlier nor the later one"
            found += same
        return found

    def marked(self) -> list[int]:
        """Of which grids the marker says that all is there."""
        grids = [grid for _, grid in self.sweeps]
        return [n for n, grid in enumerate(grids) if stale(self.folder, fingerprint(grid, [], {})) is None]

    def disturb(self, number: int, how: str, limit: float) -> bool:
        """Kills a build of grid `number`, looks at what is there, and builds it. True where the kill came in time."""
        killed = self.forks.kill("datasets", number, how, limit)
        which, marked = self.which(), self.marked()
        earlier = (number - 1) % len(GRIDS)
        assert set(which) <= {earlier, number}
        assert not marked or which == marked * 2, "the marker says what is not there"
        self.forks.measure("datasets", number)
        assert self.which() == [number, number] and self.marked() == [number]
        assert sorted(os.listdir(self.folder)) == ["consolidated.json", "recovery.zarr", "trajectories.zarr"]
        return killed


def disturb(rebuilt: Rebuilt, rounds: int, seed: int) -> Counter:
    """Builds and kills round after round: by turns at a random step and after a random time."""
    generator, kills = random.Random(seed), Counter()
    for turn in range(rounds):
        number = turn % len(GRIDS)
        steps, seconds = rebuilt.costs[number]
        if turn % 3:
            kills["step"] += rebuilt.disturb(number, "step", generator.randint(1, steps))
        else:
            kills["seconds"] += rebuilt.disturb(number, "seconds", generator.uniform(0, seconds))
    return kills


def test_a_killed_consolidation(tmp_path, forks):
    """Case 6: the earlier datasets open and are whole, no marker lies, the next build succeeds and cleans up."""
    assert disturb(Rebuilt(tmp_path, forks), 6, seed=1).total() >= 3


def test_a_consolidation_killed_while_datasets_take_their_places(tmp_path, forks):
    """Case 6, at every step from the exchange of the first names to the marker."""
    rebuilt = Rebuilt(tmp_path, forks)
    rebuilt.disturb(0, "step", 1)
    steps, _ = forks.measure("datasets", 1, "placing")
    assert 6 <= steps < 30
    for turn in range(2, steps + 2):
        assert rebuilt.disturb(turn % len(GRIDS), "placing", turn - 1)


@pytest.mark.slow
def test_a_consolidation_killed_fifty_times(tmp_path, forks):
    """Case 6."""
    assert disturb(Rebuilt(tmp_path, forks), 75, seed=20261201).total() >= 50
