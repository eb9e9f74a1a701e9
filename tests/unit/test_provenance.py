"""Where numbers come from."""

import re
import subprocess
from importlib.metadata import version

import pytest

from ssi_kernels import provenance as module
from ssi_kernels.provenance import commit, device, provenance


@pytest.fixture
def git(monkeypatch):
    """Replaces what git answers, by subcommand."""
    answers = {"rev-parse": "a" * 40, "ls-files": "ssi_kernels/provenance.py", "status": ""}
    monkeypatch.setattr(module, "_git", lambda folder, *arguments: answers[arguments[0]])
    commit.cache_clear()
    yield answers
    commit.cache_clear()


def test_everything_is_recorded_as_text(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_some_flag=1")
    found = provenance()
    versions = {"package_version": "ssi-kernels", "jax": "jax", "jaxlib": "jaxlib", "numpy": "numpy", "ray": "ray"}
    assert found.keys() == {*versions, "python", "device", "xla_flags", "commit"}
    assert all(isinstance(value, str) for value in found.values())
    assert all(found[key] == version(package) for key, package in versions.items())
    assert found["xla_flags"] == "--xla_some_flag=1"
    monkeypatch.delenv("XLA_FLAGS")
    assert provenance()["xla_flags"] == ""


def test_the_device_names_its_platform():
    import jax

    assert device().startswith(f"{jax.default_backend()}: ")


def test_a_package_that_is_not_installed_has_no_version():
    assert module._installed("no-such-package-anywhere") == ""


def test_the_commit_of_a_clean_and_of_a_changed_tree(git):
    assert commit() == "a" * 40
    commit.cache_clear()
    git["status"] = " M ssi_kernels/errors.py"
    assert commit() == "a" * 40 + "+changes"


@pytest.mark.parametrize("missing", ["rev-parse", "ls-files"])
def test_no_commit_outside_a_checkout(git, missing):
    """An installed package may lie inside a repository that does not track it."""
    git[missing] = ""
    assert commit() == ""


def test_the_commit_of_this_checkout():
    assert re.fullmatch(r"([0-9a-f]{40}(\+changes)?)?", commit())


@pytest.mark.parametrize("error", [OSError("no git"), subprocess.TimeoutExpired("git", 10)])
def test_without_git_there_is_no_commit(monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(module.subprocess, "run", fail)
    commit.cache_clear()
    assert commit() == ""
    commit.cache_clear()


def test_git_outside_a_repository_answers_nothing(tmp_path):
    assert module._git(tmp_path, "rev-parse", "HEAD") == ""
