"""Ctrl-C and SIGTERM end a driver in an orderly way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """The driver was told to stop."""

    def __init__(self, signum: int):
        self.signum = signal.Signals(signum)
        super().__init__(self.signum.name)

    @property
    def exit_status(self) -> int:
        """128 + the signal's number, as a shell would say."""
        return 128 + self.signum


@contextmanager
def stop_signals() -> Iterator[Callable[[], None]]:
    """Turn the first SIGINT or SIGTERM into `Stopped` and ignore the following ones, so that the end is orderly.

    Yields a function that installs the handlers again: libraries such as Ray replace them when they start.
    Ray also replaces an exception that a handler raises inside of it, hence the note of what was received.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    received: list[int] = []

    def stop(signum: int, _frame: FrameType | None) -> None:
        received.append(signum)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise Stopped(signum)

    def install() -> None:
        for number in _SIGNALS:
            signal.signal(number, stop)

    install()
    try:
        yield install
    except BaseException:
        if received:
            raise Stopped(received[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
