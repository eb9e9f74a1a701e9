"""A long task goes on from its last checkpoint, whoever is killed: its worker, or the whole driver."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import psutil
import pytest
import yaml

from ssi_kernels.execute.simulate import simulate_point
from ssi_kernels.store import SegmentIndex, consolidate, open_trajectories

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(300)]

STEPS = 40_000_000  # some ten seconds of one core for one tile


@pytest.fixture
def long_project(project):
    sweep = {
        "model": {"target": {"family": "hermite"}, "student": {"kind": "tied", "activation": "relu"}},
        "grid": {"d": [500, 1000], "length": 2, "sie": 2},
        "sgd": {"learning_rate": 1e-3, "steps": STEPS, "replicas": 8},
        "resources": {"checkpoint": 0.5},
    }
    (project.folder / "config.yaml").write_text(yaml.safe_dump({"sweeps": {"trouble": sweep}}))
    return project


def segments(project) -> dict[Path, tuple[int, int]]:
    """The step ranges of all segments by path, in order."""
    index = SegmentIndex(project.folder / "results/store")
    index.refresh()
    found = {path: heading.steps for path, heading in index.headings().items()}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def workers_of(driver_pid: int) -> list[psutil.Process]:
    """Ray workers of a driver that are at work."""
    children = psutil.Process(driver_pid).children(recursive=True)
    return [p for p in children if "ray::perform" in " ".join(p.cmdline())]


def assert_continued(project, before: dict) -> None:
    """What was stored before the kill is untouched, the steps have neither gap nor overlap, the bits are right."""
    after = segments(project)
    assert before.items() <= after.items()
    chains: dict[tuple, list] = {}
    index = SegmentIndex(project.folder / "results/store")
    index.refresh()
    for path, steps in after.items():
        heading = index.headings()[path]
        for point_id in heading.point_ids:
            chains.setdefault((point_id, heading.replicas), []).append(steps)
    for chain in chains.values():
        assert chain[0][0] == 0 and chain[-1][1] == STEPS
        assert [a for a, _ in chain[1:]] == [b for _, b in chain[:-1]], "no step is lost, none is computed twice"
    placed = project.placed
    assert placed.missing() == []
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    found = open_trajectories(placed.trajectories)
    point = placed.grid.points[0]
    alone = simulate_point(point)
    np.testing.assert_array_equal(found.m.sel(d=point.d).squeeze().values, alone.m.values)


def test_a_killed_worker_loses_seconds(long_project):
    driver = long_project.start()
    long_project.wait_until(lambda: len(segments(long_project)) >= 3)
    before = segments(long_project)
    os.kill(workers_of(driver.pid)[0].pid, signal.SIGKILL)
    _, err = driver.communicate(timeout=200)
    assert driver.returncode == 0, err
    assert_continued(long_project, before)


def test_a_killed_driver_loses_seconds(long_project):
    driver = long_project.start()
    long_project.wait_until(lambda: len(segments(long_project)) >= 3)
    processes = [driver, *psutil.Process(driver.pid).children(recursive=True)]
    for process in processes:
        process.kill()
    driver.communicate()
    long_project.wait_until(lambda: not any(p.is_running() and p.status() != "zombie" for p in processes[1:]))
    before = segments(long_project)
    assert any(steps[1] < STEPS for steps in before.values())
    status, _, err = long_project.run()
    assert status == 0, err
    assert_continued(long_project, before)
