"""The driver where workers die, points raise, signals come, and resources are not there."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ssi_kernels.execute.failures import FILE
from ssi_kernels.execute.one_point import recovery_of
from ssi_kernels.execute.simulate import simulate_point
from ssi_kernels.store import read_segment

pytestmark = [pytest.mark.ray, pytest.mark.timeout(180)]


def processes_of(driver_pid: int) -> list[psutil.Process]:
    """Processes of the driver's session that still run."""
    found = []
    for process in psutil.process_iter(["pid", "status", "cmdline"]):
        try:
            if os.getsid(process.pid) == driver_pid and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_dead_workers_and_raising_points(project):
    """Cases 18 and 29: the others are stored, retries are bounded, failures are listed, a rerun does only those."""
    project.trouble("kill-once-2", "kill-3", "raise-4")
    status, out, err = project.run()
    assert status == 1
    assert project.lengths_stored() == {1, 2}
    assert project.tried(3) == 4
    assert project.tried(4) == 1
    assert "FAILED d=16 length=4: " in err and "no label at length 4" in err
    assert "FAILED d=16 length=3: " in err and "the worker died 4 times" in err
    assert "2 of 4 points failed, the others are stored" in err
    assert "Traceback" not in err
    failed = json.loads((project.placed.folder / FILE).read_text())
    assert sorted(entry["coords"]["length"] for entry in failed.values()) == [3, 4]
    assert any("FloatingPointError" in entry["traceback"] for entry in failed.values())
    assert project.sessions() == []

    project.cure("kill-3", "raise-4")
    project.tried(1), project.tried(2)
    status, out, err = project.run()
    assert (status, out) == (0, "2 True\n")
    assert (project.tried(1), project.tried(2)) == (0, 0)
    assert project.tried(3) and project.tried(4)
    assert not (project.placed.folder / FILE).exists()

    status, out, err = project.run()
    assert (status, out) == (0, "0 False\n"), "nothing missing: Ray is not even imported"
    assert "4 points, 0 missing: 0 points simulated" in err


@pytest.mark.parametrize(
    "number, status", [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_a_signal_ends_the_driver_in_an_orderly_way(project, number, status):
    """Ctrl-C and SIGTERM: no process and no session folder is left, and the message says how to go on."""
    project.trouble("hold-1", "hold-2")
    driver = project.start()
    project.wait_for_segments(2)
    driver.send_signal(number)
    _out, err = driver.communicate(timeout=60)
    assert driver.returncode == status
    assert f"stopped by {signal.Signals(number).name}: " in err and "run again to continue" in err
    assert project.lengths_stored() == {3, 4}
    assert "2 of 4 points are stored" in err
    assert "Traceback" not in err
    assert project.sessions() == []
    project.wait_until(lambda: not processes_of(driver.pid))


def test_a_killed_driver_leaves_nothing_to_clean_up(project):
    """Case 4: what is stored stays, a rerun does the rest, and the bits are those of an uninterrupted run.

    Case 39: while the driver runs, a second one says why it cannot.
    """
    project.trouble("hold-1", "hold-2")
    driver = project.start()
    project.wait_for_segments(2)
    status, _, err = project.run()
    assert status == 1
    assert f"pid {driver.pid}" in err and "another driver" in err and err.count("\n") == 1
    driver.kill()
    driver.communicate()
    assert project.lengths_stored() == {3, 4}

    project.cure("hold-1", "hold-2")
    status, _out, err = project.run()
    assert status == 0
    assert project.lengths_stored() == {1, 2, 3, 4}
    assert_bits_of_one_process(project)


def assert_bits_of_one_process(project) -> None:
    """Cases 24 and 25: through Ray and in this process, the same bits."""
    index = project.placed.index()
    for point in project.placed.grid.points:
        (piece,) = index.covered(point.point_id)
        stored = read_segment(piece.path)
        alone = simulate_point(point)
        assert stored.arrays["m"][piece.row].tobytes() == alone.m.values.tobytes()
        told = recovery_of(project.placed, point)["recovery"]
        assert [run["replica"] for run in told] == list(range(point.replicas))


def test_a_gpu_that_is_not_there_is_refused(project):
    """Case 27."""
    project.configure(length=[1], gpu=1)
    status, _out, err = project.run(CUDA_VISIBLE_DEVICES="")
    assert status == 2
    assert err.splitlines()[-1].startswith("ssi: sweeps.trouble.resources.gpu: 1.0: Ray finds 0 GPUs on this machine")
    assert not project.lengths_stored()


@pytest.mark.slow
def test_workers_fit_the_share_and_a_read_only_home(project):
    """Cases 30 and 40: one core by taskset, and a HOME that cannot be written."""
    project.configure(length=[1, 2])
    status, out, err = project.run("taskset", "-c", "0", HOME="/proc/none")
    assert (status, out) == (0, "2 True\n")
    assert "on 1 workers of this machine" in err


def test_a_cluster_that_is_not_there_is_named(project):
    project.configure(length=[1])
    status, _out, err = project.run(RAY_ADDRESS="127.0.0.1:1")
    assert status == 1
    assert err.splitlines()[-1].startswith("ssi: RAY_ADDRESS: 127.0.0.1:1: no cluster answers (Connection refused)")
    assert "Traceback" not in err


@pytest.fixture
def cluster(tmp_path_factory) -> Iterator[dict[str, str]]:
    """A Ray cluster of one CPU that a user started; yields the environment that names it."""
    address = f"{socket.gethostbyname(socket.gethostname())}:{free_port()}"
    environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory(prefix="rc-", dir="/tmp") as folder:
        host, port = address.split(":")
        head = subprocess.Popen(
            [
                *(Path(sys.executable).with_name("ray"), "start", "--head", "--block", "--include-dashboard=false"),
                *(f"--node-ip-address={host}", f"--port={port}", "--num-cpus=1", f"--temp-dir={folder}"),
                *("--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0"),
            ],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            while "Ray runtime started" not in head.stdout.readline():
                assert head.poll() is None, "the cluster did not start"
            yield {**environment, "RAY_ADDRESS": address}
            assert head.poll() is None, "the cluster of the user was stopped"
        finally:
            head.terminate()
            head.wait(timeout=30)
            head.stdout.close()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("", 0))
        return bound.getsockname()[1]


@pytest.mark.slow
def test_a_cluster_of_the_user_is_used_and_left_running(project, cluster):
    project.configure(length=[1])
    status, out, err = project.run(**cluster)
    assert (status, out) == (0, "1 True\n"), err
    assert f"on 1 workers of the Ray cluster at {cluster['RAY_ADDRESS']}" in err
    assert project.sessions() == []
