"""What is stored is read again, and computed again, with the real kernels."""

from __future__ import annotations

import numpy as np
import pytest

from ssi_kernels.execute import recompute as module
from ssi_kernels.execute.batch import run_task
from ssi_kernels.execute.packing import pack
from ssi_kernels.execute.request import place
from ssi_kernels.execute.tasks import Task
from ssi_kernels.execute.verify import verify
from ssi_kernels.store import Segment, consolidate, missing, read_segment, write_segment
from ssi_kernels.store.compaction import compact
from ssi_kernels.sweep import parse_config

LEGS = [(0, 20), (20, 60)]


def placed_of(tmp_path, **sgd):
    sweep = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "opposite-pair",
        },
        "grid": {"d": [30, 50], "length": 2, "omega": [0.1, 0.5], "a": 1.0},
        "sgd": {"learning_rate": 0.5, "steps": 60, "replicas": 4, "start": {"m": 0.3}, "stop": "recovered", **sgd},
        "recovery": {"threshold": [0.35, 0.32]},
    }
    return place(parse_config({"sweeps": {"x": sweep}}), tmp_path / "results")["x"]


def run_all(placed):
    for task in pack(missing(placed.grid.points, placed.index()), workers=2):
        write_segment(placed.store, run_task(task))
    assert placed.missing() == []


def build(placed):
    return consolidate(placed.sweep, placed.grid, placed.store, placed.folder)


@pytest.fixture
def in_legs(tmp_path):
    """Every point in two segments, as checkpoints leave them."""
    placed = placed_of(tmp_path)
    for point in placed.grid.points:
        path = None
        for steps in LEGS:
            path = write_segment(placed.store, run_task(Task((point,), (0, 4), steps, path)))
    return placed


def changed(path, name, place, value):
    """Rewrites a segment with one other value; its zip stays consistent."""
    segment = read_segment(path)
    array = segment.arrays[name].copy()
    array[place] = value
    path.write_bytes(b"")
    write_segment(path.parent.parent, Segment(**{**vars_of(segment), "arrays": {**segment.arrays, name: array}}))


def vars_of(segment):
    return {key: getattr(segment, key) for key in ("points", "replicas", "steps", "recorded", "arrays", "provenance")}


@pytest.mark.parametrize("compacted", [False, True])
def test_what_was_computed_is_equal_to_the_bit(in_legs, compacted):
    if compacted:
        assert compact(in_legs.store, "test").files_after == 1
    build(in_legs)
    found = verify({"x": in_legs}, 99, 0)
    assert found.is_sound and found.datasets == {"x": "equal"}
    assert len(found.recomputed) == 4 and found.files == (1 if compacted else 8)
    assert all(one.replicas == (0, 4) and one.steps == 60 and one.elsewhere == {} for one in found.recomputed)


def test_compaction_gives_the_segment_of_an_uninterrupted_run(tmp_path, in_legs):
    compact(in_legs.store, "test")
    (path,) = in_legs.index().headings()
    merged = read_segment(path)
    points = {point.point_id: point for point in in_legs.grid.points}
    goes_on = np.isnan(merged.arrays["stop_step"])
    assert goes_on.any() and not goes_on.all()
    for row, point_id in enumerate(merged.point_ids):
        whole = run_task(Task((points[point_id],), (0, 4), (0, 60)))
        assert merged.points[row] == whole.points[0] and set(merged.arrays) == set(whole.arrays)
        for name, array in whole.arrays.items():
            keep = goes_on[row] if name.startswith("state_") else slice(None)
            np.testing.assert_array_equal(merged.arrays[name][row][keep], array[0][keep])


def test_a_longer_horizon_and_more_replicas_continue_from_a_compacted_segment(tmp_path, in_legs):
    compact(in_legs.store, "test")
    longer = placed_of(tmp_path, steps=150, replicas=6)
    run_all(longer)
    compact(longer.store, "test")
    scratch = placed_of(tmp_path / "scratch", steps=150, replicas=6)
    run_all(scratch)
    found = verify({"x": longer}, 99, 0)
    assert found.is_sound and len(found.recomputed) == 4
    from ssi_kernels.store import open_recovery, open_trajectories

    for placed in (longer, scratch):
        build(placed)
    for name, read in (("trajectories.zarr", open_trajectories), ("recovery.zarr", open_recovery)):
        grown, fresh = (read(placed.folder / name).load() for placed in (longer, scratch))
        for variable in fresh.data_vars:
            np.testing.assert_array_equal(grown[variable].values, fresh[variable].values)


@pytest.mark.parametrize(
    "name, place, value",
    [
        ("m", (0, 1, 3), 0.123),
        ("e", (0, 2, 0, 0), -0.0),
        ("recovery_step", (0, 0, 1), 7.0),
        ("diverged_step", (0, 3), 2.0),
        ("stop_e", (0, 0, 0), 0.5),
    ],
)
def test_a_changed_value_in_a_whole_file_is_found_by_computing_again(in_legs, name, place, value):
    point = in_legs.grid.points[0]
    (path,) = [piece.path for piece in in_legs.index().covered(point.point_id) if piece.steps == LEGS[0]]
    changed(path, name, place, value)
    found = verify({"x": in_legs}, 99, 0)
    assert found.damaged == [] and not found.is_sound
    (wrong,) = [one for one in found.recomputed if not one.is_equal]
    assert wrong.coords == dict(point.coords) and set(wrong.arrays) == {name} and wrong.arrays[name] == 1
    assert str(path) in wrong.files and wrong.recorded[0]["device"] == wrong.here["device"]


def test_a_changed_final_state_is_found(in_legs):
    """Of a replica that goes on; that of one that has stopped is never used again."""
    last = [path for path, heading in in_legs.index().headings().items() if heading.steps == LEGS[1]]
    running = {path: np.isnan(read_segment(path).arrays["stop_step"][0]) for path in last}
    path, where = next((path, int(flags.argmax())) for path, flags in running.items() if flags.any())
    name = next(name for name in read_segment(path).arrays if name.startswith("state_"))
    changed(path, name, (0, where), 0.25)
    (wrong,) = [one for one in verify({"x": in_legs}, 99, 0).recomputed if not one.is_equal]
    assert set(wrong.arrays) == {name}


def test_damage_is_found_by_checksum_and_set_aside(in_legs):
    build(in_legs)
    path = sorted(in_legs.index().headings())[0]
    content = bytearray(path.read_bytes())
    middle = content.index(b"m/c/0/0/0") + 40
    content[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(content)
    found = verify({"x": in_legs}, 0, 0)
    assert len(found.damaged) == 1 and path.name in found.damaged[0] and not found.is_sound
    assert path.with_name(f"{path.name}.corrupt").exists() and found.datasets == {"x": "equal"}


def test_a_file_under_another_name_is_told(in_legs):
    path = sorted(in_legs.index().headings())[0]
    (in_legs.store / "00").mkdir(exist_ok=True)
    path.rename(in_legs.store / "00" / f"{'0' * 32}.zarr.zip")
    assert "than its name says" in verify({"x": in_legs}, 0, 0).damaged[0]


def test_the_sample_follows_the_seed(in_legs, monkeypatch):
    chosen = []
    monkeypatch.setattr(module, "recompute", lambda points, index: chosen.append([p.coords for _, p in points]) or [])
    for seed in (1, 1, *range(2, 8)):
        verify({"x": in_legs}, 2, seed)
    assert chosen[0] == chosen[1] and len({str(coords) for coords in chosen}) > 2
    assert all(len(coords) == 2 for coords in chosen)


def test_another_device_or_version_is_told(in_legs):
    for path in in_legs.index().headings():
        segment = read_segment(path)
        device = "gpu: H200" if segment.points[0]["d"] == 50 else segment.provenance["device"]
        path.unlink()
        origin = {**segment.provenance, "jaxlib": "0.0.1", "device": device}
        write_segment(in_legs.store, Segment(**{**vars_of(segment), "provenance": origin}))
    found = verify({"x": in_legs}, 99, 0)
    assert found.is_sound
    for one in found.recomputed:
        assert one.elsewhere["jaxlib"][0] == "0.0.1"
        assert (one.skipped is not None) == (one.coords["d"] == 50)
        if one.skipped:
            assert one.skipped == "was computed on gpu, and JAX computes on cpu here"
