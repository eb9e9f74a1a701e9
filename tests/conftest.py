"""Property tests try the same examples on every run; what starts Ray runs one after the other, in one process."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two test processes, two cores

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50, database=None)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Tests that start Ray look for what it leaves behind on the whole machine: they must not meet each other.

    They come first, in one process, while the other process does the rest.
    """
    for item in items:
        if item.get_closest_marker("ray"):
            item.add_marker(pytest.mark.xdist_group("ray"))
    items.sort(key=lambda item: item.get_closest_marker("ray") is None)
