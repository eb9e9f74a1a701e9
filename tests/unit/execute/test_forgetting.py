"""Chosen points go from the store, with their failures; the next run computes them again."""

from __future__ import annotations

import pytest

from ssi_kernels.execute.failures import Failure, read_failures, write_failures
from ssi_kernels.execute.forgetting import foresee, forget
from ssi_kernels.execute.plan import choose_points
from ssi_kernels.execute.request import place
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import consolidate, write_segment
from ssi_kernels.store.claims import StoreBusy, claimed
from ssi_kernels.store.marker import read_marker
from ssi_kernels.sweep import effective, parse_config


@pytest.fixture
def sweeps(tmp_path, make_placed, run):
    """Two sweeps that share the points with omega 0.1, all stored in one segment, with datasets."""
    sweep = effective(make_placed().sweep)
    other = {**sweep, "grid": {**sweep["grid"], "omega": [0.1]}}
    far = {**sweep, "grid": {**sweep["grid"], "omega": [0.7]}}
    config = parse_config({"sweeps": {"tiny": sweep, "other": other, "far": far}})
    sweeps = place(config, tmp_path / "results")
    points = (*sweeps["tiny"].grid.points, *sweeps["far"].grid.points)
    write_segment(sweeps["tiny"].store, run(Task(points, (0, 2), (0, 50))))
    for placed in sweeps.values():
        consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    return sweeps


def lacking(placed):
    return {item.point.point_id for item in placed.missing()}


def test_exactly_the_chosen_points_go(sweeps):
    placed = sweeps["tiny"]
    chosen = choose_points(placed.grid, {"omega": ["0.1"], "d": ["16", "32"]})
    told = foresee(placed, chosen, sweeps)
    assert (told.points, told.stored, told.replicas, told.removed, told.rewritten) == (2, 2, 4, 0, 1)
    assert told.also_in == ("other",) and lacking(placed) == set()
    assert forget(placed, chosen, sweeps, "forget") == told
    assert lacking(placed) == {point.point_id for point in chosen} == lacking(sweeps["other"])
    assert lacking(sweeps["far"]) == set()
    assert foresee(placed, chosen, sweeps).stored == 0


def test_blocks_that_may_have_other_values_are_made_anew(sweeps):
    """A point that is computed again may be in a file of the same name and size."""
    placed = sweeps["tiny"]
    forget(placed, choose_points(placed.grid, {"omega": ["0.1"]}), sweeps, "forget")
    kept = {name: bool(read_marker(each.folder)["blocks"]) for name, each in sweeps.items()}
    assert kept == {"tiny": False, "other": False, "far": True}
    assert placed.is_consolidated()


def test_failures_of_the_chosen_points_go(sweeps):
    placed = sweeps["tiny"]
    failures = {p.point_id: Failure(p.point_id, dict(p.coords), "boom", "") for p in placed.grid.points[:2]}
    write_failures(placed.folder, failures)
    chosen = choose_points(placed.grid, {"omega": ["0.5"]})
    told = forget(placed, chosen, sweeps, "forget")
    assert told.failures == 1 and set(read_failures(placed.folder)) == {placed.grid.points[0].point_id}


def test_it_is_refused_while_a_driver_is_at_work(sweeps):
    placed = sweeps["tiny"]
    with claimed(placed.store, "a driver", lambda: []), pytest.raises(StoreBusy, match="a driver is at work"):
        forget(placed, placed.grid.points, sweeps, "forget")
    assert lacking(placed) == set() and read_marker(placed.folder)["blocks"]
