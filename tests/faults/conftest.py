"""A project whose target function misbehaves on request, and a driver in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.session import PREFIX
from ssi_kernels.sweep import load_config

ROOT = Path(__file__).resolve().parents[2]

TROUBLE = '''
import os, signal, sys, time
from pathlib import Path
import jax.numpy as jnp

HERE = Path(__file__).parent

def target(z):
    misbehave(z.shape[-1])
    return jnp.sum(z) / z.shape[-1] ** 0.5

def misbehave(length):
    """In a worker: what a file named after the trouble and the length asks for."""
    if "default_worker" not in sys.argv[0]:
        return
    with open(HERE / f"tried-{length}", "a") as file:
        file.write("x")
    once = HERE / f"kill-once-{length}"
    if once.exists():
        once.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    if (HERE / f"kill-{length}").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if (HERE / f"raise-{length}").exists():
        raise FloatingPointError(f"no label at length {length}")
    deadline = time.monotonic() + 60
    while (HERE / f"hold-{length}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
'''

DRIVE = """
import sys
from pathlib import Path
from ssi_kernels.execute.exits import one_line_errors
from ssi_kernels.execute.ray_driver import run_sweep
from ssi_kernels.execute.request import place
from ssi_kernels.sweep import load_config

with one_line_errors():
    placed = place(load_config("config.yaml"))["trouble"]
    outcome = run_sweep(placed, cores=2, log=placed.folder / "logs" / "simulate.log")
    print(outcome.simulated, "ray" in sys.modules, flush=True)
    sys.exit(1 if outcome.failures else 0)
"""


class Project:
    """A folder with `config.yaml` and the module `trouble`; one point for each length."""

    def __init__(self, folder: Path, temporary: Path):
        self.folder, self.temporary = folder, temporary
        self.drivers: list[subprocess.Popen] = []
        (folder / "trouble.py").write_text(TROUBLE)
        self.configure(length=[1, 2, 3, 4])

    def configure(self, *, length: list[int], gpu: int = 0) -> None:
        sweep = {
            "model": {"target": {"callable": "trouble:target"}, "student": {"kind": "tied", "activation": "relu"}},
            "grid": {"d": 16, "length": length},
            "sgd": {"learning_rate": 0.1, "steps": 20, "replicas": 2},
            "resources": {"gpu": gpu},
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump({"sweeps": {"trouble": sweep}}))

    def trouble(self, *names: str) -> None:
        for name in names:
            (self.folder / name).touch()

    def cure(self, *names: str) -> None:
        for name in names:
            (self.folder / name).unlink()

    def tried(self, length: int) -> int:
        """How often a worker traced the target at this length since the last call."""
        path = self.folder / f"tried-{length}"
        count = len(path.read_text()) if path.exists() else 0
        path.unlink(missing_ok=True)
        return count

    def start(self, *prefix: str, **environment: str) -> subprocess.Popen:
        """A driver, in a process group of its own as a shell would start it."""
        driver = subprocess.Popen(
            [*prefix, sys.executable, "-c", DRIVE],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}:{self.folder}",
                "TMPDIR": str(self.temporary),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.drivers.append(driver)
        return driver

    def run(self, *prefix: str, **environment: str) -> tuple[int, str, str]:
        """Status, standard output and standard error of a whole driver."""
        driver = self.start(*prefix, **environment)
        out, err = driver.communicate(timeout=120)
        return driver.returncode, out, err

    def sessions(self) -> list[Path]:
        """Folders of Ray sessions."""
        return list(self.temporary.glob(f"{PREFIX}*"))

    @property
    def placed(self) -> PlacedSweep:
        return place(load_config(self.folder / "config.yaml"), self.folder / "results")["trouble"]

    def lengths_stored(self) -> set[int]:
        lacking = {item.point.length for item in self.placed.missing()}
        return {point.length for point in self.placed.grid.points} - lacking

    @staticmethod
    def wait_until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.05)

    def wait_for_segments(self, count: int) -> None:
        self.wait_until(lambda: len(list((self.folder / "results/store").glob("*/*.zarr.zip"))) == count)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trouble", raising=False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp", ignore_cleanup_errors=True) as temporary:
        project = Project(tmp_path, Path(temporary))
        yield project
        end_all(project)
    sys.modules.pop("trouble", None)


def end_all(project: Project) -> None:
    for driver in project.drivers:
        driver.kill()
        driver.wait()
        driver.stdout.close()
        driver.stderr.close()
