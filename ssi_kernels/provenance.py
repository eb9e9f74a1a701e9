"""Where numbers come from: versions, device, compiler flags and commit, recorded with every segment."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = {"package_version": "ssi-kernels", **{name: name for name in ("jax", "jaxlib", "numpy", "ray")}}


def provenance() -> dict[str, str]:
    """Package, jax, jaxlib, numpy and ray versions, Python, device, XLA flags and commit, as text."""
    return {
        **{key: _installed(package) for key, package in PACKAGES.items()},
        "python": platform.python_version(),
        "device": device(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "commit": commit(),
    }


def package_version() -> str:
    """The version of this package; "" where it is not installed."""
    return _installed(PACKAGES["package_version"])


def device() -> str:
    """The device that JAX computes on here, such as "cpu: x86_64" or "gpu: NVIDIA H200"."""
    import jax

    first = jax.devices()[0]
    kind = platform.machine() if first.platform == "cpu" else first.device_kind
    return f"{first.platform}: {kind}"


@lru_cache(maxsize=1)
def commit() -> str:
    """The commit of the package's source tree, with "+changes" where it is not clean; "" outside a checkout."""
    folder = Path(__file__).resolve().parent
    head = _git(folder, "rev-parse", "HEAD")
    if not head or not _git(folder, "ls-files", "--", __file__):
        return ""
    return head + ("+changes" if _git(folder, "status", "--porcelain", "--", ".") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
