"""Whatever is added, taken away, killed and run again: datasets as from scratch, and nothing is done twice.

A plain model in memory says what should exist: for every point and replica how far it was ever computed. Every pass
must compute exactly what is beyond that, and its datasets must hold the bits of one uninterrupted simulation.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ssi_kernels.execute.batch import run_task, segments, shape_key
from ssi_kernels.execute.packing import pack
from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import consolidate, open_recovery, open_trajectories, write_segment
from ssi_kernels.sweep import parse_config

OMEGAS, DIMENSIONS, STEPS, REPLICAS = (0.1, 0.4, 0.8), (8, 12), (0, 7, 20, 33, 60), (1, 2, 4)
LONGEST, MOST = max(STEPS), max(REPLICAS)
KINDS = {
    "reduced": {},
    "full": {"kernel": "full"},
    "stopping": {"stop": "recovered", "learning_rate": 0.5, "start": {"m": 0.3, "e": 0.1}},
    "tied": {},
    "tied full": {"kernel": "full"},
}
TIED = ("tied", "tied full")
SIE = {0.1: 1, 0.4: 2, 0.8: 3}  # what stands for an omega where the student is tied
_SCRATCH: dict = {}


def mapping(kind, omegas, dimensions, steps, replicas):
    sgd = {"learning_rate": 0.1, "steps": max(1, steps), "replicas": replicas, **KINDS[kind]}
    if kind.startswith("tied"):
        return {
            "model": {"target": {"family": "hermite"}, "student": {"kind": "tied", "activation": "relu"}},
            "grid": {"d": sorted(dimensions), "length": 2, "sie": sorted(SIE[omega] for omega in omegas)},
            "sgd": sgd,
            "record": {"every": 3},
        }
    return {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "opposite-pair",
        },
        "grid": {"d": sorted(dimensions), "length": 2, "omega": sorted(omegas), "a": 1.0},
        "sgd": sgd,
        "record": {"every": 3},
    }


def scratch(point):
    """One uninterrupted simulation of the most replicas and steps, once for each point."""
    if point.point_id not in _SCRATCH:
        whole = run_task(Task((replace(point, steps=LONGEST, replicas=MOST),), (0, MOST), (0, LONGEST)))
        _SCRATCH[point.point_id] = whole.recorded, {name: array[0] for name, array in whole.arrays.items()}
    return _SCRATCH[point.point_id]


class History(RuleBasedStateMachine):
    """Edits of a configuration, runs of it, and kills."""

    kind, packed = "reduced", True

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed):
        self.folder = Path(tempfile.mkdtemp(prefix="history"))
        self.chance = random.Random(seed)
        self.omegas, self.dimensions, self.steps, self.replicas = {0.1, 0.4}, {8}, 20, 2
        self.written: dict[Path, list[tuple[str, int, tuple[int, int]]]] = {}
        self.is_complete = False

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)

    @property
    def placed(self) -> PlacedSweep:
        sweep = mapping(self.kind, self.omegas, self.dimensions, self.steps, self.replicas)
        return place(parse_config({"sweeps": {"s": sweep}}), self.folder)["s"]

    @rule(omega=st.sampled_from(OMEGAS))
    def toggle_omega(self, omega):
        changed = self.omegas ^ {omega}
        self.omegas, self.is_complete = changed or self.omegas, False

    @rule(d=st.sampled_from(DIMENSIONS))
    def toggle_dimension(self, d):
        changed = self.dimensions ^ {d}
        self.dimensions, self.is_complete = changed or self.dimensions, False

    @rule(steps=st.sampled_from(STEPS[1:]))
    def set_steps(self, steps):
        self.steps, self.is_complete = steps, False

    @rule(replicas=st.sampled_from(REPLICAS))
    def set_replicas(self, replicas):
        self.replicas, self.is_complete = replicas, False

    @rule()
    def run(self):
        """A run to the end; the number of steps of replicas is what the model lacks."""
        placed, tasks = self.placed, self.tasks()
        assert self.cells(tasks) == self.lacking(placed)
        for task in tasks:
            self.perform(task)
        assert placed.missing() == []
        made = consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        assert (made.missing, made.failed, made.damaged) == (0, 0, ())
        self.is_complete = True

    @rule(share=st.floats(0, 1))
    def run_and_be_killed(self, share):
        """Some tasks are stored, one leaves a checkpoint, the others are lost, and a file is left half written."""
        placed, tasks = self.placed, self.tasks()
        whole = tasks[: int(share * len(tasks))]
        for task in whole:
            self.perform(task)
        for task in tasks[len(whole) : len(whole) + 1]:
            if task.steps[1] - task.steps[0] > 1:
                self.perform(
                    replace(task, steps=(task.steps[0], self.chance.randint(task.steps[0] + 1, task.steps[1])))
                )
            (placed.store / "ab").mkdir(parents=True, exist_ok=True)
            (placed.store / "ab" / ".x.zarr.zip~gone~0~1~00.tmp").write_bytes(b"half")
        self.is_complete = False

    @precondition(lambda self: self.written)
    @rule()
    def truncate_a_segment(self):
        """What a crash of the machine does: what was in the segment is lost, until something fills the gap."""
        paths = sorted(self.written)
        path = paths[self.chance.randrange(len(paths))]
        path.write_bytes(path.read_bytes()[:100])
        del self.written[path]
        self.is_complete = False

    @invariant()
    def datasets_are_those_of_scratch(self):
        if getattr(self, "is_complete", False):
            assert_as_scratch(self.placed)

    def tasks(self) -> list[Task]:
        work = self.placed.missing()
        if self.packed:
            tasks = pack(work, 2)
        else:
            tasks = [Task((item.point,), item.replicas, item.steps, item.resume) for item in work]
        self.chance.shuffle(tasks)
        return tasks

    def perform(self, task: Task):
        for segment in segments(task, every=None if self.chance.random() < 0.5 else 1e-9):
            path = write_segment(self.placed.store, segment)
            self.written[path] = [
                (point.point_id, replica, segment.steps) for point in task.points for replica in range(*task.replicas)
            ]

    def reached(self) -> dict[tuple[str, int], int]:
        """How far every replica is stored from step 0 without a gap."""
        reach: dict[tuple[str, int], int] = {}
        entries = [entry for written in self.written.values() for entry in written]
        for point_id, replica, (start, end) in sorted(entries, key=lambda entry: entry[2]):
            so_far = reach.get((point_id, replica), 0)
            if start <= so_far:
                reach[point_id, replica] = max(so_far, end)
        return reach

    def cells(self, tasks) -> int:
        return sum(task.lane_steps for task in tasks)

    def lacking(self, placed) -> int:
        """Steps of replicas that were never computed or are lost; a replica that has stopped lacks nothing."""
        total, all_reached = 0, self.reached()
        for point in placed.grid.points:
            _, arrays = scratch(point)
            over = np.fmin(arrays["stop_step"], arrays["diverged_step"])
            for replica in range(point.replicas):
                reached = all_reached.get((point.point_id, replica), 0)
                if not (reached and over[replica] <= reached):
                    total += max(0, point.steps - reached)
        return total


def assert_as_scratch(placed: PlacedSweep) -> None:
    trajectories = open_trajectories(placed.trajectories).load()
    recovery = open_recovery(placed.recovery).load()
    for point in placed.grid.points:
        recorded, arrays = scratch(point)
        at = dict(point.coords)
        here = trajectories.sel(at)
        within = recorded <= point.steps
        columns = np.searchsorted(trajectories.step.values, recorded[within])
        for name in {"m", "e"} & arrays.keys():
            expected = arrays[name][: point.replicas, within]
            assert here[name].values[:, columns].tobytes() == expected.tobytes()
        crossed = arrays["recovery_step"][: point.replicas, 0]
        crossed = np.where(crossed <= point.steps, crossed, np.nan)
        np.testing.assert_array_equal(recovery.recovery_step.sel(at).values[:, 0], crossed)


def machine(kind_, packed_, examples, steps):
    class Machine(History):
        kind, packed = kind_, packed_

    case = Machine.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    return case


class TestPacked(machine("reduced", True, 4, 12)):
    """Several points a task, reduced kernel."""


class TestAlone(machine("full", False, 3, 10)):
    """One point a task, explicit weights."""


class TestStopping(machine("stopping", True, 3, 12)):
    """Replicas that stop by rule are complete for every horizon."""


@pytest.mark.slow
class TestPackedLong(machine("reduced", True, 40, 25)):
    """As above, longer."""


@pytest.mark.slow
class TestAloneLong(machine("full", False, 25, 25)):
    """As above, longer."""


@pytest.mark.slow
class TestFullPackedLong(machine("full", True, 25, 25)):
    """Explicit weights, several points a task."""


@pytest.mark.slow
class TestTiedLong(machine("tied", True, 25, 25)):
    """Another student and another target."""


@pytest.mark.slow
class TestTiedAloneLong(machine("tied full", False, 15, 25)):
    """The same with explicit weights, one point a task."""


@pytest.mark.slow
class TestStoppingLong(machine("stopping", False, 40, 25)):
    """As above, longer, one point a task."""


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", ["reduced", "full", *(pytest.param(k, marks=pytest.mark.slow) for k in TIED)])
@pytest.mark.parametrize("order", ["replicas first", "steps first", "up and down"])
def test_extension_in_any_order(tmp_path, kind, packed, order):
    """More replicas, more steps, fewer of both: equal to the bit to scratch, and only what is new is computed."""
    journeys = {
        "replicas first": [(20, 2), (20, 4), (60, 4)],
        "steps first": [(20, 2), (60, 2), (60, 4)],
        "up and down": [(33, 4), (7, 1), (60, 2), (20, 4), (60, 4)],
    }
    reached: dict[int, int] = {}
    for steps, replicas in journeys[order]:
        sweep = mapping(kind, {0.1, 0.8}, {8}, steps, replicas)
        placed = place(parse_config({"sweeps": {"s": sweep}}), tmp_path)["s"]
        work = placed.missing()
        tasks = pack(work, 1) if packed else [Task((w.point,), w.replicas, w.steps, w.resume) for w in work]
        new = sum(max(0, steps - reached.get(replica, 0)) for replica in range(replicas))
        assert sum(task.lane_steps for task in tasks) == 2 * new
        assert packed is False or all(len({shape_key(p) for p in task.points}) == 1 for task in tasks)
        for task in tasks:
            write_segment(placed.store, run_task(task))
        for replica in range(replicas):
            reached[replica] = max(steps, reached.get(replica, 0))
        consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
        assert_as_scratch(placed)
