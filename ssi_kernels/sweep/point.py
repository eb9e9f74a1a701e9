"""One point of a sweep: everything that is needed to simulate it, resolved to numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from ssi_kernels.model import Model
from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.model.starts import Start
from ssi_kernels.schedule import Schedule
from ssi_kernels.sweep import identity


@dataclass(frozen=True)
class Point:
    """A point of a grid. Imports no JAX, and can be pickled.

    `coords` maps axes to values: `d` and `length`, then `sie`, `omega`, `a`, `learning_rate`, and the names under
    `target`, `student`, `encoding`, where they are axes. `thresholds` are numbers in increasing order. `steps` (the
    horizon) and `replicas` are not part of the identity. `pattern` is the model without its parameters, which points of
    a grid share; it is made from `model` where it is not given. `shared`: what the random streams do not depend on.
    """

    coords: dict[str, int | float | str]
    model: Model
    start: Start
    d: int
    length: int
    learning_rate: float
    seed: int
    kernel: str
    dtype: str
    schedule: Schedule
    thresholds: tuple[float, ...]
    decided: float
    stop: str
    steps: int
    replicas: int
    shared: tuple[str, ...] = ()
    pattern: Model | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash(self.point_id)

    def canonical(self) -> dict:
        """What identifies the point, as JSON; `decided` is there only where the stop rule uses it."""
        return identity.canonical(self._common(), self._varying())

    @cached_property
    def stream_id(self) -> str:
        """What seeds the random streams; see `ssi_kernels.sweep.identity`."""
        return identity.stream_id(self._common(), self._varying())

    @cached_property
    def point_id(self) -> str:
        """The address of the point in the store."""
        return identity.point_id(self._common(), self._varying())

    def _common(self) -> identity.Common:
        return identity.Common(
            model=self.pattern or without_parameters(self.model),
            start=self.start,
            d=self.d,
            length=self.length,
            seed=self.seed,
            kernel=self.kernel,
            dtype=self.dtype,
            schedule=self.schedule,
            thresholds=self.thresholds,
            stop=self.stop,
            decided=self.decided if self.stop == "decided" else None,
            shared=self.shared,
        )

    def _varying(self) -> dict[str, int | float]:
        numbers = {**self.model.target.parameters(), "learning_rate": self.learning_rate}
        return {key: canonical_number(value) for key, value in numbers.items()}


def without_parameters(model: Model) -> Model:
    """The model with its target's parameters (omega, a) taken out: what points of one shape have in common."""
    return replace(model, target=model.target.static())
