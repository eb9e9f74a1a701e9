"""What makes two computations the same: SHA-256 of canonical JSON.

`stream_id` covers the mathematics, and seeds the random streams: float32 and float64, or two recording
schedules, see the same numbers. `point_id` covers also how it is computed and recorded; it is the address in the
store. The horizon and the number of replicas are in neither, so that both can grow.

Where a sweep asks for common random numbers along some axes, the streams depend on everything but the values on these
axes and what follows from them, such as a learning rate by a rule; the address still does on all of it.

A grid has many points that differ only in their parameters (omega, a) and learning rate. So an id is the digest of
two parts: the digest of everything else, computed once for all those points, and these few numbers.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import NamedTuple

from ssi_kernels.model import Model
from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.model.starts import Start
from ssi_kernels.schedule import Schedule

SEMANTICS_VERSION = 2
"""Raised whenever the same point would give other numbers; stored points of an older version are then not used."""

SHARED = ("d", "sie", "omega", "a", "learning_rate", "target", "student", "encoding")
"""Axes along which points can have common random numbers. Sequences of another length draw other numbers."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class Common(NamedTuple):
    """All of a point's identity but the target's parameters and the learning rate; `model` is without parameters.

    `shared`: what random streams do not depend on, of `SHARED`, where points have common random numbers.
    """

    model: Model
    start: Start
    d: int
    length: int
    seed: int
    kernel: str
    dtype: str
    schedule: Schedule
    thresholds: tuple[float, ...]
    stop: str
    decided: float | None
    shared: tuple[str, ...] = ()

    def mathematics(self) -> dict:
        """The part that defines the random streams, as canonical JSON."""
        return {
            "model": self.model.canonical(self.length),
            "d": self.d,
            "length": self.length,
            "start": self.start.canonical(),
            "seed": self.seed,
        }

    def computation(self) -> dict:
        """The part that says how it is computed and recorded, as canonical JSON."""
        decided = {} if self.decided is None else {"decided": canonical_number(self.decided)}
        return {
            "kernel": self.kernel,
            "dtype": self.dtype,
            "schedule": self.schedule.canonical(),
            "thresholds": [canonical_number(x) for x in self.thresholds],
            "stop": self.stop,
            **decided,
            **({"common_random_numbers": list(self.shared)} if self.shared else {}),
            "semantics": SEMANTICS_VERSION,
        }

    def seeding(self) -> dict:
        """The part of the mathematics that seeds the streams of points with common random numbers.

        What follows from a shared value goes with it: the pattern that a target takes from the encoding, and the start
        where it may be given in terms of d.
        """
        whole, shared = self.mathematics(), set(self.shared)
        hidden = shared | ({"start"} if "d" in shared else set())
        model = {name: piece for name, piece in whole["model"].items() if name not in shared}
        target = dict(whole["model"]["target"])
        if "sie" in shared:
            target.pop("sie", None)
        if "encoding" in shared and getattr(self.model.target, "pattern", None) is None:
            target.pop("pattern", None)
        model["target"] = {name: target[name] for name in ("sie",) if name in target} if "target" in shared else target
        kept = {name: value for name, value in whole.items() if name not in hidden}
        return {**kept, "model": model, "common_random_numbers": list(self.shared)}


def canonical(common: Common, varying: dict[str, int | float]) -> dict:
    """Everything that identifies a point, as canonical JSON; `varying` are parameters and `learning_rate`."""
    mathematics = common.mathematics()
    model = mathematics["model"]
    parameters = {key: value for key, value in varying.items() if key != "learning_rate"}
    whole = {"model": {**model, "target": {**model["target"], **parameters}}, "learning_rate": varying["learning_rate"]}
    return {**mathematics, **whole, **common.computation()}


def stream_id(common: Common, varying: dict[str, int | float]) -> str:
    """The digest, 64 hex digits, of the part of a point that defines the mathematics."""
    if common.shared:
        varying = {name: value for name, value in varying.items() if name not in common.shared}
    return digest([_stream_digest(common), varying])


def point_id(common: Common, varying: dict[str, int | float]) -> str:
    """The digest, 64 hex digits, of everything that identifies a point."""
    return digest([_point_digest(common), varying])


@lru_cache(maxsize=4096)
def _stream_digest(common: Common) -> str:
    return digest(common.seeding() if common.shared else common.mathematics())


@lru_cache(maxsize=4096)
def _point_digest(common: Common) -> str:
    return digest([digest(common.mathematics()), common.computation()])


def digest(value: object) -> str:
    """SHA-256 of canonical JSON. Floats must be canonical already (`canonical_number`): 1.0 and 1 differ here."""
    return hashlib.sha256(_encode(value).encode()).hexdigest()
