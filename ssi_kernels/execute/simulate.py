"""One point in this process: no Ray, no Snakemake, nothing stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError, located
from ssi_kernels.model import Model, starts
from ssi_kernels.model.kernel_choice import kernel_for
from ssi_kernels.model.numbers import finite, whole
from ssi_kernels.model.starts import Start
from ssi_kernels.model.students import Student
from ssi_kernels.schedule import Schedule
from ssi_kernels.sweep import Point

if TYPE_CHECKING:
    import xarray as xr

DTYPES, STOPS = ("float32", "float64"), ("horizon", "recovered", "decided")


def simulate(
    model: Model,
    *,
    d: int,
    length: int,
    learning_rate: float | str | Mapping | None = None,
    steps: int | str | Mapping,
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
    (exact in law, at a cost that does not depend on d), "full" (explicit w), "one-noise" (explicit w, one noise vector
    a step) or "auto" (reduced). Without a `learning_rate` it is 0.3 of the noise bound (`ssi.theory.noise_bound`).
    Rates, `steps`, `start`, `record` and `threshold` may be written as in a configuration, such as "1/sqrt(d)".

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
    from ssi_kernels.sweep.rules import resolve_steps

    if not isinstance(model, Model):
        raise ConfigError("model", model, "must be an ssi_kernels.Model")
    d, length = whole("d", d, 1), whole("length", length, 1)
    for key, value, allowed in (("dtype", dtype, DTYPES), ("stop", stop, STOPS)):
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
        learning_rate=_rate(learning_rate, model, start, d, length),
        seed=whole("seed", seed, -(2**63)),
        kernel=kernel_for(kernel, model.student),
        dtype=dtype,
        schedule=_schedule(record),
        thresholds=_thresholds(threshold, d, length),
        decided=_fraction("decided", decided),
        stop=stop,
        steps=_ruled("steps", resolve_steps, steps, model.student, d, length),
        replicas=whole("replicas", replicas, 1),
    )


def _rate(written: object, model: Model, start: Start, d: int, length: int) -> float:
    """The learning rate that is written, or the default from the noise bound."""
    from ssi_kernels.sweep.default_rate import default_rate
    from ssi_kernels.sweep.rules import resolve_rate

    if written is None:
        with located("learning_rate"):
            return default_rate(model, length, d, start)
    return _ruled("learning_rate", resolve_rate, written, model.student, d, length)


def _ruled(key: str, resolve: Callable, written: object, student: Student, d: int, length: int):
    """A learning rate or a horizon in any of the forms that a configuration knows."""
    from ssi_kernels.sweep.pieces import KINDS
    from ssi_kernels.sweep.rules import check_students, read_rule

    with located(key):
        rule = read_rule(written)
        check_students(rule, [(None, student.kind)], KINDS)
        return resolve(rule, d, length, None, student.kind)


def _fraction(key: str, value: object) -> float:
    number = finite(key, value)
    if not 0 < number < 1:
        raise ConfigError(key, value, "must lie inside (0, 1)")
    return number


def _start(start: object, d: int, length: int) -> Start:
    if isinstance(start, Start):
        return start
    if isinstance(start, str) and start == "random":
        return starts.random()
    if not isinstance(start, Mapping) or not set(start) <= {"m", "e"}:
        raise ConfigError("start", start, 'use "random" or overlaps such as {"m": 0.1, "e": 0.0}')
    m = _quantity("start.m", start.get("m", 0), d, length)
    return starts.overlaps(m, [_quantity("start.e", x, d, length) for x in _entries("start.e", start.get("e", 0))])


def _thresholds(written: object, d: int, length: int) -> tuple[float, ...]:
    from ssi_kernels.sweep.thresholds import resolve

    values = tuple(_quantity("threshold", x, d, length) for x in _entries("threshold", written))
    with located("threshold"):
        return tuple(sorted(resolve(values, d, length).values()))


def _entries(key: str, value: object) -> list:
    """One value, or a non-empty list or array of them, as a list."""
    value = value.tolist() if hasattr(value, "tolist") else value
    entries = list(value) if isinstance(value, list | tuple) else [value]
    if not entries:
        raise ConfigError(key, value, "needs at least one value")
    return entries


def _quantity(key: str, value: object, d: int, length: int) -> int | float:
    """A number, or text in d and L such as "2/sqrt(d)"."""
    from ssi_kernels.sweep.quantities import evaluate, read_quantity

    with located(key):
        return evaluate(read_quantity(value), d, length)


def _schedule(record: object) -> Schedule:
    if record is None:
        return Schedule()
    if isinstance(record, Schedule):
        return record
    if not isinstance(record, Mapping) or len(record) != 1:
        raise ConfigError("record", record, 'use {"per_decade": n} or {"every": n}')
    kind, n = next(iter(record.items()))
    return Schedule(kind, n)
