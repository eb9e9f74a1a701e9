"""Environment variables of the processes that simulate."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def device_environment(gpu: float) -> dict[str, str]:
    """Where JAX runs: on the CPU unless a GPU was asked for, or the user chose by JAX_PLATFORMS."""
    return {} if gpu > 0 or "JAX_PLATFORMS" in os.environ else {"JAX_PLATFORMS": "cpu"}


def prepare_theory() -> None:
    """Let this process, in which JAX has not started, compute theory: on the CPU, with earlier compilations."""
    defaults = {
        "JAX_COMPILATION_CACHE_DIR": str(compilation_cache()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        **device_environment(0),
    }
    os.environ.update({name: value for name, value in defaults.items() if name not in os.environ})


def worker_environment(gpu: float) -> dict[str, str]:
    """The variables of a Ray worker: one thread each, one compilation cache, the user's own JAX and XLA settings."""
    defaults = {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(compilation_cache()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        **device_environment(gpu),
    }
    users = {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}
    return {**dict.fromkeys(THREAD_LIMITS, "1"), **defaults, **users, "PYTHONPATH": python_path()}


def compilation_cache() -> Path:
    """A folder of this user, for this kind of CPU, that can be written even where HOME cannot."""
    for base in _cache_bases():
        folder = base / f"jax-{_machine()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            if folder.stat().st_uid == os.getuid():
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix="ssi-jax-"))


def _cache_bases() -> Iterator[Path]:
    yield Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ssi-kernels"
    yield Path(tempfile.gettempdir()) / f"ssi-kernels-{os.getuid()}"


def _machine() -> str:
    """Names the instruction set: code compiled for one CPU may not run on another that shares the home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"


def python_path() -> str:
    """Where other processes find the package, and what the user's own PYTHONPATH names, as absolute paths."""
    package_root = str(Path(__file__).resolve().parents[2])
    users = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys([package_root, *users]))


def extend_search_path() -> None:
    """Let other processes find the package, and this one a `module:function` target in the current folder.

    The folder comes last, so that no file in it hides a module of Python's. Ray's workers look there by themselves.
    """
    os.environ["PYTHONPATH"] = python_path()
    sys.path.append(os.getcwd())
