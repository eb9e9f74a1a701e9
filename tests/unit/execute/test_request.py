"""Requests: rewritten exactly when there is something to do."""

from __future__ import annotations

import json

import pytest
import yaml

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.execute.request import place, refresh_requests, save_config, write_manifest
from ssi_kernels.execute.tasks import Task
from ssi_kernels.store import consolidate, write_segment
from ssi_kernels.sweep import parse_config


def simulate(placed, run) -> None:
    for work in placed.missing():
        write_segment(placed.store, run(Task((work.point,), work.replicas, work.steps, work.resume)))


def finish(placed, run) -> None:
    simulate(placed, run)
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)


def refreshed(placed) -> bool:
    """Whether refreshing rewrites the request."""
    before = placed.request.read_bytes() if placed.request.exists() else None
    refresh_requests({placed.name: placed})
    return placed.request.read_bytes() != before


def test_missing_work_rewrites_the_request_every_time(placed):
    assert refresh_requests({"tiny": placed}) == ["sweep tiny: 4 points, 4 missing"]
    assert json.loads(placed.request.read_text())["missing"] == 4
    assert refreshed(placed)


def test_a_finished_sweep_asks_for_nothing(placed, run):
    """Case 1."""
    finish(placed, run)
    refresh_requests({"tiny": placed})
    assert not refreshed(placed)
    assert refresh_requests({"tiny": placed}) == ["sweep tiny: 4 points, 0 missing: 0 points simulated"]


def test_datasets_that_are_gone_or_damaged_are_asked_for(placed, run):
    finish(placed, run)
    refresh_requests({"tiny": placed})
    next((placed.folder / "recovery.zarr").rglob("c/*")).parent.rename(placed.folder / "away")
    assert refreshed(placed)


@pytest.mark.parametrize("grid", [{"omega": [0.1]}, {"omega": [0.1, 0.3, 0.5]}])
def test_another_grid_is_asked_for(make_placed, run, grid):
    """Cases 2 and 9, also for a grid that shrinks."""
    finish(make_placed(), run)
    refresh_requests({"tiny": make_placed()})
    assert refreshed(make_placed(grid=grid))


def test_a_lost_request_is_written_again(placed, run):
    finish(placed, run)
    assert refreshed(placed)


def test_the_manifest_is_written_only_when_everything_is_there(placed, run):
    with pytest.raises(StoreError, match="4 points of sweep tiny are not stored"):
        write_manifest(placed)
    simulate(placed, run)
    write_manifest(placed)
    manifest = json.loads(placed.manifest.read_text())
    assert manifest["points"] == 4
    assert manifest["fingerprint"] == placed.grid.fingerprint


def test_the_effective_configuration_is_kept(placed):
    save_config(placed)
    kept = yaml.safe_load((placed.folder / "config.yaml").read_text())
    assert place(parse_config(kept))["tiny"].grid.fingerprint == placed.grid.fingerprint
    assert kept["sweeps"]["tiny"]["sgd"]["dtype"] == "float32"


def test_errors_of_the_grid_have_the_whole_key(make_placed):
    with pytest.raises(ConfigError, match=r"^sweeps\.tiny\."):
        make_placed(grid={"d": 1})
