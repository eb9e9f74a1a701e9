"""Whether the datasets still hold what they should."""

import pytest

from ssi_kernels.store import (
    SegmentIndex,
    consolidate,
    fingerprint,
    missing,
    stale,
)

from .fabricate import complete, make_sweep, store_whole

pytestmark = pytest.mark.filterwarnings("error")


def test_what_is_there_is_recognised_before_and_after(tmp_path):
    sweep, grid = make_sweep()
    store_whole(tmp_path / "store", grid)
    index = SegmentIndex(tmp_path / "store")
    index.refresh()
    expected = fingerprint(grid, missing(grid.points, index), {})
    assert stale(tmp_path / "x", expected) == "never built"
    made = consolidate(sweep, grid, tmp_path / "store", tmp_path / "x")
    assert made.fingerprint == expected
    assert stale(tmp_path / "x", expected) is None
    other = make_sweep(sgd={"replicas": 4})[1]
    assert stale(tmp_path / "x", fingerprint(other, missing(other.points, index), {})) == "built from other points"


def test_a_cosmetic_edit_changes_nothing(tmp_path):
    """Case 1."""
    grids = [make_sweep()[1], make_sweep(grid={"omega": [0.5, 0.1]}, resources={"gpu": 1})[1]]
    assert len({fingerprint(grid, [], {}) for grid in grids}) == 1


def test_a_lost_or_truncated_file_is_noticed(tmp_path):
    """Cases 5 and 7: the workflow rebuilds the dataset."""
    made = complete(tmp_path)[-1]
    chunk = next(p for p in (made.trajectories / "m" / "c").rglob("*") if p.is_file())
    content = chunk.read_bytes()
    for change in (chunk.unlink, lambda: chunk.write_bytes(content[:-1])):
        change()
        assert chunk.relative_to(tmp_path / "x").as_posix() in stale(tmp_path / "x", made.fingerprint)
    chunk.write_bytes(content)
    assert stale(tmp_path / "x", made.fingerprint) is None


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"fingerprint": 1, "files": 3}'])
def test_a_bad_marker_is_none(tmp_path, content):
    made = complete(tmp_path)[-1]
    (tmp_path / "x" / "consolidated.json").write_bytes(content)
    assert stale(tmp_path / "x", made.fingerprint) == "never built"
