"""The index: derived, quick, and harmless to what it does not know."""

import json
import logging
import os
import shutil

import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.store import SegmentIndex, index, write_segment

from .fabricate import fabricate, make_sweep, store_whole


@pytest.fixture(scope="module")
def grid():
    return make_sweep()[1]


@pytest.fixture
def root(tmp_path, grid):
    store_whole(tmp_path / "store", grid)
    return tmp_path / "store"


@pytest.fixture
def read(monkeypatch):
    """The names of the segments that were opened."""
    names = []
    original = index.read_heading

    def record(path):
        names.append(path.name)
        return original(path)

    monkeypatch.setattr(index, "read_heading", record)
    return names


def refreshed(root):
    found = SegmentIndex(root)
    return found, found.refresh()


def test_no_folder_is_an_empty_store_and_stays_absent(tmp_path):
    found, warnings = refreshed(tmp_path / "store")
    assert (len(found), warnings) == (0, [])
    assert not (tmp_path / "store").exists()


def test_points_are_found_with_their_pieces(root, grid):
    found, _ = refreshed(root)
    point = grid.points[1]
    (piece,) = found.covered(point.point_id)
    assert (piece.row, piece.replicas, piece.steps, piece.finished) == (0, (0, 3), (0, 50), ())
    assert found.covered("unknown") == []


def test_known_segments_are_not_read_again(root, grid, read):
    """Case 33: a no-op is quick."""
    refreshed(root)
    assert len(read) == 4
    found, _ = refreshed(root)
    write_segment(root, fabricate(grid.points[:1], (3, 5), (0, 50)))
    found.refresh()
    assert len(read) == 5
    assert len(found.covered(grid.points[0].point_id)) == 2


def test_a_packed_segment_serves_each_of_its_points(tmp_path, grid):
    store_whole(tmp_path, grid, pack=4)
    found, _ = refreshed(tmp_path)
    assert [found.covered(p.point_id)[0].row for p in grid.points] == [0, 1, 2, 3]


def test_a_vanished_segment_is_dropped(root, grid):
    found, _ = refreshed(root)
    path = found.covered(grid.points[0].point_id)[0].path
    path.unlink()
    assert found.refresh() == []
    assert found.covered(grid.points[0].point_id) == []
    assert len(refreshed(root)[0]) == 3


def test_a_truncated_segment_is_renamed_and_named(root, grid, caplog):
    """Case 5: never taken as done."""
    found, _ = refreshed(root)
    path = found.covered(grid.points[0].point_id)[0].path
    path.write_bytes(path.read_bytes()[:-10])
    with caplog.at_level(logging.WARNING, "ssi_kernels.store"):
        (warning,) = found.refresh()
    assert str(path) in warning and "set aside" in warning
    assert warning in caplog.text
    assert found.covered(grid.points[0].point_id) == []
    assert not path.exists()
    assert path.with_name(path.name + ".corrupt").exists()
    assert refreshed(root)[1] == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 0, "segments": {}}', b'{"version": 1}', b"\xff"])
def test_a_bad_index_is_rebuilt(root, content):
    refreshed(root)
    good = (root / "index.json").read_bytes()
    (root / "index.json").write_bytes(content)
    assert len(refreshed(root)[0]) == 4
    assert json.loads((root / "index.json").read_bytes()) == json.loads(good)


@pytest.mark.parametrize("fields", [None, [1], [1, ["a"], [0, 1], [0, 1], []], "text"])
def test_an_index_with_a_bad_entry_is_rebuilt(root, fields):
    refreshed(root)
    content = json.loads((root / "index.json").read_bytes())
    content["segments"][next(iter(content["segments"]))] = fields
    (root / "index.json").write_text(json.dumps(content))
    assert len(refreshed(root)[0]) == 4


def test_foreign_files_are_never_touched(root):
    """Case 6."""
    folder = next(p for p in root.iterdir() if p.is_dir())
    foreign = [root / "notes.txt", folder / "notes.zarr.zip", folder / "zz.zarr.zip", root / "zz" / "a.zarr.zip"]
    foreign += [folder / ".hidden.tmp", root / "ab.zarr.zip"]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert refreshed(root)[1] == []
    assert [path.read_text() for path in foreign] == ["mine"] * len(foreign)


def test_a_segment_of_a_later_version_is_left_alone(root, grid, monkeypatch):
    monkeypatch.setattr("ssi_kernels.store.segments.FORMAT", 99)
    path = write_segment(root, fabricate(grid.points[:1], (3, 4), (0, 50)))
    monkeypatch.undo()
    found, (warning,) = refreshed(root)
    assert path.name in warning and path.exists()
    assert len(found) == 4


def test_what_a_dead_writer_left_is_removed_and_a_living_one_is_left_alone(root):
    folder = next(p for p in root.iterdir() if p.is_dir())
    from ssi_kernels.store.atomic import temporary_beside

    mine = temporary_beside(folder / "x.zarr.zip")
    dead = folder / mine.name.replace(f"~{os.getpid()}~", "~999999999~")
    mine.write_text("")
    dead.write_text("")
    refreshed(root)
    assert mine.exists() and not dead.exists()


def test_a_folder_that_cannot_be_written_is_read_all_the_same(root, monkeypatch):
    """Case 40: `plan` and `status` work on somebody else's results."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    path = next(root.glob("*/*.zarr.zip"))
    path.write_bytes(b"")
    found, (warning,) = refreshed(root)
    assert len(found) == 3
    assert "taken as absent" in warning
    assert sorted(p.name for p in root.iterdir() if p.is_file()) == []


def test_a_folder_that_cannot_be_read_is_an_error(root, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StoreError, match="store: cannot be read: Permission denied"):
        refreshed(root)


def test_known_segments_are_not_opened_again(tmp_path, grid, monkeypatch):
    """Case 33: a refresh costs one folder scan, however many segments there are."""
    path = write_segment(tmp_path / "one", fabricate(grid.points[:1], (0, 1), (0, 10)))
    for i in range(500):
        name = f"{i * 2654435761 % 2**32:08x}{i:024x}"
        (tmp_path / "store" / name[:2]).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tmp_path / "store" / name[:2] / f"{name}.zarr.zip")
    refreshed(tmp_path / "store")
    monkeypatch.setattr("ssi_kernels.store.index.read_heading", lambda path: pytest.fail(f"{path} was opened"))
    assert len(refreshed(tmp_path / "store")[0]) == 500
