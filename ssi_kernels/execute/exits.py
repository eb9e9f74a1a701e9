"""How a command ends: one line on standard error and an exit status, never a traceback for what can be expected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.execute.signals import Stopped

FAILED_WORK = 1
BAD_INPUT = 2


class DriverError(RuntimeError):
    """The driver cannot go on; the message says why and what to do, in one line."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process as its error deserves: 2 for bad input, 1 for work that failed, 128 + n for a signal."""
    try:
        yield
    except ConfigError as error:
        _end(str(error), BAD_INPUT)
    except (StoreError, DriverError) as error:
        _end(str(error), FAILED_WORK)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _end(f"{where}{error.strerror or error}", FAILED_WORK)
    except Stopped as stop:
        sys.exit(stop.exit_status)
    except KeyboardInterrupt:
        _end("interrupted", 130)


def _end(line: str, status: int) -> NoReturn:
    print("ssi:", *line.split(), file=sys.stderr)
    sys.exit(status)
