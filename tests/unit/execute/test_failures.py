from __future__ import annotations

import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.execute.failures import FILE, Failure, describe, one_line, read_failures, write_failures


def failure_of(point, text="boom\nand more"):
    try:
        raise ValueError(text)
    except ValueError as error:
        return Failure.of(point, error)


def test_a_failure_tells_where_and_why(placed):
    failure = failure_of(placed.grid.points[0])
    assert failure.line == "d=16 length=2 omega=0.1 a=1.0: ValueError: boom and more"
    assert "raise ValueError(text)" in failure.traceback


def test_what_is_written_is_read(placed):
    failures = {f.point_id: f for f in map(failure_of, placed.grid.points)}
    write_failures(placed.folder, failures)
    assert read_failures(placed.folder) == failures


def test_without_failures_there_is_no_file(placed):
    failure = failure_of(placed.grid.points[0])
    write_failures(placed.folder, {failure.point_id: failure})
    write_failures(placed.folder, {})
    assert not (placed.folder / FILE).exists()
    assert read_failures(placed.folder) == {}


def test_a_damaged_record_is_named_with_the_remedy(tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(StoreError, match=r"failed\.json.*delete it"):
        read_failures(tmp_path)


def test_a_reason_is_short():
    assert len(one_line(ValueError("x" * 1000))) == 300


def test_coordinates_as_a_user_writes_them():
    assert describe({"d": 16, "student": "tied"}) == "d=16 student=tied"
