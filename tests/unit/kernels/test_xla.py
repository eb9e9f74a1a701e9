"""Options of XLA: set where they are known, never in the way of JAX or of the user."""

import json
import os
import subprocess
import sys

import pytest

from ssi_kernels.kernels import xla

RUN = """
import hashlib, os, ssi_kernels as ssi
squares = ssi.targets.hermite(2)
digest = hashlib.sha256()
for student, length in ((ssi.students.tied("relu"), 2), (ssi.students.attention("trace"), 4)):
    run = ssi.simulate(ssi.Model(squares, student), d=100, length=length, learning_rate=0.3, steps=500, replicas=20)
    digest.update(run.m.values.tobytes())
print(digest.hexdigest(), os.environ.get("XLA_FLAGS", ""))
"""
LOOP = f"--xla_backend_extra_options={xla._LOOP}"
NONE = LOOP.replace("10000000", "1024")  # as XLA has it; an own choice, so that ours are not added

VALUES = """
import json, ssi_kernels as ssi
squares = ssi.targets.hermite(2)
found = []
for student, length, kernel, d in (
    (ssi.students.tied("relu"), 2, "reduced", 100),
    (ssi.students.attention("trace"), 4, "reduced", 100),
    (ssi.students.tied("relu"), 2, "full", 50),
    (ssi.students.attention("trace"), 4, "full", 50),
    (ssi.students.tied("relu"), 2, "one-noise", 50),
):
    options = dict(d=d, length=length, learning_rate=0.3, steps=300, replicas=20, kernel=kernel)
    found.append(ssi.simulate(ssi.Model(squares, student), **options).m.values.ravel().tolist())
print(json.dumps(found))
"""


def numbers_and_flags(before="", **environment):
    clean = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, "-c", before + RUN], env=clean | environment, capture_output=True, text=True, check=True
    )
    numbers, _, flags = done.stdout.strip().partition(" ")
    return numbers, flags


@pytest.mark.slow
def test_the_users_flags_are_kept_and_numbers_depend_on_one_option_at_most():
    numbers, flags = numbers_and_flags()
    assert flags == xla.options(xla.version("jaxlib"), cuda=xla.has_cuda())
    theirs = "--xla_cpu_multi_thread_eigen=false"
    assert numbers_and_flags(XLA_FLAGS=theirs) == (numbers, f"{theirs} {flags}".strip())
    if xla._LOOP in flags:  # of the reduced kernel; how vectors are made changes the last digit of sums over d
        assert numbers_and_flags(XLA_FLAGS=LOOP) == (numbers, LOOP)


@pytest.mark.slow
def test_no_option_changes_more_than_the_last_digits():
    """The loop's option changes those of `reduced`, each of the three those of `full` and `one-noise`."""

    def values(**environment):
        clean = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
        done = subprocess.run(
            [sys.executable, "-c", VALUES], env=clean | environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    ours = values()
    for flags in (LOOP, NONE):
        for one, other in zip(ours, values(XLA_FLAGS=flags), strict=True):
            assert max(map(abs, one)) > 0.1
            assert max(abs(a - b) for a, b in zip(one, other, strict=True)) < 2e-5


@pytest.mark.slow
def test_a_started_jax_is_left_alone_with_a_warning():
    run = "import jax, warnings; jax.devices(); warnings.simplefilter('error')\ntry:\n import ssi_kernels\n"
    done = subprocess.run(
        [sys.executable, "-c", run + "except RuntimeWarning as error: print(error)"],
        env={name: value for name, value in os.environ.items() if name != "XLA_FLAGS"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("JAX had started before ssi_kernels") or not xla.options(xla.version("jaxlib"))


@pytest.mark.parametrize(
    ("jaxlib", "loop", "vectors"),
    [("0.7.2", False, False), ("0.8.0", True, True), ("0.11.0", True, True), ("0.12.0", False, True), ("0.13.0", 0, 0)],
)
def test_versions_that_get_the_options(jaxlib, loop, vectors):
    assert (xla._LOOP in xla.options(jaxlib)) == loop
    assert (xla._VECTORS in xla.options(jaxlib)) == vectors


def test_the_options_of_llvm_are_left_out_where_a_gpu_would_read_them_too():
    assert xla._VECTORS not in xla.options("0.10.2", cuda=True)


def test_sums_over_d_are_not_handed_to_a_library():
    import jax
    import numpy as np

    product = jax.jit(lambda a, b: (a * b).sum(axis=0), compiler_options=xla.compiler_options())
    shape = jax.ShapeDtypeStruct((500, 16), np.float32)
    assert "ynn" not in product.lower(shape, shape).compile().as_text()


def test_an_own_choice_of_extra_options_wins(monkeypatch):
    theirs = f"--xla_backend_extra_options={xla._LOOP.replace('10000000', '1')}"
    monkeypatch.setenv("XLA_FLAGS", theirs)
    monkeypatch.setattr(xla, "_has_started", lambda: False)
    xla.configure()
    assert os.environ["XLA_FLAGS"] == theirs
