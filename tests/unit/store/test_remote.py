"""Stores in object storage, against a real S3 server (moto's): the same answers and the same bits as a local folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import boto3
import pytest
import xarray as xr
from moto.server import ThreadedMotoServer

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.store import (
    SegmentIndex,
    UnreadableSegment,
    consolidate,
    leases,
    missing,
    read_segment,
    remote,
    write_segment,
)
from ssi_kernels.store.claims import StoreBusy, alone, claimed, reading
from ssi_kernels.store.location import location
from ssi_kernels.store.remote import RemotePath
from ssi_kernels.store.segments import AbsentSegment

from .fabricate import fabricate, make_sweep, store_whole

ROOT = Path(__file__).resolve().parents[3]
PLAIN = "http" + "://"  # in two parts: no file of the project holds an address
KEYS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{PLAIN}{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch, request):
    """The URL of a bucket of its own; the environment names the server."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)
    remote._bucket.cache_clear()
    name = f"b{abs(hash(request.node.nodeid)):x}"
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket=name)
    yield f"s3://{name}"
    remote._bucket.cache_clear()


def lacking(store, points):
    def look():
        index = SegmentIndex(store)
        index.refresh()
        return missing(points, index)

    return look


def test_paths(bucket):
    path = location(f"{bucket}/runs/") / "ab" / "x.txt"
    assert isinstance(path, RemotePath) and str(path) == f"{bucket}/runs/ab/x.txt"
    assert not path.exists()
    path.write_bytes(b"one")
    assert path.exists() and path.read_bytes() == b"one"
    path.write_bytes(b"two")
    assert path.read_bytes() == b"two"
    path.replace(path.with_name("y.txt"))
    assert [found.name for found in location(f"{bucket}/runs").objects()] == ["ab/y.txt"]
    path.with_name("y.txt").unlink()
    path.unlink(missing_ok=True)
    assert list(location(bucket).objects()) == []
    with pytest.raises(FileNotFoundError):
        path.read_bytes()


@pytest.mark.parametrize("pack", [1, 4])
def test_a_store_is_a_store(bucket, tmp_path, pack):
    """Writing, indexing, what is missing, and the datasets: as with a folder, to the bit."""
    sweep, grid = make_sweep()
    datasets = []
    for number, store in enumerate((tmp_path / "store", location(f"{bucket}/deep/store"))):
        assert len(lacking(store, grid.points)()) == 4
        store_whole(store, grid, pack)
        assert lacking(store, grid.points)() == []
        made = consolidate(sweep, grid, store, tmp_path / str(number) / "x")
        datasets.append((xr.open_zarr(made.trajectories).load(), xr.open_zarr(made.recovery).load()))
    for one, other in zip(*datasets, strict=True):
        xr.testing.assert_identical(one, other)
    index = SegmentIndex(f"{bucket}/deep/store")
    index.refresh()
    names = {found.name for found in location(f"{bucket}/deep/store").objects()}
    assert "index.json" in names and len(names) == 1 + len(index) == 1 + 4 // pack


def test_a_continuation_finds_its_state(bucket):
    _, grid = make_sweep()
    store = location(f"{bucket}/s")
    path = write_segment(store, fabricate(grid.points, (0, 3), (0, 20)))
    (work, *_) = lacking(store, grid.points)()
    assert (work.steps, work.resume) == ((20, 50), path)
    assert read_segment(work.resume).steps == (0, 20)


def test_a_damaged_object_is_set_aside(bucket):
    """Case 5."""
    _, grid = make_sweep()
    store = location(f"{bucket}/s")
    path = write_segment(store, fabricate(grid.points, (0, 3), (0, 50)))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(UnreadableSegment, match="set aside"):
        read_segment(path)
    assert len(lacking(store, grid.points)()) == 4
    assert path.with_name(f"{path.name}.corrupt").exists()
    with pytest.raises(AbsentSegment):
        read_segment(path)


def test_errors_are_one_line(bucket, monkeypatch):
    _, grid = make_sweep()
    segment = fabricate(grid.points, (0, 3), (0, 50))
    with pytest.raises(StoreError, match=r"s3://absent-bucket.*cannot be written") as refused:
        write_segment(location("s3://absent-bucket/s"), segment)
    assert "\n" not in str(refused.value)
    with pytest.raises(StoreError, match=r"s3://absent-bucket/s: cannot be read"):
        SegmentIndex("s3://absent-bucket/s").refresh()
    with pytest.raises(ConfigError, match="must be a folder, or a URL that begins with one of s3://"):
        location("ftp://somewhere/else")


def test_a_server_that_is_not_there_is_named_soon(monkeypatch):
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"{PLAIN}127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    remote._bucket.cache_clear()
    with pytest.raises(StoreError, match=r"s3://b/s: cannot be read"):
        SegmentIndex("s3://b/s").refresh()
    remote._bucket.cache_clear()


def test_without_the_library_the_extra_is_named(monkeypatch):
    remote._bucket.cache_clear()
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[cloud\]'"):
        list(location("s3://b/s").objects())
    remote._bucket.cache_clear()


@pytest.fixture
def hasty(monkeypatch):
    """Leases that live seconds. The server tells times in whole seconds, hence not less."""
    monkeypatch.setattr(leases, "LIFETIME", timedelta(seconds=3))
    monkeypatch.setattr(leases, "RENEWAL", 0.5)


def test_two_drivers_share_what_both_lack(bucket, hasty):
    store, (_, grid) = location(f"{bucket}/s"), make_sweep()
    with claimed(store, "first", lacking(store, grid.points[:3])) as one:
        assert len(one.mine) == 3
        with claimed(store, "second", lacking(store, grid.points[1:])) as two:
            assert [item.point for item in two.mine] == [grid.points[3]]
            assert [item.point for item in two.left] == list(grid.points[1:3])
            assert [claim.holder for claim in two.others] == ["first"]
        with pytest.raises(StoreBusy, match="first is at work here"), alone(store, "gc"):
            raise AssertionError
    with alone(store, "gc"):
        with pytest.raises(StoreBusy, match="gc is removing files"), reading(store, "a reader"):
            raise AssertionError
    assert [found.name for found in (store / "claims").objects()] == []


def test_at_the_same_moment_each_point_goes_to_one(bucket, hasty):
    store, (_, grid) = location(f"{bucket}/s"), make_sweep()
    taken, together = [], threading.Barrier(3)

    def drive(name):
        together.wait()
        with claimed(store, name, lacking(store, grid.points)) as share:
            taken.extend(item.point.point_id for item in share.mine)
            time.sleep(6)

    threads = [threading.Thread(target=drive, args=(str(k),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(point.point_id for point in grid.points)


def test_a_living_claim_outlives_its_lease_and_a_dead_one_does_not(bucket, hasty):
    store, (_, grid) = location(f"{bucket}/s"), make_sweep()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from datetime import timedelta\n"
            "from ssi_kernels.store import leases\n"
            "from ssi_kernels.store.claims import alone\n"
            "from ssi_kernels.store.location import location\n"
            "leases.RENEWAL = 0.5\n"
            "with alone(location(sys.argv[1]), 'the killed one'):\n"
            "    print('held', flush=True)\n"
            "    time.sleep(60)\n",
            str(store),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert holder.stdout.readline() == "held\n"
        time.sleep(5)  # longer than a lease: it was renewed
        with pytest.raises(StoreBusy, match="the killed one"), reading(store, "a reader"):
            raise AssertionError
        holder.kill()
        holder.wait()
        deadline = time.monotonic() + 60
        while True:
            try:
                with claimed(store, "next", lacking(store, grid.points)) as share:
                    assert len(share.mine) == 4
                    break
            except StoreBusy:
                assert time.monotonic() < deadline
                time.sleep(0.5)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
