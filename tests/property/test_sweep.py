"""Whatever the spelling and the order, one grid has one set of ids; and no unknown key is ever let through."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import Sweep, expand, parse_config, sections
from ssi_kernels.sweep.axis import read_axis, read_positive
from ssi_kernels.sweep.fields import Section
from ssi_kernels.sweep.pieces import StudentConfig, TargetConfig
from ssi_kernels.sweep.quantities import read_number

fractions = st.integers(0, 1000).map(lambda n: n / 1000)
dimensions = st.integers(3, 10**6)
rates = st.floats(1e-9, 1e3).map(lambda x: float(f"{x:.12g}"))
quick = settings(max_examples=60, deadline=None)


@st.composite
def grids(draw) -> dict:
    """Axes as sorted lists of distinct plain numbers."""
    return {
        "d": sorted(draw(st.sets(dimensions, min_size=1, max_size=3))),
        "length": [2],
        "omega": sorted(draw(st.sets(fractions, min_size=1, max_size=4))),
        "a": sorted(draw(st.sets(fractions.filter(bool), min_size=1, max_size=2))),
        "learning_rate": sorted(draw(st.sets(rates, min_size=1, max_size=2))),
    }


def spelled(draw, number: float):
    """The number as it is, as text, in scientific notation, off in the last bits, or as an integral float."""
    spellings = [number, str(number), f"{number:.12e}", f"({number!r})*1", float(number)]
    if isinstance(number, float) and number != 0:
        spellings.append(math.nextafter(number, 0))
    return draw(st.sampled_from(spellings))


def configuration(grid: dict) -> dict:
    model = {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "opposite-pair",
    }
    return {"sweeps": {"t": {"model": model, "grid": grid, "sgd": {"steps": 10}}}}


def points(grid: dict):
    return expand(parse_config(configuration(grid)).sweeps["t"])


@quick
@given(grids(), st.data())
def test_orders_and_spellings_of_one_grid_give_the_same_points(grid, data):
    """Cases 1, 10 and 12: order, repetition and spelling do not matter."""
    other = {}
    for axis in data.draw(st.permutations(list(grid))):
        values = [spelled(data.draw, value) for value in data.draw(st.permutations(grid[axis]))]
        repeated = [*values, data.draw(st.sampled_from(values))]
        other[axis] = repeated if len(values) > 1 or data.draw(st.booleans()) else values[0]
    one, same = points(grid), points(other)
    assert one.axes == same.axes
    assert [p.point_id for p in one.points] == [p.point_id for p in same.points]
    assert [p.coords for p in one.points] == [p.coords for p in same.points]
    assert one.fingerprint == same.fingerprint


@quick
@given(grids())
def test_points_of_a_grid_are_distinct(grid):
    """Case 9: one id and one coordinate for each combination."""
    found = points(grid)
    assert len(found.points) == math.prod(map(len, grid.values()))
    assert len({p.point_id for p in found.points}) == len({p.stream_id for p in found.points}) == len(found.points)
    assert len({tuple(p.coords.items()) for p in found.points}) == len(found.points)


@quick
@given(grids(), grids())
def test_different_grids_share_exactly_their_common_points(one, other):
    assume(one != other)
    first, second = points(one), points(other)
    addresses = [{p.point_id: p.coords for p in found.points} for found in (first, second)]
    common = addresses[0].keys() & addresses[1].keys()
    coordinates = [{tuple(c.items()) for c in found.values()} for found in addresses]
    assert len(common) == len(coordinates[0] & coordinates[1])
    assert all(addresses[0][key] == addresses[1][key] for key in common)
    assert first.fingerprint != second.fingerprint


PLACES: dict[tuple[str, ...], type[Section]] = {
    (): Sweep,
    ("model",): sections.ModelConfig,
    ("model", "target"): TargetConfig,
    ("model", "student"): StudentConfig,
    ("grid",): sections.GridConfig,
    ("sgd",): sections.SgdConfig,
    ("record",): sections.RecordConfig,
    ("recovery",): sections.RecoveryConfig,
}
KNOWN = sorted({key for section in PLACES.values() for key in section.model_fields})


@quick
@given(st.sampled_from(list(PLACES)), st.text(min_size=1, max_size=12) | st.sampled_from(KNOWN), st.integers())
def test_unknown_keys_are_always_refused(place, key, value):
    """Case 19: also keys that are valid elsewhere."""
    assume(key not in PLACES[place].model_fields)
    config = configuration({"d": 16, "length": 2, "omega": 0.5, "a": 1, "learning_rate": 0.1})
    section = config["sweeps"]["t"]
    section.update(record={"every": 1}, recovery={"decided": 0.7})
    for step in place:
        section = section[step]
    section[key] = value
    with pytest.raises(ConfigError, match="is not a key here") as caught:
        parse_config(config)
    assert caught.value.key == ".".join(["sweeps", "t", *place, key])


@quick
@given(rates, rates, st.integers(2, 50), st.sampled_from(["linear", "log"]))
def test_ranges_have_their_ends_and_are_increasing(start, stop, num, scale):
    assume(abs(start - stop) > 1e-6 * max(start, stop))
    values = read_axis({"start": start, "stop": stop, "num": num, "scale": scale}, read_positive)
    assert values[0] == min(start, stop) and values[-1] == max(start, stop)
    assert len(values) == num
    assert list(values) == sorted(values)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=30), st.text("0123456789.e+-*/()sqrtlogdLn _", max_size=20)))
def test_text_is_a_finite_number_or_refused(text):
    try:
        assert math.isfinite(read_number(text))
    except ConfigError as error:
        assert "\n" not in str(error)
