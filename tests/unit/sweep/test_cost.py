"""Rough guesses of the cost of work."""

import pytest

from ssi_kernels.sweep import Estimate, estimate
from ssi_kernels.sweep.cost import lane_steps_per_second

from .example import STUDENTS, grid_of


def test_nothing_costs_nothing():
    assert estimate([]) == Estimate(0, 0.0, 0)


def test_lane_steps_are_replicas_times_steps():
    points = grid_of().points
    assert estimate((point, 3, 100) for point in points).lane_steps == 3 * 100 * len(points)


def test_time_follows_the_work_and_the_cores():
    point = grid_of().points[0]
    one, four = estimate([(point, 16, 10**7)]), estimate([(point, 16, 10**7)], cores=4)
    assert one.seconds == pytest.approx(4 * four.seconds)
    assert one.seconds == pytest.approx(16 * 10**7 * 16.8e-9, rel=0.01)


def test_the_full_kernel_pays_for_the_dimension():
    small, large = (lane_steps_per_second(grid_of({"sgd.kernel": "full", "grid.d": d}).points[0]) for d in (16, 160))
    assert small == pytest.approx(10 * large)
    one_noise = lane_steps_per_second(grid_of({"sgd.kernel": "one-noise", "grid.d": 160}).points[0])
    assert large < one_noise < 2 * large  # length 2


def test_bytes_follow_the_recordings_the_type_and_the_variables():
    def size(changes):
        grid = grid_of({"record.every": 1, "grid.d": 16, "grid.omega": 0.5, **changes})
        return estimate((p, 1000, 1000) for p in grid.points).bytes

    assert size({"sgd.dtype": "float64"}) == pytest.approx(2 * size({}), rel=0.05)
    tied, untied = grid_of({**STUDENTS, "grid.d": 16, "record.every": 1}).points
    assert estimate([(untied, 1000, 1000)]).bytes == pytest.approx(3 * estimate([(tied, 1000, 1000)]).bytes, rel=0.1)
