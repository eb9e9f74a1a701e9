from __future__ import annotations

import signal

import pytest

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.execute.exits import DriverError, one_line_errors
from ssi_kernels.execute.signals import Stopped


@pytest.mark.parametrize(
    "error, status, line",
    [
        (ConfigError("omega", 2, "must lie in [0, 1]"), 2, "ssi: omega: 2: must lie in [0, 1]"),
        (StoreError("store: full"), 1, "ssi: store: full"),
        (DriverError("busy\nvery"), 1, "ssi: busy very"),
        (PermissionError(13, "Permission denied", "results"), 1, "ssi: results: Permission denied"),
        (KeyboardInterrupt(), 130, "ssi: interrupted"),
        (Stopped(signal.SIGTERM), 143, ""),
    ],
)
def test_expected_errors_are_one_line_and_a_status(capsys, error, status, line):
    with pytest.raises(SystemExit) as ended, one_line_errors():
        raise error
    assert ended.value.code == status
    assert capsys.readouterr().err.strip() == line


def test_what_nobody_expects_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError), one_line_errors():
        raise ZeroDivisionError
