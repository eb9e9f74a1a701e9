from __future__ import annotations

import os

import pytest

from ssi_kernels.execute.lock import Busy, driver_lock
from ssi_kernels.execute.session import PREFIX, session_folder


def age(folder) -> None:
    os.utime(folder, (0, 0))


def test_the_folder_is_gone_after_the_session(tmp_path):
    with pytest.raises(ValueError), session_folder(tmp_path) as folder:
        (folder / "file").write_text("x")
        raise ValueError
    assert list(tmp_path.iterdir()) == []


def test_what_killed_drivers_left_is_removed_and_what_others_use_is_not(tmp_path):
    orphan, used = (tmp_path / f"{PREFIX}{name}" for name in ("orphan", "used"))
    fresh, forgotten = (tmp_path / f".{PREFIX}{name}" for name in ("fresh", "forgotten"))  # without a name yet
    for folder in (orphan, used, fresh, forgotten):
        folder.mkdir()
    age(forgotten)
    with driver_lock(used), session_folder(tmp_path) as folder:
        assert set(tmp_path.iterdir()) == {used, fresh, folder}
        assert folder.name.startswith(PREFIX)
        with pytest.raises(Busy), driver_lock(folder):
            raise AssertionError


def test_the_path_is_short():
    with session_folder() as folder:
        assert len(str(folder)) < 40
