"""What the datasets of a sweep hold."""

import dataclasses
import json

import numpy as np
import pytest
import xarray as xr
import zarr

from ssi_kernels.errors import End, Outcome, Status
from ssi_kernels.store import (
    SegmentIndex,
    missing,
    write_segment,
)
from ssi_kernels.sweep import parse_config

from .fabricate import PROVENANCE, built, closed_form, complete, fabricate, make_sweep, norm_of, store_whole

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("pack", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_value_is_that_of_its_point(tmp_path, pack, dtype):
    grid, trajectories, recovery, made = complete(tmp_path, pack, sgd={"dtype": dtype})
    assert (made.complete, made.missing, made.failed, made.damaged) == (4, 0, 0, ())
    assert trajectories.m.dims == ("d", "length", "omega", "a", "replica", "step")
    assert trajectories.e.dims == (*trajectories.m.dims, "component")
    assert trajectories.m.dtype == trajectories.norm.dtype == recovery.final_m.dtype == dtype
    for point in grid.points:
        of_point, result = trajectories.sel(point.coords), recovery.sel(point.coords)
        for replica in range(3):
            m, e, _ = closed_form(point, replica, trajectories.step.values)
            np.testing.assert_array_equal(of_point.m[replica], m)
            np.testing.assert_array_equal(of_point.e[replica], e)
            np.testing.assert_allclose(of_point.norm[replica], norm_of(m, e), rtol=1e-6)
            np.testing.assert_array_equal(result.final_m[replica], m[-1])
            np.testing.assert_array_equal(result.final_e[replica], e[-1])


def test_recovery_steps_and_outcomes(tmp_path):
    grid, _, recovery, _ = complete(tmp_path, recovery={"threshold": [0.3, 0.9]})
    assert recovery.recovery_step.dims == ("d", "length", "omega", "a", "replica", "threshold")
    for point in grid.points:
        for replica in range(3):
            m, e, _ = closed_form(point, replica, np.arange(51))
            for threshold in (0.3, 0.9):
                found = recovery.sel(point.coords).sel(replica=replica, threshold=threshold)
                crossed = np.flatnonzero(norm_of(m, e) >= np.float32(threshold))
                assert found.outcome == (Outcome.RECOVERED if crossed.size else Outcome.CENSORED)
                assert found.recovery_step == crossed[0] if crossed.size else np.isnan(found.recovery_step)
    assert {Outcome.RECOVERED, Outcome.CENSORED} == set(np.unique(recovery.outcome))


def test_types_coordinates_and_words(tmp_path):
    _, trajectories, recovery, _ = complete(tmp_path)
    for dataset in (trajectories, recovery):
        for name, variable in dataset.variables.items():
            assert variable.attrs["long_name"] and variable.attrs["units"], name
        assert [dataset[k].dtype for k in ("d", "length", "replica")] == ["i8"] * 3
        assert dataset.omega.dtype == dataset.a.dtype == "f8"
        assert dataset.status.dtype == "i1"
    assert trajectories.step.dtype == "i8"
    assert recovery.recovery_step.dtype == "f8"
    for name, codes in (("status", Status), ("outcome", Outcome), ("end", End)):
        assert recovery[name].dtype == "i1"
        assert recovery[name].attrs["flag_values"] == [int(code) for code in codes]
        assert recovery[name].attrs["flag_meanings"].split() == [code.name.lower() for code in codes]


def test_selection_by_value(tmp_path):
    """Case 10."""
    _, trajectories, recovery, _ = complete(tmp_path, grid={"omega": [0.1, 0.2, 0.30000000000000004], "d": [1000]})
    assert trajectories.sel(omega=0.3, d=1000).m.shape == (1, 1, 3, len(trajectories.step))
    assert recovery.sel(omega=0.3, d=1000).outcome.shape == (1, 1, 3, 1)


def test_labels_are_selected_by_name(tmp_path):
    student = [
        {"name": "tied", "kind": "tied", "activation": "He2"},
        {"name": "untied", "kind": "untied", "activation": "He2", "norm": "joint"},
    ]
    grid, trajectories, recovery, _ = complete(
        tmp_path,
        grid={"omega": None, "a": None, "sie": 2, "length": [2, 3], "student": student},
        model={"target": {"family": "hermite"}, "student": None, "encoding": "none"},
    )
    assert "e" not in trajectories and "final_e" not in recovery
    assert trajectories.m_position.sizes["position"] == 3
    tied, untied = trajectories.sel(student="tied"), trajectories.sel(student="untied")
    assert tied.m_position.isnull().all()
    assert untied.m_position.sel(length=3).notnull().all()
    assert untied.m_position.sel(length=2).isel(position=2).isnull().all()
    np.testing.assert_array_equal(untied.norm, abs(untied.m))
    assert recovery.sel(student="untied").outcome.dims == ("d", "length", "sie", "replica", "threshold")
    point = next(p for p in grid.points if p.coords["student"] == "untied" and p.length == 2)
    m_position = closed_form(point, 1, trajectories.step.values)[2]
    np.testing.assert_array_equal(trajectories.sel(point.coords).m_position[1, :, :2], m_position)


def test_a_rate_by_rule_is_a_variable_and_a_swept_one_an_axis(tmp_path):
    _, trajectories, recovery, _ = complete(tmp_path / "rule", sgd={"learning_rate": {"coefficient": 0.8, "d": -0.5}})
    for dataset in (trajectories, recovery):
        assert dataset.learning_rate.dims == ("d", "length", "omega", "a")
        np.testing.assert_allclose(dataset.learning_rate.sel(d=16), 0.2)
    _, trajectories, _, _ = complete(tmp_path / "axis", grid={"learning_rate": [0.1, 0.2]}, sgd={"learning_rate": None})
    assert trajectories.sel(learning_rate=0.2).m.dims[:4] == ("d", "length", "omega", "a")


def test_a_horizon_by_rule_ends_each_point_at_its_own(tmp_path):
    _, trajectories, recovery, _ = complete(tmp_path, sgd={"steps": {"coefficient": 1, "d": 1}}, record={"every": 10})
    assert trajectories.step.values.tolist() == [0, 10, 20, 30]
    assert recovery.horizon.sel(d=16).values.ravel().tolist() == [16, 16]
    assert trajectories.m.sel(d=16, step=[20, 30]).isnull().all()
    assert trajectories.m.sel(d=32).notnull().all()
    assert set(recovery.final_step.sel(d=16).values.ravel()) == {10}
    assert set(recovery.observed_until.sel(d=16).values.ravel()) == {16}
    assert set(recovery.final_step.sel(d=32).values.ravel()) == {30}


def test_thresholds_that_follow_d_keep_their_place(tmp_path):
    """At d = 4 the text is 0.9, above 0.5; at d = 36 it is 0.3, below."""
    grid, _, recovery, _ = complete(tmp_path, grid={"d": [4, 36]}, recovery={"threshold": [0.5, "1.8/sqrt(d)"]})
    assert recovery.threshold.values.tolist() == ["0.5", "1.8/sqrt(d)"]
    np.testing.assert_allclose(recovery.threshold_value.sel(d=4).squeeze()[0], [0.5, 0.9])
    np.testing.assert_allclose(recovery.threshold_value.sel(d=36).squeeze()[0], [0.5, 0.3])
    point = next(p for p in grid.points if p.d == 36)
    m, e, _ = closed_form(point, 0, np.arange(51))
    found = recovery.sel(point.coords).sel(replica=0, threshold="1.8/sqrt(d)")
    assert found.recovery_step == np.flatnonzero(norm_of(m, e) >= np.float32(0.3))[0]


def test_attributes_tell_the_whole_story(tmp_path):
    _, trajectories, recovery, _ = complete(tmp_path)
    for dataset in (trajectories, recovery):
        written = parse_config(json.loads(dataset.attrs["configuration"]))
        assert list(written.sweeps) == ["x"]
        assert {k: dataset.attrs[k] for k in PROVENANCE} == PROVENANCE
        assert dataset.attrs["xarray"] == xr.__version__ and dataset.attrs["zarr"] == zarr.__version__


def test_provenance_of_several_machines_is_listed(tmp_path):
    sweep, grid = make_sweep()
    for i, point in enumerate(grid.points):
        segment = fabricate([point], (0, 3), (0, 50))
        write_segment(
            tmp_path / "store",
            dataclasses.replace(segment, provenance={"device": f"chip {i % 2}", "measured": {"seconds": i}}),
        )
    trajectories, _, _ = built(tmp_path, sweep, grid)
    assert trajectories.attrs["device"] == "chip 0; chip 1"
    assert "measured" not in trajectories.attrs


def test_two_names_of_one_point_hold_the_same_values(tmp_path):
    same = {"kind": "attention", "reduction": "identity"}
    _, trajectories, _, made = complete(
        tmp_path, grid={"student": [{"name": "a", **same}, {"name": "b", **same}]}, model={"student": None}
    )
    assert made.complete == 8
    np.testing.assert_array_equal(trajectories.m.sel(student="a"), trajectories.m.sel(student="b"))


def test_blocks_smaller_than_a_group_give_the_same_dataset(tmp_path, monkeypatch):
    _, trajectories, recovery, _ = complete(tmp_path / "whole")
    monkeypatch.setattr("ssi_kernels.store.layout.BLOCK_BYTES", 1)
    _, cut_trajectories, cut_recovery, _ = complete(tmp_path / "cut")
    xr.testing.assert_identical(trajectories, cut_trajectories)
    xr.testing.assert_identical(recovery, cut_recovery)


def test_a_longer_and_wider_segment_serves_a_smaller_sweep_exactly(tmp_path):
    sweep, grid = make_sweep()
    larger = make_sweep(sgd={"steps": 400, "replicas": 6})[1]
    store_whole(tmp_path / "larger" / "store", larger)
    store_whole(tmp_path / "exact" / "store", grid)
    found = [built(tmp_path / name, sweep, grid)[:2] for name in ("larger", "exact")]
    xr.testing.assert_identical(found[0][0], found[1][0])
    xr.testing.assert_identical(found[0][1], found[1][1])


def test_pieces_of_steps_and_replicas_join(tmp_path):
    sweep, grid = make_sweep()
    store_whole(tmp_path / "exact" / "store", grid)
    for point in grid.points:
        for replicas in ((0, 1), (1, 3)):
            for steps in ((0, 7), (7, 20), (20, 50)):
                write_segment(tmp_path / "pieces" / "store", fabricate([point], replicas, steps))
    found = [built(tmp_path / name, sweep, grid)[:2] for name in ("pieces", "exact")]
    xr.testing.assert_identical(found[0][0], found[1][0])
    xr.testing.assert_identical(found[0][1], found[1][1])


def test_running_twice_or_with_other_values_relabels_nothing(tmp_path):
    """Case 9."""
    _, before, _, first = complete(tmp_path)
    _, _, _, second = complete(tmp_path)
    assert first.fingerprint == second.fingerprint
    _, after, _, third = complete(tmp_path, grid={"d": [8, 16, 32], "omega": [0.5, 0.3, 0.1]})
    assert third.fingerprint != first.fingerprint
    for axis in ("d", "omega"):
        assert len(np.unique(after[axis])) == after.sizes[axis] == 3
    xr.testing.assert_identical(after.sel(d=[16, 32], omega=[0.1, 0.5]).m, before.m)


def test_stopped_and_diverged_replicas(tmp_path):
    """Case 15."""
    sweep, grid = make_sweep(grid={"d": 16, "omega": 0.1}, sgd={"replicas": 4}, record={"every": 10})
    (point,) = grid.points
    segment = fabricate([point], (0, 4), (0, 50), stopped={1: 23}, diverged={2: 45, 3: 7})
    write_segment(tmp_path / "store", segment)
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    trajectories, recovery = trajectories.squeeze(), recovery.squeeze()
    assert made.complete == 1
    assert trajectories.m.notnull().sum("step").values.tolist() == [6, 3, 5, 1]
    assert recovery.outcome.values.tolist()[2:] == [Outcome.DIVERGED] * 2
    assert recovery.recovery_step.isnull().values.tolist()[2:] == [True, True]
    np.testing.assert_array_equal(recovery.final_step, [50, 23, np.nan, np.nan])
    np.testing.assert_array_equal(recovery.observed_until, [50, 23, 45, 7])
    m, e, _ = closed_form(point, 1, np.array([23]))
    np.testing.assert_array_equal(recovery.final_m[1], m[0])
    np.testing.assert_array_equal(recovery.final_e[1], e[0, 0])
    assert recovery.final_m[2:].isnull().all() and recovery.final_e[2:].isnull().all()
    assert recovery.end.values.tolist()[2:] == [End.UNDECIDED] * 2
    assert set(recovery.status.values) == {Status.COMPLETE}


def test_events_beyond_a_shorter_horizon_have_not_happened(tmp_path):
    sweep, grid = make_sweep(grid={"d": 16, "omega": 0.1}, sgd={"steps": 20}, record={"every": 10})
    write_segment(tmp_path / "store", fabricate(grid.points, (0, 3), (0, 50), stopped={1: 23}, diverged={2: 45}))
    trajectories, recovery, _ = built(tmp_path, sweep, grid)
    assert trajectories.m.notnull().all() and recovery.final_m.notnull().all()
    assert set(recovery.final_step.values.ravel()) == {20}
    assert Outcome.DIVERGED not in recovery.outcome


def test_finished_replicas_are_complete_for_a_longer_horizon(tmp_path):
    sweep, grid = make_sweep(grid={"d": 16, "omega": 0.1}, sgd={"steps": 10**6, "replicas": 2})
    write_segment(tmp_path / "store", fabricate(grid.points, (0, 2), (0, 50), stopped={0: 23}, diverged={1: 45}))
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    assert made.complete == 1
    assert trajectories.m.sel(step=slice(51, None)).isnull().all()
    np.testing.assert_array_equal(recovery.observed_until.squeeze(), [23, 45])


def test_missing_and_failed_replicas(tmp_path):
    sweep, grid = make_sweep()
    first, second, third, fourth = grid.points
    write_segment(tmp_path / "store", fabricate([first], (0, 3), (0, 50)))
    write_segment(tmp_path / "store", fabricate([second], (0, 2), (0, 50)))
    write_segment(tmp_path / "store", fabricate([third], (0, 3), (0, 20)))
    failures = {first.point_id: "old", third.point_id: "raised", fourth.point_id: "raised"}
    trajectories, recovery, made = built(tmp_path, sweep, grid, failures)
    assert (made.complete, made.missing, made.failed) == (1, 1, 2)
    expected = [[1, 1, 1], [1, 1, 0], [2, 2, 2], [2, 2, 2]]
    for dataset in (trajectories, recovery):
        assert [dataset.status.sel(p.coords).values.tolist() for p in grid.points] == expected
    absent = recovery.where(recovery.status != Status.COMPLETE, drop=False)
    assert absent.recovery_step.isnull().all() and absent.final_m.isnull().all()
    codes = np.array(expected) != 1
    assert (recovery.outcome.values.reshape(4, 3)[codes] == Outcome.NOT_RUN).all()
    assert (recovery.end.values.reshape(4, 3)[codes] == End.NOT_RUN).all()
    assert np.isnan(trajectories.m.values.reshape(4, 3, -1)[codes]).all()
    assert np.isnan(trajectories.norm.values.reshape(4, 3, -1)[codes]).all()


def test_an_empty_store_gives_whole_datasets_of_missing_points(tmp_path):
    sweep, grid = make_sweep()
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    assert made.missing == 4
    assert (trajectories.status == 0).all() and (recovery.outcome == -1).all()
    assert {"jax", "device", "commit"} <= trajectories.attrs.keys()


def test_a_segment_that_breaks_after_it_was_indexed_is_named_and_missing(tmp_path):
    """Case 5: same size, other bytes; never averaged in."""
    sweep, grid = make_sweep()
    path, *_ = store_whole(tmp_path / "store", grid)
    SegmentIndex(tmp_path / "store").refresh()
    content = bytearray(path.read_bytes())
    at = content.index(b"m/c/0/0/0") + 12
    content[at : at + 40] = bytes(40)
    path.write_bytes(content)
    trajectories, recovery, made = built(tmp_path, sweep, grid)
    assert (made.complete, made.missing) == (3, 1)
    assert path.name in made.damaged[0]
    assert path.with_name(path.name + ".corrupt").exists()
    assert (trajectories.sel(grid.points[0].coords).status == Status.MISSING).all()
    assert (recovery.sel(grid.points[0].coords).outcome == Outcome.NOT_RUN).all()
    index = SegmentIndex(tmp_path / "store")
    index.refresh()
    assert [w.point.point_id for w in missing(grid.points, index)] == [grid.points[0].point_id]
