"""One point in this process: no Ray, no Snakemake, nothing stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, starts
from ssi_kernels.model.numbers import canonical_number, finite, whole
from ssi_kernels.model.starts import Start
from ssi_kernels.schedule import Schedule
from ssi_kernels.sweep import Point

if TYPE_CHECKING:
    import xarray as xr

KERNELS, DTYPES, STOPS = ("auto", "reduced", "full"), ("float32", "float64"), ("horizon", "recovered", "decided")


def simulate(
    model: Model,
    *,
    d: int,
    length: int,
    learning_rate: float,
    steps: int,
    replicas: int = 16,
    seed: int = 0,
    kernel: str = "auto",
    dtype: str = "float32",
    start: Start | Mapping | str = "random",
    stop: str = "horizon",
    record: Schedule | Mapping | None = None,
    threshold: float | str | Sequence[float | str] = 0.5,
    decided: float = 0.7,
) -> xr.Dataset:
    """One-pass spherical SGD: w <- sqrt(d) (w - gamma grad L) / |w - gamma grad L|, a fresh sample at every step.

    Overlaps are m = w . w*/d and e_k = p_k . w/sqrt(d) (Arnaboldi et al. 2025, section 2). `kernel` is "reduced"
    (exact in law, at a cost that does not depend on d), "full" (explicit w) or "auto" (reduced).

    Returns a dataset with dimensions replica, step and, where they apply, component and position: `m`, `e`,
    `m_position`, `norm`; by replica (and threshold) `recovery_step`, `outcome`, `end`, `final_m`, `final_e`,
    `final_step`. The same numbers, to the bit, as the same point in a sweep. Raises ConfigError for invalid arguments.

    >>> import ssi_kernels as ssi
    >>> model = ssi.Model(ssi.targets.hermite(1), ssi.students.tied("relu"))
    >>> run = ssi.simulate(model, d=100, length=2, learning_rate=0.1, steps=1000, replicas=4)
    >>> run.m.dims
    ('replica', 'step')
    """
    point = point_of(
        model, d=d, length=length, learning_rate=learning_rate, steps=steps, replicas=replicas, seed=seed,
        kernel=kernel, dtype=dtype, start=start, stop=stop, record=record, threshold=threshold, decided=decided,
    )  # fmt: skip
    return simulate_point(point)


def simulate_point(point: Point) -> xr.Dataset:
    """One point of a grid, as `simulate`."""
    from ssi_kernels.execute.batch import run_task
    from ssi_kernels.execute.tasks import Task
    from ssi_kernels.execute.trajectories import as_dataset

    return as_dataset(run_task(Task((point,), (0, point.replicas), (0, point.steps))), point)


def point_of(
    model: Model,
    *,
    d,
    length,
    learning_rate,
    steps,
    replicas,
    seed,
    kernel,
    dtype,
    start,
    stop,
    record,
    threshold,
    decided,
) -> Point:
    """The point that these arguments describe, checked; the same identity as in a sweep."""
    if not isinstance(model, Model):
        raise ConfigError("model", model, "must be an ssi_kernels.Model")
    d, length = whole("d", d, 1), whole("length", length, 1)
    for key, value, allowed in (("kernel", kernel, KERNELS), ("dtype", dtype, DTYPES), ("stop", stop, STOPS)):
        if value not in allowed:
            raise ConfigError(key, value, f"use one of {', '.join(allowed)}")
    start = _start(start, d, length)
    model.check(d, length, start)
    return Point(
        coords={"d": d, "length": length},
        model=model,
        start=start,
        d=d,
        length=length,
        learning_rate=canonical_number(_positive("learning_rate", learning_rate)),
        seed=whole("seed", seed, 0),
        kernel="reduced" if kernel == "auto" else kernel,
        dtype=dtype,
        schedule=_schedule(record),
        thresholds=_thresholds(threshold, d, length),
        decided=_fraction("decided", decided),
        stop=stop,
        steps=whole("steps", steps, 1),
        replicas=whole("replicas", replicas, 1),
    )


def _positive(key: str, value: object) -> float:
    number = finite(key, value)
    if number <= 0:
        raise ConfigError(key, value, "must be positive")
    return number


def _fraction(key: str, value: object) -> float:
    number = finite(key, value)
    if not 0 < number < 1:
        raise ConfigError(key, value, "must lie inside (0, 1)")
    return number


def _start(start: object, d: int, length: int) -> Start:
    if isinstance(start, Start):
        return start
    if start == "random":
        return starts.random()
    if not isinstance(start, Mapping) or not set(start) <= {"m", "e"}:
        raise ConfigError("start", start, 'use "random" or overlaps such as {"m": 0.1, "e": 0.0}')
    return starts.overlaps(**{key: _evaluated(f"start.{key}", value, d, length) for key, value in start.items()})


def _evaluated(key: str, value: object, d: int, length: int):
    from ssi_kernels.sweep.quantities import evaluate, read_quantity

    if isinstance(value, list | tuple):
        return [_evaluated(f"{key}[{i}]", x, d, length) for i, x in enumerate(value)]
    try:
        return evaluate(read_quantity(value), d, length)
    except ConfigError as error:
        raise error.within(key) from None


def _thresholds(threshold: object, d: int, length: int) -> tuple[float, ...]:
    from ssi_kernels.sweep.thresholds import resolve

    written = tuple(threshold) if isinstance(threshold, list | tuple) else (threshold,)
    if not written:
        raise ConfigError("threshold", threshold, "needs at least one value")
    for i, value in enumerate(written):
        _evaluated(f"threshold[{i}]", value, d, length)
    try:
        return tuple(sorted(resolve(written, d, length).values()))
    except ConfigError as error:
        raise error.within("threshold") from None


def _schedule(record: object) -> Schedule:
    if record is None:
        return Schedule()
    if isinstance(record, Schedule):
        return record
    if not isinstance(record, Mapping) or len(record) != 1:
        raise ConfigError("record", record, 'use {"per_decade": n} or {"every": n}')
    kind, n = next(iter(record.items()))
    return Schedule(kind, n)
