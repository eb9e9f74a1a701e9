"""Only what others hold as well can go, and never two segments that hold it for each other only."""

from __future__ import annotations

from pathlib import Path

from ssi_kernels.store.segments import Heading
from ssi_kernels.store.superseded import superseded


def headings(*rows):
    """(name, points, replicas, steps, finished of every point) as the headings of segments."""
    return {
        Path(name): Heading(tuple(points), replicas, steps, tuple(tuple(finished) for _ in points))
        for name, points, replicas, steps, finished in rows
    }


def gone(*rows, wanted=()):
    found = superseded(headings(*rows), {Path(name) for name in wanted})
    return {str(path): sorted(map(str, holders)) for path, holders in found.items()}


WHOLE = ("whole", "AB", (0, 4), (0, 50), ())


def test_a_part_of_another_goes():
    assert gone(WHOLE, ("part", "A", (0, 4), (10, 50), ()), ("other", "C", (0, 4), (0, 50), ())) == {"part": ["whole"]}


def test_several_can_hold_what_one_does():
    halves = [("low", "A", (0, 2), (0, 50), ()), ("high", "A", (2, 4), (0, 60), ())]
    assert gone(*halves, ("whole", "A", (0, 4), (0, 50), ()), wanted=["low", "high"]) == {"whole": ["high", "low"]}


def test_of_equal_ones_one_stays():
    assert gone(("one", "A", (0, 4), (0, 50), ()), ("two", "A", (0, 4), (0, 50), ())) == {"one": ["two"]}
    assert gone(("one", "A", (0, 4), (0, 50), ()), ("two", "A", (0, 4), (0, 50), ()), wanted=["one"]) == {
        "two": ["one"]
    }


def test_every_point_must_be_held():
    assert gone(WHOLE, ("more", "ABC", (0, 4), (0, 50), ()), wanted=["whole"]) == {}


def test_nothing_comes_after_a_stop():
    stopped = ("stopped", "A", (0, 4), (0, 20), [(0, 3)])
    assert gone(stopped, ("longer", "A", (0, 3), (0, 50), [(0, 3)]), wanted=["stopped"]) == {"longer": ["stopped"]}
    assert gone(stopped, ("longer", "A", (0, 4), (0, 50), [(0, 3)]), wanted=["stopped"]) == {}


def test_a_later_beginning_holds_no_earlier_steps():
    assert gone(("early", "A", (0, 4), (0, 50), ()), ("late", "A", (0, 4), (10, 90), ()), wanted=["late"]) == {}
