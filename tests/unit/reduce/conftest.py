"""What a stand-in for theory says must not be remembered beyond its test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("ssi_kernels.sweep.remembered._folder", lambda: tmp_path / "remembered")
