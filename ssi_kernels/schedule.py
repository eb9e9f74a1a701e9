"""When to record: a set of steps that does not depend on the horizon.

A shorter horizon sees a prefix of a longer one's recordings, so that a finished run can be
extended and a checkpoint is an ordinary segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import whole


@dataclass(frozen=True)
class Schedule:
    """Record step 0, then `n` steps per decade, or every `n`-th step.

    `per_decade` records round(10^(k/n)) for k = 0, 1, 2, ... with repeats removed.
    """

    kind: Literal["per_decade", "every"] = "per_decade"
    n: int = 20

    def __post_init__(self) -> None:
        if self.kind not in ("per_decade", "every"):
            raise ConfigError("record", self.kind, "use per_decade or every")
        object.__setattr__(self, "n", whole(f"record.{self.kind}", self.n, 1))

    def steps(self, horizon: int) -> np.ndarray:
        """All recorded steps in [0, horizon], int64, increasing, starting with 0."""
        if self.kind == "every":
            return np.arange(0, horizon + 1, self.n, dtype=np.int64)
        if horizon < 1:
            return np.zeros(1, dtype=np.int64)
        count = int(np.floor(self.n * np.log10(horizon))) + 2
        grid = np.rint(10.0 ** (np.arange(count) / self.n)).astype(np.int64)
        return np.concatenate([[0], np.unique(grid[grid <= horizon])]).astype(np.int64)

    def canonical(self) -> dict:
        """What identifies the schedule in a point's address."""
        return {self.kind: self.n}
