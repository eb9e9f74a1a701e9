"""How many CPUs this process may use: its share, not the host's count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def usable_cpus(cores: int) -> int:
    """`cores` as asked for, capped by this process's share of the machine."""
    return max(1, min(cores, cpu_share()))


def cpu_share(root: Path = Path("/")) -> int:
    """The smallest of CPU affinity, cgroup quota (v1 or v2) and Slurm's allocation, at least 1.

    `root` is where `proc/` and `sys/` are found.
    """
    limits = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    limits += [int(quota) for quota in _cgroup_quotas(root)]
    slurm = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if slurm.isdigit():
        limits.append(int(slurm))
    return max(1, min(limits))


def _cgroup_quotas(root: Path) -> Iterator[float]:
    """CPU quotas of this process's control groups and of all groups above them."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        mount = root / "sys/fs/cgroup"
        if not controllers:
            yield from _quotas_above(mount, group, _quota_v2)
        elif "cpu" in controllers.split(","):
            yield from _quotas_above(mount / controllers, group, _quota_v1)
            yield from _quotas_above(mount / "cpu", group, _quota_v1)


def _quotas_above(mount: Path, group: str, read) -> Iterator[float]:
    inside = PurePosixPath(group.lstrip("/"))
    for folder in (inside, *inside.parents):
        try:
            quota, period = read(mount / folder)
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            yield quota / period


def _quota_v2(folder: Path) -> tuple[int, int]:
    quota, period = (folder / "cpu.max").read_text().split()
    return int(quota), int(period)  # "max" is no integer: no limit


def _quota_v1(folder: Path) -> tuple[int, int]:
    return int((folder / "cpu.cfs_quota_us").read_text()), int((folder / "cpu.cfs_period_us").read_text())
