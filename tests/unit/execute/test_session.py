from __future__ import annotations

import os

import pytest

from ssi_kernels.execute.lock import driver_lock
from ssi_kernels.execute.session import PREFIX, session_folder


def age(folder) -> None:
    os.utime(folder, (0, 0))


def test_the_folder_is_gone_after_the_session(tmp_path):
    with pytest.raises(ValueError), session_folder(tmp_path) as folder:
        (folder / "file").write_text("x")
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_what_killed_drivers_left_is_removed_and_what_others_use_is_not(tmp_path):
    orphan, used, fresh = (tmp_path / f"{PREFIX}{name}" for name in ("orphan", "used", "fresh"))
    for folder in (orphan, used, fresh):
        folder.mkdir()
    with driver_lock(used):
        age(orphan)
        age(used)
        with session_folder(tmp_path) as folder:
            assert set(tmp_path.iterdir()) == {used, fresh, folder}


def test_the_path_is_short():
    with session_folder() as folder:
        assert len(str(folder)) < 40
