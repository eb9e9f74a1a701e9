"""The XLA flag: set where it is known and needed, never in the way of JAX or of the user."""

import os
import subprocess
import sys

import pytest

from ssi_kernels.kernels import xla

RUN = """
import hashlib, os, ssi_kernels as ssi
model = ssi.Model(ssi.targets.hermite(2), ssi.students.tied("relu"))
run = ssi.simulate(model, d=100, length=2, learning_rate=0.3, steps=500, replicas=8)
print(hashlib.sha256(run.m.values.tobytes()).hexdigest(), os.environ.get("XLA_FLAGS", ""))
"""


def numbers_and_flags(before="", **environment):
    clean = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", before + RUN], env=clean | environment, capture_output=True, text=True, check=True
    )
    numbers, _, flags = done.stdout.strip().partition(" ")
    return numbers, flags


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_flag_and_the_users_flags_are_kept():
    numbers, flags = numbers_and_flags()
    assert flags == (xla.FLAG if xla.is_needed(xla.version("jaxlib")) else "")
    theirs = "--xla_cpu_multi_thread_eigen=false"
    assert numbers_and_flags(XLA_FLAGS=theirs) == (numbers, f"{theirs} {flags}".strip())
    started = "import jax; jax.devices()\n"
    assert numbers_and_flags(before=started) == (numbers, "")


@pytest.mark.parametrize(
    ("jaxlib", "needed"), [("0.7.2", False), ("0.10.2", True), ("0.11.0", True), ("0.12.0", False)]
)
def test_versions_that_need_the_flag(jaxlib, needed):
    assert xla.is_needed(jaxlib) is needed


def test_an_own_choice_of_extra_options_wins(monkeypatch):
    theirs = f"--xla_backend_extra_options={xla.OPTION}=1"
    monkeypatch.setenv("XLA_FLAGS", theirs)
    monkeypatch.setattr(xla, "_has_started", lambda: False)
    xla.configure()
    assert os.environ["XLA_FLAGS"] == theirs
