"""Which points of a run are stored and which failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ssi_kernels.execute.failures import Failure
from ssi_kernels.execute.tasks import Performed, Task


class Ledger:
    """Accounts by point, although work and files are shared: a point is stored when all its tasks are."""

    def __init__(self, tasks: Iterable[Task]):
        self._open = Counter(point.point_id for task in tasks for point in task.points)
        self.points = len(self._open)
        self.failures: dict[str, Failure] = {}
        self.stored: set[str] = set()

    def settle(self, performed: Performed) -> tuple[int, int]:
        """Enter what a task did; returns how many points became stored and how many failed by it."""
        stored, failed = len(self.stored), len(self.failures)
        for identity in performed.stored:
            self._open[identity] -= 1
            if self._open[identity] == 0:
                self.stored.add(identity)
        for failure in performed.failures:
            self.failures.setdefault(failure.point_id, failure)
        return len(self.stored) - stored, len(self.failures) - failed
