"""The progress line: points done / total, failed, rate, time left."""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL = 2.0


class Progress:
    """Counts settled points and finished work, and says so every `INTERVAL` seconds.

    Points differ in cost by orders of magnitude, so the time left comes from `work`, the estimated
    seconds of the tasks, and the rate is that of points.
    """

    def __init__(
        self,
        name: str,
        points: int,
        work: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._name, self._points, self._work, self._say, self._clock = name, points, work, say, clock
        self._started = self._last = clock()
        self._done = self._failed = 0
        self._work_done = 0.0
        self._said = ""

    def advance(self, *, done: int = 0, failed: int = 0, work: float = 0.0) -> None:
        """Add what a task has settled."""
        self._done += done
        self._failed += failed
        self._work_done += work

    def tick(self) -> None:
        """Say the line if it is time to."""
        if self._clock() - self._last >= INTERVAL:
            self._show()

    def finish(self) -> None:
        """Say the last line, unless it has just been said."""
        if self.line() != self._said:
            self._show()

    def _show(self) -> None:
        self._last, self._said = self._clock(), self.line()
        self._say(self._said)

    def line(self) -> str:
        """`transition: 12/42 points, 0 failed, 3.1 points/s, 10 s left`."""
        elapsed = max(self._clock() - self._started, 1e-9)
        rate = (self._done + self._failed) / elapsed
        return (
            f"{self._name}: {self._done}/{self._points} points, {self._failed} failed, "
            f"{rate:.3g} points/s, {self._time_left(elapsed)}"
        )

    def _time_left(self, elapsed: float) -> str:
        if self._done + self._failed >= self._points:
            return "done"
        if self._work_done <= 0:
            return "time left unknown"
        return f"{duration(elapsed * max(self._work - self._work_done, 0) / self._work_done)} left"


def duration(seconds: float) -> str:
    """Seconds for a person: `8 s`, `3 min 20 s`, `5 h 02 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
