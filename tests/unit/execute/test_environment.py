from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ssi_kernels.execute import environment
from ssi_kernels.execute.environment import (
    compilation_cache,
    device_environment,
    extend_search_path,
    python_path,
    worker_environment,
)


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("JAX_", "XLA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_workers_have_one_thread_and_do_not_seize_the_gpu():
    worker = worker_environment(0)
    assert {worker[name] for name in environment.THREAD_LIMITS} == {"1"}
    assert worker["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def test_the_users_own_settings_are_kept(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    worker = worker_environment(0)
    assert worker["XLA_FLAGS"] == "--xla_force_host_platform_device_count=1"
    assert worker["JAX_COMPILATION_CACHE_DIR"] == "/elsewhere"
    assert worker["XLA_PYTHON_CLIENT_PREALLOCATE"] == "true"


def test_the_device_is_the_one_that_was_asked_for(monkeypatch):
    """Case 27: what runs on the CPU says so."""
    assert device_environment(0) == {"JAX_PLATFORMS": "cpu"}
    assert device_environment(0.5) == {}
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    assert worker_environment(0)["JAX_PLATFORMS"] == "cuda"


def test_the_cache_is_the_users_own(tmp_path):
    folder = compilation_cache()
    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path / "cache")
    assert compilation_cache() == folder


def test_a_read_only_home_has_a_cache_elsewhere(monkeypatch, tmp_path):
    """Case 40: a read-only HOME."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert compilation_cache().is_relative_to(tmp_path)


def test_nowhere_to_keep_a_cache_is_a_private_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "_cache_bases", lambda: iter([Path("/proc/none")]))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert compilation_cache().is_dir()


def test_workers_find_the_package_and_the_users_modules(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", f"/users/modules{os.pathsep}here")
    monkeypatch.chdir(tmp_path)
    package_root = str(Path(environment.__file__).parents[2])
    assert python_path().split(os.pathsep) == [package_root, "/users/modules", str(tmp_path / "here")]


def test_the_current_folder_hides_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", ["first"])
    monkeypatch.chdir(tmp_path)
    extend_search_path()
    assert sys.path == ["first", str(tmp_path)]
    assert str(tmp_path) not in os.environ["PYTHONPATH"]
