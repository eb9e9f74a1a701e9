"""Pieces of a point joined along steps, then along replicas."""

from __future__ import annotations

from pathlib import Path

from ssi_kernels.store.coverage import Piece
from ssi_kernels.store.strands import strands_of


def piece(name, replicas, steps, *finished):
    return Piece(Path(name), 0, replicas, steps, finished)


def joined(*pieces, fits=lambda *_: True):
    found = strands_of("A", pieces, fits)
    return [(one.replicas, one.end, [str(p.path) for p in one.pieces]) for one in found.strands], [
        str(p.path) for p in found.adrift
    ]


def test_one_piece_is_a_strand():
    assert joined(piece("a", (0, 4), (0, 50))) == ([((0, 4), 50, ["a"])], [])
    (strand,) = strands_of("A", [piece("a", (0, 4), (0, 50))], None).strands
    assert strand.is_one_piece


def test_checkpoints_follow_each_other():
    assert joined(piece("c", (0, 4), (30, 50)), piece("a", (0, 4), (0, 10)), piece("b", (0, 4), (10, 30))) == (
        [((0, 4), 50, ["a", "b", "c"])],
        [],
    )


def test_neighbours_join_where_they_end_together():
    assert joined(piece("a", (0, 2), (0, 50)), piece("b", (2, 4), (0, 50))) == ([((0, 4), 50, ["a", "b"])], [])
    assert joined(piece("a", (0, 2), (0, 50)), piece("b", (2, 4), (0, 30)))[0] == [
        ((0, 2), 50, ["a"]),
        ((2, 4), 30, ["b"]),
    ]
    assert len(joined(piece("a", (0, 2), (0, 50)), piece("b", (3, 4), (0, 50)))[0]) == 2


def test_a_replica_that_has_stopped_ends_with_its_neighbours():
    """As a horizon is raised: replica 1 is not continued, the others are."""
    pieces = piece("a", (0, 3), (0, 20), (1, 2)), piece("b", (0, 1), (20, 50)), piece("c", (2, 3), (20, 50))
    assert joined(*pieces) == ([((0, 3), 50, ["a", "b", "c"])], [])
    (strand,) = strands_of("A", pieces, lambda *_: True).strands
    assert strand.finished == ((1, 2),) and not strand.is_one_piece


def test_one_that_stopped_later_than_its_neighbours_reach_stays_apart():
    assert joined(piece("a", (0, 1), (0, 50), (0, 1)), piece("b", (1, 2), (0, 20)))[0] == [
        ((0, 1), 50, ["a"]),
        ((1, 2), 20, ["b"]),
    ]


def test_what_does_not_fit_stays_apart_unless_it_is_together_already():
    few = lambda replicas, _: replicas <= 3  # noqa: E731
    assert len(joined(piece("a", (0, 2), (0, 50)), piece("b", (2, 4), (0, 50)), fits=few)[0]) == 2
    assert len(joined(piece("a", (0, 2), (0, 50)), piece("b", (2, 3), (0, 50)), fits=few)[0]) == 1
    large = piece("a", (0, 9), (0, 20)), piece("b", (0, 9), (20, 50), (3, 4))
    assert len(joined(*large, fits=few)[0]) == 1


def test_what_hangs_in_the_air_is_told():
    assert joined(piece("a", (0, 4), (0, 10)), piece("b", (0, 4), (20, 50))) == ([((0, 4), 10, ["a"])], ["b"])
    assert joined(piece("b", (0, 4), (20, 50))) == ([], ["b"])
