"""What one worker is asked to do, and what it reports back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssi_kernels.execute.failures import Failure
    from ssi_kernels.store.location import Location
    from ssi_kernels.sweep import Point


@dataclass(frozen=True)
class Task:
    """Simulate `points`, all of one shape, for a range of replicas over a range of steps.

    `resume` names the segment that holds the states at `steps[0]`; None starts at step 0.
    """

    points: tuple[Point, ...]
    replicas: tuple[int, int]
    steps: tuple[int, int]
    resume: Location | None = None

    @property
    def lanes(self) -> int:
        """Number of trajectories."""
        return len(self.points) * (self.replicas[1] - self.replicas[0])

    @property
    def lane_steps(self) -> int:
        """Number of SGD steps, over all trajectories."""
        return self.lanes * (self.steps[1] - self.steps[0])

    def after(self, step: int, stored: Location) -> Task:
        """What is left once `stored` holds the states at `step`."""
        return replace(self, steps=(step, self.steps[1]), resume=stored)

    def halves(self) -> tuple[Task, Task]:
        """The same work in two tasks, for a task of several points."""
        middle = len(self.points) // 2
        return replace(self, points=self.points[:middle]), replace(self, points=self.points[middle:])

    def one_by_one(self) -> tuple[Task, ...]:
        """The same work, a task for each point."""
        return tuple(replace(self, points=(point,)) for point in self.points)


@dataclass(frozen=True)
class Performed:
    """What became of a task: which points are stored, which failed, and whether storing itself is impossible."""

    stored: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    fatal: str | None = None
