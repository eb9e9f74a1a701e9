"""Case 39: a second driver is refused with one clear line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ssi_kernels.execute.lock import Busy, driver_lock

HOLD = """
import sys, time
from ssi_kernels.execute.lock import driver_lock
with driver_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_driver_is_told_who_is_at_work(tmp_path):
    with driver_lock(tmp_path), pytest.raises(Busy) as refused, driver_lock(tmp_path):
        pass
    assert f"pid {os.getpid()}" in str(refused.value)
    assert str(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_lock_can_be_taken_again(tmp_path):
    for _ in range(2):
        with driver_lock(tmp_path / "sweep"):
            pass


def test_a_killed_holder_leaves_no_lock(tmp_path):
    """Case 4: nothing to unlock by hand."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(Busy, match=f"pid {holder.pid}"), driver_lock(tmp_path):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with driver_lock(tmp_path):
        pass
