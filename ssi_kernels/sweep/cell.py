"""The part of a point that does not depend on omega, a and a swept learning rate: resolved and checked once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ssi_kernels.errors import ConfigError, located
from ssi_kernels.model import Model, starts
from ssi_kernels.model.kernel_choice import kernel_for
from ssi_kernels.model.starts import Start
from ssi_kernels.sweep import thresholds
from ssi_kernels.sweep.agreement import PIECES
from ssi_kernels.sweep.fields import Section
from ssi_kernels.sweep.point import without_parameters
from ssi_kernels.sweep.rules import resolve_rate, resolve_steps
from ssi_kernels.sweep.spec import Sweep


class CellKey(NamedTuple):
    """The coordinates that a cell depends on; None where the sweep has no such axis."""

    d: int
    length: int
    sie: int | None
    target: str | None
    student: str | None
    encoding: str | None


@dataclass(frozen=True)
class Cell:
    """What all points of one `CellKey` share; `learning_rate` is None where it is an axis.

    `pattern` is the model without its parameters.
    """

    model: Model
    pattern: Model
    start: Start
    kernel: str
    learning_rate: float | None
    steps: int
    thresholds: tuple[float, ...]


def resolve_cell(sweep: Sweep, key: CellKey) -> Cell:
    """Builds and checks one cell. Raises ConfigError with the key path inside the sweep."""
    d, length = key.d, key.length
    student = _entry(sweep.students, key.student)
    with _placed(key):
        model = Model(
            target=_entry(sweep.targets, key.target).build(length, sie=key.sie),
            student=student.build(),
            encoding=_entry(sweep.encodings, key.encoding).build(),
            loss=sweep.model.loss,
        )
        start = starts.random() if sweep.sgd.start == "random" else sweep.sgd.start.build(d, length)
        model.check(d, length, start)
    with located("sgd"):
        kernel = kernel_for(sweep.sgd.kernel, model.student)
    where = (d, length, student.name, student.kind)
    with located("sgd.learning_rate"):
        rate = _rate(sweep, model, start, where)
    with located("sgd.steps"):
        steps = resolve_steps(sweep.sgd.steps, *where)
    with located("recovery.threshold"):
        values = thresholds.resolve(sweep.recovery.threshold, d, length).values()
    return Cell(model, without_parameters(model), start, kernel, rate, steps, tuple(sorted(values)))


def _rate(sweep: Sweep, model: Model, start: Start, where: tuple) -> float | None:
    """The learning rate of a cell; None where it is an axis."""
    if sweep.sgd.learning_rate is not None:
        return resolve_rate(sweep.sgd.learning_rate, *where)
    if sweep.grid.learning_rate is not None:
        return None
    if "omega" in model.target.parameters():
        remedy = "is required: for this target the noise bound depends on omega and a; give a number, such as 0.05"
        raise ConfigError("", None, remedy)
    from ssi_kernels.sweep.default_rate import default_rate

    d, length, _, _ = where
    return default_rate(model, length, d, start)


def _entry(entries: tuple[Section, ...], name: str | None) -> Section:
    return entries[0] if name is None else next(entry for entry in entries if entry.name == name)


@contextmanager
def _placed(key: CellKey) -> Iterator[None]:
    """Puts a model's own key, such as `student.norm` or `d`, where the user wrote it."""
    try:
        yield
    except ConfigError as error:
        piece, dot, rest = error.key.partition(".")
        if piece in PIECES:
            name = getattr(key, piece)
            place = f"model.{piece}" if name is None else f"grid.{piece}.{name}"
            raise ConfigError(f"{place}{dot}{rest}", error.value, error.remedy) from None
        raise error.within({"start": "sgd", "loss": "model"}.get(piece, "grid")) from None
