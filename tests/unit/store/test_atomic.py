"""Temporary names, stale leftovers, and the exchange of folders."""

import os
import subprocess
import sys
import time

import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.store import atomic
from ssi_kernels.store.atomic import exchange, is_temporary, remove_stale, temporary_beside, write_bytes


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new" / "x.json"
    write_bytes(path, b"1")
    write_bytes(path, b"22")
    assert path.read_bytes() == b"22"
    assert os.listdir(path.parent) == ["x.json"]


def test_an_interrupt_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_bytes(path, b"1")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(path, b"2")
    assert path.read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["x.json"]


def test_the_cause_is_named(tmp_path, monkeypatch):
    """Case 40."""

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StoreError, match=r"x\.json: cannot be written: No space left on device: free some space"):
        write_bytes(tmp_path / "x.json", b"1")
    assert os.listdir(tmp_path) == []


def test_temporary_names_are_told_from_others(tmp_path):
    name = temporary_beside(tmp_path / "a.zarr").name
    assert is_temporary(name)
    assert not any(map(is_temporary, ("a.zarr", ".hidden.tmp", name[1:], name + "x")))
    assert temporary_beside(tmp_path / "a.zarr").name != name


def test_leftovers_of_a_dead_process_are_removed(tmp_path):
    code = (
        "import sys, pathlib; from ssi_kernels.store.atomic import temporary_beside\n"
        "path = temporary_beside(pathlib.Path(sys.argv[1])); path.mkdir(); (path / 'f').write_text('')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.zarr")], check=True)
    (left,) = tmp_path.iterdir()
    remove_stale(left)
    assert list(tmp_path.iterdir()) == []


def test_what_may_still_be_written_is_left_alone(tmp_path):
    mine = temporary_beside(tmp_path / "a")
    elsewhere = mine.with_name(mine.name.replace("~", "~other-", 1).replace(f"~{os.getpid()}~", "~999999999~"))
    for path in (mine, elsewhere):
        path.write_text("")
        remove_stale(path)
        assert path.exists()
    days_ago = time.time() - 2 * 86_400
    os.utime(elsewhere, (days_ago, days_ago))
    remove_stale(elsewhere)
    assert not elsewhere.exists()


@pytest.mark.parametrize("atomically", [True, False])
def test_folders_change_places(tmp_path, monkeypatch, atomically):
    if not atomically:
        monkeypatch.setattr(atomic, "_exchange_names", lambda *_: False)
    new, place = tmp_path / "new", tmp_path / "place"
    for path in (new, place):
        path.mkdir()
        (path / path.name).write_text("")
    earlier = exchange(new, place)
    assert os.listdir(place) == ["new"]
    assert os.listdir(earlier) == ["place"]
    assert earlier.parent == tmp_path


def test_the_first_folder_is_simply_moved(tmp_path):
    (tmp_path / "new").mkdir()
    assert exchange(tmp_path / "new", tmp_path / "place") is None
    assert os.listdir(tmp_path) == ["place"]


def test_linux_exchanges_names_in_one_step(tmp_path):
    if sys.platform != "linux":
        pytest.skip("renameat2 is Linux's")
    for name in "ab":
        (tmp_path / name).mkdir()
    assert atomic._exchange_names(tmp_path / "a", tmp_path / "b")
