"""Two sweeps that share points, in one store: what is shared is computed once, also when both run at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import xarray as xr
import yaml

from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.store import SegmentIndex, consolidate
from ssi_kernels.sweep import load_config

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]

DRIVE = """
import sys
from pathlib import Path
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.ray_driver import run_sweep
from ssi_kernels.execute.request import place
from ssi_kernels.sweep import load_config

with one_line_errors():
    placed = place(load_config(sys.argv[1]))["trouble"]
    outcome = run_sweep(placed, cores=1, log=placed.folder / "logs" / "simulate.log")
    print(outcome.simulated, flush=True)
    sys.exit(1 if outcome.failures else 0)
"""


class Pair:
    """Two configurations with a results folder each and one store; `trouble.py` lets workers wait (see conftest)."""

    def __init__(self, project, lengths: dict[str, list[int]], store: str):
        self.project, self.folder, self.lengths = project, project.folder, lengths
        for name, values in lengths.items():
            self.configure(name, values, store)

    def configure(self, name: str, values: list[int], store: str) -> None:
        sweep = {
            "model": {"target": {"callable": "trouble:target"}, "student": {"kind": "tied", "activation": "relu"}},
            "grid": {"d": 16, "length": values},
            "sgd": {"learning_rate": 0.1, "steps": 20, "replicas": 2},
        }
        content = {"sweeps": {"trouble": sweep}, "results": f"results-{name}", "store": store}
        (self.folder / f"{name}.yaml").write_text(yaml.safe_dump(content))

    def start(self, name: str) -> subprocess.Popen:
        driver = subprocess.Popen(
            [sys.executable, "-c", DRIVE, f"{name}.yaml"],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}:{self.folder}",
                "TMPDIR": str(self.project.temporary),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.project.drivers.append(driver)
        return driver

    def placed(self, name: str) -> PlacedSweep:
        config = load_config(self.folder / f"{name}.yaml")
        return place(config, self.folder / f"results-{name}")["trouble"]

    def stored(self) -> Counter:
        """How often each point is stored."""
        index = SegmentIndex(self.folder / "shared")
        index.refresh()
        return Counter(point_id for heading in index.headings().values() for point_id in heading.point_ids)

    def shared_no_more_than_others(self) -> bool:
        """Whether workers traced the target equally often at every length: a run traces it a fixed number of times."""
        return len({self.project.tried(length) for length in range(1, 7)}) == 1


@pytest.fixture
def pair(project, monkeypatch) -> Pair:
    monkeypatch.chdir(project.folder)
    return Pair(project, {"first": [1, 2, 3, 4], "second": [3, 4, 5, 6]}, "shared")


def end(driver: subprocess.Popen) -> tuple[int, str, str]:
    out, err = driver.communicate(timeout=180)
    return driver.returncode, out, err


def assert_complete(pair: Pair) -> None:
    """Both sweeps have everything, each point is stored once, and their datasets agree where they overlap."""
    assert set(pair.stored().values()) == {1} and len(pair.stored()) == 6
    found = []
    for name in ("first", "second"):
        placed = pair.placed(name)
        assert placed.missing() == []
        made = consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        found.append(xr.open_zarr(made.trajectories).load())
    one, other = (dataset.m.sel(length=[3, 4]) for dataset in found)
    assert one.values.tobytes() == other.values.tobytes()


@pytest.mark.slow
def test_one_after_the_other(pair):
    assert end(pair.start("first"))[:2] == (0, "4\n")
    assert end(pair.start("second"))[:2] == (0, "2\n")
    assert pair.shared_no_more_than_others()
    assert_complete(pair)


def test_both_at_the_same_time(pair):
    """The second does its own half while the first holds what they share, then waits and says for whom."""
    pair.project.trouble("hold-3", "hold-4")
    first = pair.start("first")
    claims = Path("shared/claims")
    pair.project.wait_until(lambda: claims.is_dir() and any(p.name.endswith(".claim") for p in claims.iterdir()))
    second = pair.start("second")
    pair.project.wait_until(lambda: "waiting for them" in log_of(pair, "second"))
    assert f"pid {first.pid}" in log_of(pair, "second") and "2 points are being computed by" in log_of(pair, "second")
    pair.project.cure("hold-3", "hold-4")
    assert end(first)[:2] == (0, "4\n")
    assert end(second)[:2] == (0, "2\n")
    assert pair.shared_no_more_than_others()
    assert_complete(pair)


@pytest.mark.slow
def test_what_a_killed_driver_had_claimed_is_taken_over(pair):
    pair.project.trouble("hold-3", "hold-4")
    first = pair.start("first")
    claims = Path("shared/claims")
    pair.project.wait_until(lambda: claims.is_dir() and any(p.name.endswith(".claim") for p in claims.iterdir()))
    second = pair.start("second")
    pair.project.wait_until(lambda: "waiting for them" in log_of(pair, "second"))
    first.kill()
    first.communicate()
    pair.project.cure("hold-3", "hold-4")
    status, _, err = end(second)
    assert status == 0, err
    assert pair.placed("second").missing() == []
    assert set(pair.stored().values()) == {1}
    assert end(pair.start("first"))[0] == 0
    assert_complete(pair)


@pytest.mark.slow
def test_what_fails_elsewhere_is_tried_here(pair):
    pair.project.trouble("hold-4", "raise-3")
    first = pair.start("first")
    claims = Path("shared/claims")
    pair.project.wait_until(lambda: claims.is_dir() and any(p.name.endswith(".claim") for p in claims.iterdir()))
    second = pair.start("second")
    pair.project.wait_until(lambda: "waiting for them" in log_of(pair, "second"))
    pair.project.cure("hold-4")
    assert end(first)[0] == 1
    status, _, err = end(second)
    assert status == 1 and "FAILED d=16 length=3: " in err
    assert {item.point.length for item in pair.placed("second").missing()} == {3}
    pair.project.cure("raise-3")
    assert end(pair.start("second"))[:2] == (0, "1\n")
    assert end(pair.start("first"))[:2] == (0, "0\n")
    assert_complete(pair)


def log_of(pair: Pair, name: str) -> str:
    log = pair.folder / f"results-{name}" / "trouble" / "logs" / "simulate.log"
    return log.read_text() if log.exists() else ""
