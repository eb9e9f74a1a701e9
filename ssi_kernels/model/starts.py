"""Initial conditions: exact overlaps, or uniform on the sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import canonical_number, finite, vector

if TYPE_CHECKING:
    from ssi_kernels.model.model import Model


@dataclass(frozen=True)
class Start:
    """`random`: uniform on the student's sphere. Otherwise the overlaps m and e hold exactly.

    For untied students every m_i starts at `m`. A single `e` is the first component's; the others are 0.
    """

    random: bool
    m: float = 0.0
    e: tuple[float, ...] = ()

    def components(self, rank: int) -> tuple[float, ...]:
        """e_1..e_rank; those not given are 0."""
        return (self.e + (0.0,) * rank)[:rank]

    def check(self, model: Model, length: int) -> None:
        """Raises ConfigError where the overlaps do not fit the model."""
        rank, used = model.rank(length), len(self._trimmed)
        if used and not rank:
            raise ConfigError("start.e", list(self.e), "must be 0: the model has no encoding")
        if used > rank:
            remedy = f"has {used} components, but the encoding has {rank}; give at most {rank}"
            raise ConfigError("start.e", list(self.e), remedy)

    @property
    def _trimmed(self) -> tuple[float, ...]:
        """e without its trailing zeros."""
        return self.e[: max((k + 1 for k, x in enumerate(self.e) if x), default=0)]

    def canonical(self) -> dict | str:
        """What identifies the start; trailing zeros of e do not count."""
        if self.random:
            return "random"
        return {"m": canonical_number(self.m), "e": [canonical_number(x) for x in self._trimmed]}


def random() -> Start:
    """Uniform on S^(d-1), for untied students on S^(Ld-1) (joint) or on S^(d-1) row by row (row)."""
    return Start(random=True)


def overlaps(m: float = 0.0, e=0.0) -> Start:
    """Exact overlaps. Raises ConfigError where m^2 + |e|^2 > 1."""
    m = finite("start.m", m)
    e = vector("start.e", e) if isinstance(e, list | tuple) or getattr(e, "ndim", 0) else (finite("start.e", e),)
    if math.fsum([m * m, *(x * x for x in e)]) > 1 + 1e-11:
        raise ConfigError("start", {"m": m, "e": e[0] if len(e) == 1 else list(e)}, "must satisfy m^2 + |e|^2 <= 1")
    return Start(random=False, m=m, e=e)
