"""Case 22: points have independent noise; common random numbers only as far as they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.batch import run_task
from ssi_kernels.execute.tasks import Task
from ssi_kernels.sweep import expand, parse_config

AXES = {"d": [20, 40], "length": 2, "omega": [0.1, 0.5], "a": [1.0, 2.0], "learning_rate": [0.05, 0.1]}


def points(common=(), grid=None, **sgd):
    sweep = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "alternating",
        },
        "grid": AXES if grid is None else grid,
        "sgd": {"steps": 30, "replicas": 2, "common_random_numbers": list(common), **sgd},
    }
    return expand(parse_config({"sweeps": {"s": sweep}}).sweeps["s"]).points


def streams(found, *without):
    """Streams by the coordinates that are left when some axes are taken away."""
    groups = {}
    for point in found:
        key = tuple((axis, value) for axis, value in point.coords.items() if axis not in without)
        groups.setdefault(key, set()).add(point.stream_id)
    return groups


def test_without_the_option_nothing_is_shared():
    found = points()
    assert len({point.stream_id for point in found}) == len(found)
    assert [p.point_id for p in found] == [p.point_id for p in points(common=[])]


@pytest.mark.parametrize(
    "common", [["omega"], ["d"], ["learning_rate"], ["omega", "a"], ["d", "omega", "a", "learning_rate"]]
)
def test_streams_are_shared_along_these_axes_and_no_others(common):
    found = points(common)
    groups = streams(found, *common)
    assert all(len(group) == 1 for group in groups.values())
    assert len(set.union(*groups.values())) == len(groups)
    assert len({point.point_id for point in found}) == len(found), "every point keeps an address of its own"
    assert not {p.point_id for p in found} & {p.point_id for p in points()}, "other numbers, another address"
    assert found[0].canonical()["common_random_numbers"] == sorted(common)


def test_a_rate_and_a_start_by_a_rule_do_not_stand_in_the_way():
    """A learning rate that follows d, or a start of 1/sqrt(d), is not a choice of its own."""
    grid = {"d": [20, 40], "length": 2, "omega": 0.1, "a": 1.0}
    rule = {"learning_rate": {"coefficient": 1.0, "d": -1}, "start": {"m": "1/sqrt(d)", "e": 0.0}}
    assert len({point.stream_id for point in points(["d"], grid, **rule)}) == 1


def test_the_spelling_does_not_matter():
    ids = [[p.point_id for p in points(common)] for common in (["a", "omega"], ["omega", "a"], ["omega", "a", "omega"])]
    assert ids[0] == ids[1] == ids[2]


def test_pieces_of_the_model():
    students = [{"name": "tied", "kind": "tied"}, {"name": "untied", "kind": "untied"}]
    sweep = {
        "model": {"target": {"family": "hermite"}},
        "grid": {"d": 20, "length": 2, "sie": [1, 2], "student": students},
        "sgd": {"learning_rate": 0.1, "steps": 30, "common_random_numbers": ["student"]},
    }
    found = expand(parse_config({"sweeps": {"s": sweep}}).sweeps["s"]).points
    assert len({p.stream_id for p in found}) == 2
    sweep["sgd"]["common_random_numbers"] = ["student", "sie"]
    assert len({p.stream_id for p in expand(parse_config({"sweeps": {"s": sweep}}).sweeps["s"]).points}) == 1


def of_targets(targets, common, **grid):
    """Streams of a sweep over hermite targets, by (target, sie)."""
    sweep = {
        "model": {"student": {"kind": "tied"}},
        "grid": {"d": 20, "length": 2, "sie": [1, 2], "target": targets, **grid},
        "sgd": {"learning_rate": 0.1, "steps": 30, "common_random_numbers": common},
    }
    found = expand(parse_config({"sweeps": {"s": sweep}}).sweeps["s"]).points
    return {(p.coords["target"], p.coords["sie"]): p.stream_id for p in found}


def test_sharing_over_targets_is_not_sharing_over_exponents():
    two = [{"name": name, "family": "hermite"} for name in ("a", "b")]
    found = of_targets(two, ["target"])
    assert found["a", 1] == found["b", 1] != found["a", 2] == found["b", 2]
    assert len(set(of_targets(two, ["target", "sie"]).values())) == 1


def test_a_target_that_follows_the_encoding_shares_with_it():
    encodings = ["opposite-pair", {"name": "other", "pattern": [[1], [0.5]]}]
    sweep = {
        "model": {"target": {"family": "positional-semantic"}, "student": {"kind": "attention"}},
        "grid": {"d": 20, "length": 2, "omega": 0.5, "a": 1.0, "encoding": encodings},
        "sgd": {"learning_rate": 0.1, "steps": 30, "common_random_numbers": ["encoding"]},
    }
    found = expand(parse_config({"sweeps": {"s": sweep}}).sweeps["s"]).points
    assert len({p.stream_id for p in found}) == 1 and len({p.point_id for p in found}) == 2


def test_another_rate_or_start_is_another_stream():
    """What does not follow a shared axis seeds the streams as ever."""
    grid = {"d": 20, "length": 2, "omega": [0.1, 0.5], "a": 1.0}
    variants = [{}, {"learning_rate": 0.2}, {"start": {"m": 0.1, "e": 0.0}}]
    found = [points(["omega"], grid, **{"learning_rate": 0.1, **variant})[0].stream_id for variant in variants]
    assert len(set(found)) == 3


@pytest.mark.parametrize(
    "common, words",
    [
        (["length"], "sequences of another length draw other numbers"),
        (["omga"], "the nearest is omega"),
        (["student"], "is not an axis of the grid, which has d, omega, a, learning_rate"),
        (3, "must be a list of axes"),
    ],
)
def test_refusals(common, words):
    with pytest.raises(ConfigError, match=words) as refused:
        parse_config(
            {
                "sweeps": {
                    "s": {
                        "model": {"target": {"family": "positional-semantic"}, "student": {"kind": "attention"}},
                        "grid": AXES,
                        "sgd": {"steps": 3, "common_random_numbers": common},
                    }
                }
            }
        )
    assert refused.value.key == "sweeps.s.sgd.common_random_numbers"


def test_replicas_share_the_noise_and_only_the_noise():
    """At a tiny rate the first steps are linear in it: rates one apart by a factor of 2 move by a factor of 2."""
    grid = {**AXES, "d": 20, "omega": 0.5, "a": 1.0, "learning_rate": [1e-5, 2e-5]}
    changes = {}
    for common in ([], ["learning_rate"]):
        found = points(common, grid, start={"m": 0.3, "e": 0.0}, dtype="float64")
        m = np.stack([run_task(Task((point,), (0, 2), (0, 30))).arrays["m"][0] for point in found])
        changes[bool(common)] = m[:, :, -1] - m[:, :, 0]
    np.testing.assert_allclose(changes[True][1], 2 * changes[True][0], rtol=1e-3)
    assert not np.allclose(changes[False][1], 2 * changes[False][0], rtol=0.1)
    assert abs(changes[True][0][0] - changes[True][0][1]) > 1e-7, "replicas stay independent"
