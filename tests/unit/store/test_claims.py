"""Claims: drivers share the work, readers keep files, maintenance has the store for itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.store import SegmentIndex, missing
from ssi_kernels.store import claims as module
from ssi_kernels.store.claims import Claim, StoreBusy, alone, claimed, reading

from .fabricate import make_sweep

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def grid():
    return make_sweep()[1]


def lacking(store, points):
    def look():
        index = SegmentIndex(store)
        index.refresh()
        return missing(points, index)

    return look


def test_two_drivers_share_what_both_lack(tmp_path, grid):
    points = grid.points
    with claimed(tmp_path, "first", lacking(tmp_path, points[:3])) as one:
        assert [item.point for item in one.mine] == list(points[:3]) and one.left == []
        with claimed(tmp_path, "second", lacking(tmp_path, points[1:])) as two:
            assert [item.point for item in two.mine] == [points[3]]
            assert [item.point for item in two.left] == list(points[1:3])
            assert [claim.holder for claim in two.others] == ["first"]
    with claimed(tmp_path, "third", lacking(tmp_path, points)) as three:
        assert len(three.mine) == 4, "claims end with their block"


def test_other_replicas_of_a_point_are_other_work(tmp_path):
    few, many = (make_sweep(sgd={"replicas": n})[1].points for n in (2, 5))
    with claimed(tmp_path, "few", lacking(tmp_path, few)):
        with claimed(tmp_path, "many", lacking(tmp_path, many)) as share:
            assert share.mine == [], "a driver does not guess how the other will end"
    item = missing(many, SegmentIndex(tmp_path / "nothing"))[0]
    assert Claim("x", {item.point.point_id: [(0, 5)]}).covers(item)
    assert not Claim("x", {item.point.point_id: [(5, 9)]}).covers(item)


def test_maintenance_waits_for_nobody_and_nobody_begins_beside_it(tmp_path, grid):
    with claimed(tmp_path, "the driver of x", lacking(tmp_path, grid.points)):
        with pytest.raises(StoreBusy, match="the driver of x is at work here"), alone(tmp_path, "gc"):
            raise AssertionError
        with reading(tmp_path, "a reader"):
            pass
    with reading(tmp_path, "a reader"), pytest.raises(StoreBusy, match="a reader"), alone(tmp_path, "gc"):
        raise AssertionError
    with alone(tmp_path, "gc"):
        with pytest.raises(StoreBusy, match="gc is removing files"), reading(tmp_path, "a reader"):
            raise AssertionError
        with pytest.raises(StoreBusy, match="gc"), claimed(tmp_path, "x", lacking(tmp_path, grid.points)):
            raise AssertionError


HOLD = """
import sys, time
from ssi_kernels.store.claims import alone
from pathlib import Path
with alone(Path(sys.argv[1]), "the killed one"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_claim_ends_with_its_process(tmp_path, grid):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match="the killed one"), reading(tmp_path, "a reader"):
            raise AssertionError
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with claimed(tmp_path, "next", lacking(tmp_path, grid.points)) as share:
            assert len(share.mine) == 4
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert [path.name for path in (tmp_path / module.FOLDER).iterdir()] == [".gate"]


def test_reading_needs_no_right_to_write(tmp_path, monkeypatch):
    """Case 40: datasets are made from somebody else's store."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with reading(tmp_path / "store", "a reader"):
        pass
    with pytest.raises(StoreError, match="Permission denied"), alone(tmp_path / "store", "gc"):
        raise AssertionError


def test_a_damaged_claim_claims_nothing():
    for content in (b"", b"{", b"[]", b'{"holder": 1}'):
        assert Claim.decoded(content).work == {}
    claim = Claim("x", {"ab": [(0, 5)]}, alone=True)
    again = Claim.decoded(claim.encoded())
    assert (again.holder, again.alone, [tuple(r) for r in again.work["ab"]]) == ("x", True, [(0, 5)])
