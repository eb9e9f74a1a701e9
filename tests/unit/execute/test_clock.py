"""Files from the future are brought to the present, in their order."""

from __future__ import annotations

import os
import time

from ssi_kernels.execute.clock import bring_to_present


def dated(folder, name, seconds):
    path = folder / name
    path.write_text("")
    os.utime(path, (seconds, seconds))
    return path


def test_the_order_is_kept_and_the_past_untouched(tmp_path):
    now = 1_000_000.0
    past = dated(tmp_path, "past", now - 100)
    late, later = dated(tmp_path, "b", now + 50), dated(tmp_path, "a", now + 5000)
    just_now = dated(tmp_path, "c", now + 1)
    assert bring_to_present([tmp_path, tmp_path / "absent"], now) == [late, later]
    assert past.stat().st_mtime == now - 100 and just_now.stat().st_mtime == now + 1
    assert now - 1 < late.stat().st_mtime < later.stat().st_mtime < now


def test_a_manifest_from_the_future_does_not_hide_missing_work(placed):
    """A clock that was an hour ahead and is set back: the request is newer than what it asks to make again."""
    from ssi_kernels.execute.request import refresh_requests

    placed.folder.mkdir(parents=True)
    manifest = dated(placed.folder, "manifest.json", time.time() + 3600)
    refresh_requests({"tiny": placed})
    assert manifest.stat().st_mtime_ns < placed.request.stat().st_mtime_ns
