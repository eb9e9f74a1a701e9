"""From points to segments and datasets with the real kernels, in one process."""

from __future__ import annotations

import numpy as np
import pytest
from jax import numpy as jnp

from ssi_kernels.execute.batch import run_task, shape_key
from ssi_kernels.execute.packing import pack
from ssi_kernels.execute.request import place
from ssi_kernels.execute.simulate import simulate_point
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import consolidate, open_recovery, open_trajectories, write_segment
from ssi_kernels.sweep import parse_config


def rarely_infinite(z):
    """1/0 on about one sample in 2,000, else an ordinary label."""
    return jnp.where(z[0] > 3.3, jnp.inf, z[0])


def placed_of(tmp_path, **changes):
    sweep = {
        "model": {"target": {"expression": "sum(z)/sqrt(L)"}, "student": {"kind": "tied"}},
        "grid": {"d": [30, 50], "length": 2},
        "sgd": {"learning_rate": 0.1, "steps": 60, "replicas": 3},
    }
    for path, value in changes.items():
        section, _, key = path.partition("__")
        sweep[section] = {**sweep.get(section, {}), key: value} if key else value
    return place(parse_config({"sweeps": {"x": sweep}}), tmp_path / "results")["x"]


def run_all(placed):
    for task in pack(placed.missing(), workers=2):
        write_segment(placed.store, run_task(task))
    assert placed.missing() == []
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    folder = placed.folder
    return open_trajectories(folder / "trajectories.zarr").load(), open_recovery(folder / "recovery.zarr").load()


@pytest.mark.parametrize("kind", ["tied", "untied"])
@pytest.mark.parametrize("kernel", ["reduced", "full"])
def test_a_sweep_has_the_bits_of_single_simulations(tmp_path, kind, kernel):
    """Cases 24 and 25: packed with others or alone, through the store or not."""
    placed = placed_of(tmp_path, model__student={"kind": kind}, sgd__kernel=kernel)
    trajectories, recovery = run_all(placed)
    for point in placed.grid.points:
        alone = simulate_point(point)
        found = trajectories.sel(d=point.d).squeeze()
        for name in ("m", "norm", *(("m_position",) if kind == "untied" else ())):
            np.testing.assert_array_equal(found[name].values, alone[name].values)
        np.testing.assert_array_equal(recovery.outcome.sel(d=point.d).squeeze(), alone.outcome.squeeze())


def test_more_replicas_and_more_steps_equal_a_run_from_scratch(tmp_path):
    run_all(placed_of(tmp_path / "grown"))
    run_all(placed_of(tmp_path / "grown", sgd__steps=150))
    more = {"sgd__steps": 150, "sgd__replicas": 5}
    grown, scratch = (run_all(placed_of(tmp_path / name, **more)) for name in ("grown", "scratch"))
    for one, other in zip(grown, scratch, strict=True):
        for name in other.data_vars:
            np.testing.assert_array_equal(one[name].values, other[name].values)


def test_three_outcomes(tmp_path):
    """Case 15: recovered at step 0, censored, and diverged (a learning rate of 1e30) are three things."""
    start = {"start": {"m": 0.9}, "learning_rate": 0.01}
    _, above = run_all(placed_of(tmp_path / "above", sgd={**start, "steps": 20, "replicas": 4}))
    assert (above.outcome == 1).all() and (above.recovery_step == 0).all()
    rates = [1e-9, 1e30]
    changes = {"sgd": {"steps": 60, "replicas": 4, "start": {"m": 0.1}}, "grid__learning_rate": rates}
    _, recovery = run_all(placed_of(tmp_path / "rates", **changes))
    slow, absurd = (recovery.sel(learning_rate=rate) for rate in rates)
    assert (slow.outcome == 0).all() and np.isnan(slow.recovery_step).all()
    assert (absurd.outcome == 2).all() and np.isnan(absurd.recovery_step).all() and np.isnan(absurd.final_m).all()
    assert (recovery.status == 1).all()


def test_a_diverged_replica_leaves_its_neighbours_alone(tmp_path):
    """Case 18: a callable target that is infinite on rare samples."""
    target = {"callable": f"{__name__}:rarely_infinite"}
    placed = placed_of(tmp_path, model__target=target, sgd__replicas=16, sgd__steps=400)
    trajectories, recovery = run_all(placed)
    diverged = (recovery.outcome == 2).squeeze().values
    assert 0 < diverged.sum() < diverged.size
    np.testing.assert_array_equal(np.isnan(trajectories.m.isel(step=-1)).squeeze().values, diverged)
    for point, row in zip(placed.grid.points, diverged, strict=True):
        alone = int(np.flatnonzero(~row)[0])
        segment = run_task(Task((point,), (alone, alone + 1), (0, 400)))
        found = trajectories.m.sel(d=point.d, replica=alone).squeeze().values
        np.testing.assert_array_equal(found, segment.arrays["m"][0, 0])


def test_points_of_different_shapes_are_refused(tmp_path):
    points = placed_of(tmp_path, grid={"d": 30, "length": [2, 3]}).grid.points
    assert shape_key(points[0]) != shape_key(points[1])
    with pytest.raises(ValueError, match="one shape"):
        run_task(Task(points, (0, 1), (0, 10)))
