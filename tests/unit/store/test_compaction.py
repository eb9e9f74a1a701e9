"""Compaction: fewer files, and nothing that reads the store can tell, at whatever moment it is killed."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.store import SegmentIndex, missing, read_segment, write_segment
from ssi_kernels.store import compaction as module
from ssi_kernels.store.claims import StoreBusy, alone, claimed, reading
from ssi_kernels.store.compaction import compact, foresee
from ssi_kernels.store.gather import gather
from ssi_kernels.store.layout import layout_of
from ssi_kernels.store.merging import Limits
from ssi_kernels.store.remote import RemotePath

from .fabricate import PROVENANCE, built, fabricate, make_sweep, store_whole

CHECKPOINTS = [(0, 10), (10, 25), (25, 50)]
EVENTS = {"diverged": {1: 12}, "stopped": {4: 30}}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def fresh_index(store):
    index = SegmentIndex(store)
    index.refresh()
    return index


def lacking(store, grid):
    """Replica by replica, without the file that it continues."""
    return {
        (work.point.point_id, replica, work.steps)
        for work in missing(grid.points, fresh_index(store))
        for replica in range(*work.replicas)
    }


def datasets(tmp_path, sweep, grid):
    """Built with nothing there; without the kernels' seconds, which are shared out among points."""
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    return built(tmp_path, sweep, grid)[:2]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        xr.testing.assert_identical(a, b)


def values(store, grid):
    """What the datasets would hold, by block and variable."""
    index, layout = fresh_index(store), layout_of(grid)
    blocks = [gather(block, layout, index, {}) for block in layout.blocks()]
    return [{**block.recovery, **{f"t_{name}": x for name, x in block.trajectories.items()}} for block in blocks]


def in_pieces(store, points, replicas=((0, 3), (3, 6)), steps=CHECKPOINTS, **events):
    for point, some, stretch in itertools.product(points, replicas, steps):
        write_segment(store, fabricate([point], some, stretch, **(events or EVENTS)))


def files(store):
    return sorted(store.glob("*/*.zarr.zip"))


@pytest.fixture
def six():
    return make_sweep(sgd={"replicas": 6})


def test_checkpoints_replicas_and_points_become_one_file(tmp_path, store, six):
    _, grid = six
    in_pieces(store, grid.points)
    before = datasets(tmp_path, *six)
    told = foresee(store)
    done = compact(store, "me")
    assert (done.files_before, done.files_after, done.written, done.removed) == (24, 1, 1, 24)
    assert (told.files_before, told.files_after, told.written, told.removed) == (24, 1, 1, 24)
    assert done.bytes_after < done.bytes_before and done.busy is None and done.damaged == ()
    assert len(files(store)) == 1 and lacking(store, grid) == set()
    assert_same(datasets(tmp_path, *six), before)
    again = compact(store, "me")
    assert (again.written, again.removed, again.files_after) == (0, 0, 1)


def test_the_merged_segment_is_what_one_task_would_have_written(store, six):
    _, grid = six
    in_pieces(store, grid.points, stopped={4: 30})
    compact(store, "me")
    merged = read_segment(files(store)[0])
    whole = fabricate(sorted(grid.points, key=lambda point: point.point_id), (0, 6), (0, 50), stopped={4: 30})
    assert (merged.points, merged.replicas, merged.steps) == (whole.points, whole.replicas, whole.steps)
    np.testing.assert_array_equal(merged.recorded, whole.recorded)
    assert merged.arrays.keys() == whole.arrays.keys() and merged.segment_id == whole.segment_id
    for name, array in whole.arrays.items():
        assert merged.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(merged.arrays[name], array)


def test_a_dry_run_changes_nothing(store, six):
    in_pieces(store, six[1].points)
    before = {path: path.read_bytes() for path in files(store)}
    foresee(store)
    assert {path: path.read_bytes() for path in files(store)} == before


def test_a_store_without_segments(store):
    done = compact(store, "me")
    assert (done.files_before, done.written, done.removed, done.bytes_after) == (0, 0, 0, 0)


def random_store(store, grid, seed):
    """Pieces of all kinds: gaps, overlaps, replicas that stop, points packed with others; returns nothing."""
    chance = random.Random(seed)
    events = {"diverged": {0: 7, 5: 33}, "stopped": {2: 20, 3: 45}}
    for _ in range(chance.randint(1, 25)):
        lo = chance.randrange(6)
        first = chance.choice([0, 0, 10, 25, 30])
        steps = first, chance.choice([to for to in (10, 25, 30, 50) if to > first])
        points = chance.sample(grid.points, chance.choice([1, 1, 2, 4]))
        write_segment(store, fabricate(points, (lo, chance.randint(lo + 1, 6)), steps, **events))


@pytest.mark.parametrize("seed", range(40))
def test_any_store_reads_the_same(store, six, seed):
    _, grid = six
    random_store(store, grid, seed)
    grids = [grid, *(make_sweep(sgd={"replicas": n, "steps": steps})[1] for n, steps in ((3, 50), (6, 25)))]
    before = [(lacking(store, one), values(store, one)) for one in grids]
    limits = Limits(bytes=random.Random(seed).choice([2_000, 20_000, 10**8]))
    done = compact(store, "me", limits)
    assert done.files_after <= done.files_before or limits.bytes < 10**8
    for one, (work, blocks) in zip(grids, before, strict=True):
        assert lacking(store, one) == work
        for found, expected in zip(values(store, one), blocks, strict=True):
            for name, array in expected.items():
                np.testing.assert_array_equal(found[name], array, err_msg=name)
    kept = {path: path.read_bytes() for path in files(store)}
    again = compact(store, "me", limits)
    assert (again.written, again.removed) == (0, 0)
    assert {path: path.read_bytes() for path in files(store)} == kept


def test_segments_that_are_large_enough_stay(store, six):
    _, grid = six
    store_whole(store, grid)
    kept = files(store)
    assert compact(store, "me", Limits(points=2)).written == 0 and files(store) == kept
    done = compact(store, "me", Limits(points=3))
    assert (done.files_after, done.written) == (2, 2) or (done.files_after, done.written) == (2, 1)


def test_other_arrays_or_schedules_or_origins_stay_apart(tmp_path, store):
    tied = make_sweep(model={"student": {"kind": "tied"}, "target": {"expression": "sum(z)"}, "encoding": None},
                      grid={"omega": None, "a": None})[1]  # fmt: skip
    dense = make_sweep(record={"every": 5})[1]
    plain, double = make_sweep()[1], make_sweep(sgd={"dtype": "float64"})[1]
    for grid in (tied, dense, plain, double):
        store_whole(store, grid)
    other = fabricate([make_sweep(grid={"omega": 0.9})[1].points[0]], (0, 3), (0, 50))
    write_segment(store, type(other)(**{**vars(other), "provenance": {**PROVENANCE, "device": "gpu: H200"}}))
    done = compact(store, "me")
    assert done.files_after == 5 and done.written == 4


def measured(seconds, minute, **other):
    times = {"seconds": seconds, "finished_at": f"2026-01-01T00:{minute:02d}:00Z"}
    return {**PROVENANCE, **other, "measured": times}


def test_provenance_and_times_are_kept(tmp_path, store):
    """A point that was continued elsewhere has two origins; the seconds of all parts are summed."""
    sweep, grid = make_sweep(grid={"d": [16]})
    origins = {(0, 10): {"device": "cpu: x86_64"}, (10, 50): {"device": "gpu: H200"}}
    for minute, (point, steps) in enumerate(itertools.product(grid.points, origins)):
        segment = fabricate([point], (0, 3), steps)
        write_segment(store, type(segment)(**{**vars(segment), "provenance": measured(1.5, minute, **origins[steps])}))
    before = datasets(tmp_path, sweep, grid)
    assert compact(store, "me").files_after == 1
    after = datasets(tmp_path, sweep, grid)
    assert_same(after, before)
    assert after[0].attrs["device"] == "cpu: x86_64; gpu: H200"
    assert after[0].attrs["kernel_seconds"] == "6.0"
    assert after[0].attrs["finished_at"] == "2026-01-01T00:00:00Z to 2026-01-01T00:03:00Z"


class Killed(BaseException):
    """Not an Exception: nothing may catch it."""


def killed_at(monkeypatch, place, name, call):
    """Kills the process, so to speak, at the `call`-th call of a function."""
    calls, original = itertools.count(), getattr(place, name)

    def maybe(*arguments, **options):
        if next(calls) == call:
            raise Killed
        return original(*arguments, **options)

    monkeypatch.setattr(place, name, maybe)


STEPS = [(module, "write_segment"), (module, "read_segment"), (module, "superseded"), (Path, "unlink")]


@pytest.mark.parametrize("place, name", STEPS, ids=[name for _, name in STEPS])
@pytest.mark.parametrize("call", range(4))
def test_a_kill_at_any_step_changes_nothing_that_is_read(tmp_path, store, six, monkeypatch, place, name, call):
    _, grid = six
    in_pieces(store, grid.points)
    before = datasets(tmp_path, *six)
    with monkeypatch.context() as patched:
        killed_at(patched, place, name, call)
        try:
            compact(store, "me", Limits(points=2))
        except Killed:
            pass
    assert lacking(store, grid) == set()
    assert_same(datasets(tmp_path, *six), before)
    compact(store, "me", Limits(points=2))
    assert len(files(store)) == 2 and lacking(store, grid) == set()
    assert_same(datasets(tmp_path, *six), before)


def hold(store, ready, end):
    with claimed(store, "the driver of another sweep", lambda: []):
        ready.set()
        end.wait(60)


def test_nothing_is_removed_while_a_driver_is_at_work(tmp_path, store, six):
    _, grid = six
    in_pieces(store, grid.points)
    before = datasets(tmp_path, *six)
    context = multiprocessing.get_context("spawn")
    ready, end = context.Event(), context.Event()
    driver = context.Process(target=hold, args=(store, ready, end))
    driver.start()
    try:
        assert ready.wait(60)
        done = compact(store, "me")
    finally:
        end.set()
        driver.join()
    assert "the driver of another sweep is at work here" in done.busy
    assert (done.written, done.removed, done.files_after) == (1, 0, 25)
    assert_same(datasets(tmp_path, *six), before)
    done = compact(store, "me")
    assert (done.written, done.removed, done.files_after, done.busy) == (0, 24, 1, None)
    assert_same(datasets(tmp_path, *six), before)


def test_it_waits_for_nobody_who_removes_files(store, six):
    in_pieces(store, six[1].points)
    with alone(store, "gc"), pytest.raises(StoreBusy, match="gc is removing files"):
        compact(store, "me")
    with reading(store, "a consolidation"):
        assert "a consolidation" in compact(store, "me").busy


def test_a_damaged_segment_is_set_aside_and_the_rest_merged(store, six):
    _, grid = six
    in_pieces(store, grid.points)
    index = fresh_index(store)
    victim = next(piece.path for piece in index.covered(grid.points[0].point_id) if piece.steps == (10, 25))
    content = bytearray(victim.read_bytes())
    middle = content.index(b"m/c/0/0/0") + 40
    content[middle : middle + 8] = b"\xff" * 8
    victim.write_bytes(content)
    work = {(grid.points[0].point_id, k, (10, 50)) for k in range(*read_replicas(index, victim))}
    done = compact(store, "me")
    assert len(done.damaged) == 1 and victim.name in done.damaged[0]
    assert {entry for entry in lacking(store, grid) if entry[1] not in EVENTS["diverged"]} <= work


def read_replicas(index, path):
    return index.headings()[path].replicas


def test_what_is_to_replace_others_must_be_whole(store, six, monkeypatch):
    """A merged file that the disk damaged before the others were removed."""
    _, grid = six
    in_pieces(store, grid.points)
    with reading(store, "somebody"):
        compact(store, "me")
    (merged,) = [path for path, heading in fresh_index(store).headings().items() if len(heading.point_ids) == 4]
    content = bytearray(merged.read_bytes())
    middle = content.index(b"m/c/0/0/0") + 40
    content[middle : middle + 8] = b"\xff" * 8
    merged.write_bytes(content)
    done = compact(store, "me")
    assert len(done.damaged) == 1 and done.removed == 0 and lacking(store, grid) == set()
    done = compact(store, "me")
    assert (done.files_after, done.damaged) == (1, ()) and lacking(store, grid) == set()


def test_in_object_storage(six, monkeypatch):
    monkeypatch.setattr("ssi_kernels.store.leases.SETTLING", 0.01)
    store = RemotePath("memory://bucket/compaction")
    _, grid = six
    in_pieces(store, grid.points)
    assert (foresee(store).removed, compact(store, "me").files_after) == (24, 1)
    names = [found.name for found in store.objects() if found.name.endswith(".zarr.zip")]
    assert len(names) == 1 and lacking(store, grid) == set()
