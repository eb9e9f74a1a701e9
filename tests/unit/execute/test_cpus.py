"""Case 30: the CPUs of the share, not of the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ssi_kernels.execute.cpus import cpu_share, usable_cpus


@pytest.fixture(autouse=True)
def eight_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_affinity(tmp_path):
    assert cpu_share(tmp_path) == 8


@pytest.mark.parametrize(
    "text, expected", [("200000 100000", 2), ("150000 100000", 1), ("max 100000", 8), ("50 100", 1)]
)
def test_quota_of_cgroup_v2(tmp_path, text, expected):
    root = write(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": text})
    assert cpu_share(root) == expected


def test_quota_of_a_group_above(tmp_path):
    files = {"proc/self/cgroup": "0::/job/step\n", "sys/fs/cgroup/job/cpu.max": "300000 100000"}
    assert cpu_share(write(tmp_path, {**files, "sys/fs/cgroup/job/step/cpu.max": "max 100000"})) == 3


def test_quota_of_cgroup_v1(tmp_path):
    group = "sys/fs/cgroup/cpu,cpuacct/job"
    files = {
        "proc/self/cgroup": "5:memory:/x\n4:cpu,cpuacct:/job\n",
        f"{group}/cpu.cfs_quota_us": "400000",
        f"{group}/cpu.cfs_period_us": "100000",
    }
    assert cpu_share(write(tmp_path, files)) == 4


def test_no_quota_of_cgroup_v1(tmp_path):
    group = "sys/fs/cgroup/cpu"
    files = {"proc/self/cgroup": "4:cpu:/\n", f"{group}/cpu.cfs_quota_us": "-1", f"{group}/cpu.cfs_period_us": "100000"}
    assert cpu_share(write(tmp_path, files)) == 8


@pytest.mark.parametrize("text, expected", [("1", 1), ("3", 3), ("64", 8), ("", 8), ("2(x2)", 8)])
def test_slurm(tmp_path, monkeypatch, text, expected):
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", text)
    assert cpu_share(tmp_path) == expected


def test_cores_are_capped_by_the_share():
    assert usable_cpus(1) == 1
    assert usable_cpus(10**6) <= 8
