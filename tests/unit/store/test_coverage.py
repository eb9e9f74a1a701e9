"""How pieces of one point join."""

from pathlib import Path

import pytest

from ssi_kernels.store.coverage import FINISHED, Piece, cover


def piece(replicas, steps, finished=(), name="a"):
    return Piece(Path(name), 0, replicas, steps, finished)


def test_nothing_reaches_nowhere():
    coverage = cover([], 3, 10)
    assert coverage.reach.tolist() == [-1, -1, -1]
    assert coverage.source.tolist() == [-1, -1, -1]
    assert coverage.pieces == ()


def test_a_chain_of_pieces_joins_whatever_its_order():
    chain = [piece((0, 2), (50, 90)), piece((0, 2), (0, 10)), piece((0, 2), (10, 50))]
    coverage = cover(chain, 2, 90)
    assert coverage.reach.tolist() == [90, 90]
    assert [p.steps for p in coverage.pieces] == [(0, 10), (10, 50), (50, 90)]
    assert coverage.source.tolist() == [2, 2]


def test_a_gap_ends_the_reach():
    assert cover([piece((0, 1), (0, 10)), piece((0, 1), (20, 30))], 1, 30).reach.tolist() == [10]
    assert cover([piece((0, 1), (10, 20))], 1, 30).reach.tolist() == [-1]


def test_overlapping_pieces_join_and_superfluous_ones_are_left_out():
    pieces = [piece((0, 1), (0, 10)), piece((0, 1), (0, 30)), piece((0, 1), (20, 50)), piece((0, 1), (5, 25))]
    coverage = cover(pieces, 1, 50)
    assert coverage.reach.tolist() == [50]
    assert [p.steps for p in coverage.pieces] == [(0, 30), (20, 50)]


def test_a_longer_piece_serves_a_shorter_horizon_and_more_replicas_serve_fewer():
    coverage = cover([piece((0, 8), (0, 100)), piece((0, 8), (100, 200))], 3, 40)
    assert coverage.reach.tolist() == [100, 100, 100]
    assert len(coverage.pieces) == 1


def test_ranges_of_replicas_add_up():
    coverage = cover([piece((0, 2), (0, 10)), piece((3, 5), (0, 20))], 5, 20)
    assert coverage.reach.tolist() == [10, 10, -1, 20, 20]


def test_a_finished_replica_reaches_every_horizon():
    coverage = cover([piece((2, 6), (0, 10), finished=((3, 5),))], 5, 1000)
    assert coverage.reach.tolist() == [-1, -1, 10, FINISHED, FINISHED]


def test_a_finish_after_a_gap_does_not_count():
    assert cover([piece((0, 1), (10, 20), finished=((0, 1),))], 1, 30).reach.tolist() == [-1]


@pytest.mark.parametrize("horizon", [0, 1])
def test_a_piece_of_step_0_alone(horizon):
    assert cover([piece((0, 1), (0, 0)), piece((0, 1), (0, 1))], 1, horizon).reach[0] >= horizon
