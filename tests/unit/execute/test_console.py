from __future__ import annotations

import io

import pytest

from ssi_kernels.execute.console import Console
from ssi_kernels.execute.progress import INTERVAL, Progress, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_lines_where_the_stream_is_no_terminal(tmp_path):
    stream = io.StringIO()
    with Console(tmp_path / "logs/log", stream) as console:
        console.live("1/2")
        console.live("2/2")
        console.say("end")
    assert stream.getvalue() == "1/2\n2/2\nend\n"
    assert [line[20:] for line in (tmp_path / "logs/log").read_text().splitlines()] == ["1/2", "2/2", "end"]


def test_one_live_line_on_a_terminal():
    stream = Terminal()
    with Console(stream=stream) as console:
        console.live("1/2")
        console.live("2/2")
        console.say("end")
    assert stream.getvalue() == "\r\x1b[2K1/2\r\x1b[2K2/2\nend\n"


def test_an_error_is_told_in_full_in_the_log(tmp_path):
    with pytest.raises(ValueError), Console(tmp_path / "log", io.StringIO()):
        raise ValueError("boom")
    assert "ValueError: boom" in (tmp_path / "log").read_text()
    assert "Traceback" in (tmp_path / "log").read_text()


def progress_at(times: list[float]) -> tuple[Progress, list[str]]:
    said: list[str] = []
    clock = iter(times)
    return Progress("transition", 42, 100.0, said.append, lambda: next(clock)), said


def test_progress_tells_points_failures_rate_and_time_left():
    progress, _ = progress_at([0.0, 4.0])
    progress.advance(done=10, failed=2, work=25.0)
    assert progress.line() == "transition: 10/42 points, 2 failed, 3 points/s, 12 s left"


def test_progress_is_said_every_interval():
    progress, said = progress_at([0.0, 1.0, INTERVAL, INTERVAL, INTERVAL])
    progress.tick()
    assert said == []
    progress.tick()
    assert said == ["transition: 0/42 points, 0 failed, 0 points/s, time left unknown"]


def test_progress_at_the_end():
    progress, said = progress_at([0.0] + [4.0] * 9)
    progress.advance(done=42)
    progress.finish()
    progress.finish()
    assert said == ["transition: 42/42 points, 0 failed, 10.5 points/s, done"]


@pytest.mark.parametrize(
    "seconds, text", [(0.2, "0 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (18120, "5 h 02 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
