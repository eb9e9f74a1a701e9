"""Simulate what a sweep misses on Ray. The only file that imports ray."""

from __future__ import annotations

import os
import platform
import secrets
import socket
import time
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute import failures as failed
from ssi_kernels.execute.console import Console
from ssi_kernels.execute.cpus import usable_cpus
from ssi_kernels.execute.environment import worker_environment
from ssi_kernels.execute.exits import DriverError
from ssi_kernels.execute.ledger import Ledger
from ssi_kernels.execute.lock import driver_lock
from ssi_kernels.execute.loop import WorkerLost, work_through
from ssi_kernels.execute.packing import GPU_LANES, TILE, pack, seconds_of
from ssi_kernels.execute.progress import Progress
from ssi_kernels.execute.request import PlacedSweep, count_line, lacking_points, save_config, waiting_line
from ssi_kernels.execute.resume import rest_of
from ssi_kernels.execute.session import session_folder
from ssi_kernels.execute.signals import Stopped, stop_signals
from ssi_kernels.execute.tasks import Performed, Task
from ssi_kernels.execute.worker import perform, perform_on_gpu
from ssi_kernels.store.claims import claimed

if TYPE_CHECKING:
    from ssi_kernels.store import Missing, SegmentIndex

WAIT = 2.0
"""Seconds after which a driver looks again at what others have claimed."""

SHOWN_FAILURES = 5
GPU_SPEED = 30.0
"""CPU cores that a GPU worker is worth, roughly: its tasks hold that many times more, so as to fill the device."""

_OBJECT_STORE_BYTES = 100 * 2**20  # tasks and reports are small; the data goes through the store
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_task_oom_retries": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(frozen=True)
class SweepOutcome:
    """What a run did: points of the grid, points simulated now, and the points that failed."""

    points: int
    simulated: int
    failures: dict[str, failed.Failure] = field(default_factory=dict)


def run_sweep(placed: PlacedSweep, *, cores: int, log: Path | None = None) -> SweepOutcome:
    """Simulate and store what is missing of a sweep; Ray is not even imported when nothing is.

    Points that fail are listed in `failed.json` and in the outcome; the others are stored.
    Raises ConfigError where a GPU is asked for and there is none, Busy while another driver runs,
    StoreError when results cannot be stored, Stopped on Ctrl-C and SIGTERM.
    """
    with driver_lock(placed.folder), Console(log) as console:
        save_config(placed)
        work = placed.missing()
        console.say(count_line(placed, work))
        outcome = SweepOutcome(len(placed.grid.points), 0)
        if work:
            outcome = _in_turns(placed, usable_cpus(cores), console)
        if not outcome.failures:
            failed.write_failures(placed.folder, {})
        return outcome


def _in_turns(placed: PlacedSweep, cores: int, console: Console) -> SweepOutcome:
    """Simulate what is missing and claimed by nobody else, until nothing is; wait for what others are computing."""
    done, broken, told = 0, {}, False

    def look() -> list[Missing]:
        return [item for item in placed.missing() if item.point.point_id not in broken]

    while True:
        with claimed(placed.store, _holder(placed), look) as share:
            if share.mine:
                turn = _simulate(placed, share.mine, cores, console)
                done, broken = done + turn.simulated, broken | turn.failures
        if not share.left:
            return SweepOutcome(len(placed.grid.points), done, broken)
        if not told:
            console.say(waiting_line(placed, share))
            told = True
        time.sleep(WAIT)


def _holder(placed: PlacedSweep) -> str:
    return f"the driver of sweep {placed.name} (pid {os.getpid()} on {platform.node()})"


def _simulate(placed: PlacedSweep, work: Sequence[Missing], cores: int, console: Console) -> SweepOutcome:
    """Perform the missing work and tell what became of it."""
    points = len(placed.grid.points)
    try:
        with stop_signals() as install_again, RayPool(placed, cores) as pool:
            install_again()
            ledger = _perform_all(placed, work, pool, console)
    except Stopped as stop:
        stored = points - lacking_points(placed, placed.missing())
        console.say(
            f"sweep {placed.name}: stopped by {stop}: {stored} of {points} points are stored; run again to continue"
        )
        raise
    _tell(placed, ledger, console)
    return SweepOutcome(points, len(ledger.stored), ledger.failures)


def _perform_all(placed: PlacedSweep, work: Sequence[Missing], pool: RayPool, console: Console) -> Ledger:
    """Work through the packed tasks; what failed is on record even when the run is cut short."""
    index = placed.index()
    tasks = pack(_still_missing(placed, work, index), pool.workers, speed=pool.speed, fill=pool.fill)
    ledger = Ledger(tasks)
    progress = Progress(placed.name, ledger.points, sum(map(seconds_of, tasks)), console.live)
    console.say(f"sweep {placed.name}: {len(tasks)} tasks on {pool.workers} workers of {pool.where}")
    record = failed.read_failures(placed.folder)
    try:
        work_through(tasks, pool, ledger, progress, seconds_of, rest=lambda task: rest_of(task, index))
        record.clear()
    finally:
        for identity in ledger.stored:
            record.pop(identity, None)
        failed.write_failures(placed.folder, record | ledger.failures)
    progress.finish()
    return ledger


def _still_missing(placed: PlacedSweep, work: Sequence[Missing], index: SegmentIndex) -> list[Missing]:
    """What of the claimed work is missing now: workers of a driver that was killed may store a task after its end."""
    claimed_points = {item.point.point_id for item in work}
    return [item for item in placed.missing(index) if item.point.point_id in claimed_points]


def _tell(placed: PlacedSweep, ledger: Ledger, console: Console) -> None:
    """The count of simulated points; for failures the first few and the remedy."""
    name, failures = placed.name, list(ledger.failures.values())
    console.say(f"sweep {name}: {len(ledger.stored)} points simulated, {len(failures)} failed")
    for failure in failures[:SHOWN_FAILURES]:
        console.say(f"FAILED {failure.line}")
    if len(failures) > SHOWN_FAILURES:
        console.say(f"... and {len(failures) - SHOWN_FAILURES} more")
    if failures:
        console.say(
            f"sweep {name}: {len(failures)} of {len(placed.grid.points)} points failed, the others are stored; "
            f"tracebacks are in {placed.folder / failed.FILE}; run again to simulate the failed points only"
        )


class RayPool(AbstractContextManager):
    """A private Ray session on this machine, or the cluster that RAY_ADDRESS names, as a pool of workers.

    Leaving the block ends the session: no process and no session folder stays behind.
    """

    workers: int
    speed: float
    fill: int
    where: str

    def __init__(self, placed: PlacedSweep, cores: int):
        self._name, self._gpu = placed.name, placed.sweep.resources.gpu
        self._store, self._cores = placed.store.resolve(), cores
        self._checkpoint = placed.sweep.resources.checkpoint
        self.speed, self.fill = (GPU_SPEED, GPU_LANES) if self._gpu > 0 else (1.0, TILE)

    def __enter__(self) -> RayPool:
        address = os.environ.get("RAY_ADDRESS", "local")
        _set_environment()
        with ExitStack() as stack:
            if address == "local":
                options = self._local(stack.enter_context(session_folder()))
            else:
                _check_answers(address)
                options = {"address": address}
            self._connect(options, stack)
            self.where = "this machine" if address == "local" else f"the Ray cluster at {address}"
            self._count_workers()
            self._close = stack.pop_all().close
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def submit(self, task: Task) -> Hashable:
        """Start a task."""
        return self._remote.remote(task, self._store, self._checkpoint)

    def wait(self, tickets: Sequence[Hashable], timeout: float) -> Sequence[Hashable]:
        """An ended task, or none when the time is up."""
        return self._ray.wait(tickets, num_returns=1, timeout=timeout)[0]

    def result(self, ticket: Hashable) -> Performed:
        """What an ended task did."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ticket)
        except errors.RayTaskError as error:  # `perform` reports every exception of a simulation: this is none
            raise DriverError(f"a worker cannot run tasks: {failed.one_line(error.cause or error)}") from error
        except errors.RayError as error:
            raise WorkerLost(type(error).__name__) from error

    def _local(self, session: Path) -> dict:
        return {
            "address": "local",
            "num_cpus": self._cores,
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE_BYTES,
            "_temp_dir": str(session),
        }

    def _connect(self, options: dict, stack: ExitStack) -> None:
        """Start or join the cluster; `stack` is told how to leave it."""
        import ray

        self._ray = ray
        stack.callback(ray.shutdown)
        runtime = {"env_vars": worker_environment(self._gpu)}
        try:
            ray.init(**options, runtime_env=runtime, log_to_driver=False, logging_level="error")
        except Exception as error:
            raise DriverError(f"Ray did not start: {failed.one_line(error)}") from error

    def _count_workers(self) -> None:
        """One worker for each CPU, as far as the GPUs suffice."""
        gpu, available = self._gpu, self._ray.cluster_resources()
        self.workers = max(1, int(available.get("CPU", 1)))
        if gpu > 0:
            gpus = available.get("GPU", 0.0)
            if gpus < gpu:
                raise ConfigError(
                    f"sweeps.{self._name}.resources.gpu",
                    gpu,
                    f"Ray finds {gpus:g} GPUs on {self.where}: set gpu: 0, or run where there is one",
                )
            self.workers = min(self.workers, int(gpus / gpu))
        self._remote = self._ray.remote(num_cpus=1, num_gpus=gpu, max_calls=0, max_retries=0, retry_exceptions=False)(
            perform_on_gpu if gpu > 0 else perform
        )


def _set_environment() -> None:
    """Ray's settings, where the user has none; a private token where there is none, which open clusters accept."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if "RAY_AUTH_TOKEN_PATH" not in os.environ and not Path("~/.ray/auth_token").expanduser().exists():
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _check_answers(address: str) -> None:
    """Raise DriverError where nothing answers at `host:port`: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise DriverError(
                f"RAY_ADDRESS: {address}: no cluster answers ({error.strerror or error}): start one there, or unset it"
            ) from error
