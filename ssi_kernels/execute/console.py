"""What a driver says: on standard error, and in its log file."""

from __future__ import annotations

import sys
import time
import traceback
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TextIO


class Console(AbstractContextManager):
    """Lines for a person on `stream`, the same lines with a time in the file `log`.

    `live` replaces the line it wrote before where the stream is a terminal, and is an ordinary line elsewhere.
    An error that ends the block is told in full in the log.
    """

    def __init__(self, log: Path | None = None, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._open_line = False
        self._log = None
        if log is not None:
            Path(log).parent.mkdir(parents=True, exist_ok=True)
            self._log = open(log, "w")

    def __exit__(self, kind: type | None, error: BaseException | None, *_: object) -> None:
        self._end_line()
        if self._log is not None:
            with suppress(OSError):
                if error is not None:
                    self._log.writelines(traceback.format_exception(error))
                self._log.close()

    def say(self, text: str) -> None:
        """One line that stays."""
        self._end_line()
        print(text, file=self._stream, flush=True)
        self._record(text)

    def live(self, text: str) -> None:
        """One line that the next `live` replaces."""
        if not self._terminal:
            self.say(text)
            return
        print(f"\r\x1b[2K{text}", end="", file=self._stream, flush=True)
        self._open_line = True
        self._record(text)

    def _end_line(self) -> None:
        if self._open_line:
            print(file=self._stream, flush=True)
            self._open_line = False

    def _record(self, text: str) -> None:
        if self._log is not None:
            with suppress(OSError):  # a full disk is for the store to tell
                print(time.strftime("%Y-%m-%d %H:%M:%S"), text, file=self._log, flush=True)
