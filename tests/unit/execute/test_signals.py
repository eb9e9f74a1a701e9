from __future__ import annotations

import os
import signal
import time

import pytest

from ssi_kernels.execute.signals import Stopped, stop_signals


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_stops_and_the_second_does_not_disturb_the_end(number, status):
    with pytest.raises(Stopped) as stopped, stop_signals():
        try:
            os.kill(os.getpid(), number)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), number)
    assert stopped.value.exit_status == status
    assert str(stopped.value) == signal.Signals(number).name


def test_handlers_are_installed_again_and_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped), stop_signals() as install:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        install()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_exception_that_a_library_puts_in_its_place_is_still_a_stop():
    with pytest.raises(Stopped) as stopped, stop_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except KeyboardInterrupt:
            raise RuntimeError("interrupted") from None
    assert stopped.value.exit_status == 143
