"""Axes, coordinates, and blocks."""

import dataclasses

import numpy as np
import pytest

from ssi_kernels.errors import StoreError
from ssi_kernels.store import layout
from ssi_kernels.store.layout import layout_of

from .fabricate import make_sweep


def test_coordinates_have_the_promised_types():
    grid = make_sweep(
        grid={"omega": [0, 0.1, 1], "student": [ATTENTION, {**ATTENTION, "name": "z"}]}, model=NO_STUDENT
    )[1]
    found = layout_of(grid).coordinates()
    assert list(found) == ["d", "length", "omega", "a", "student", "replica"]
    assert [found[k].dtype for k in ("d", "length", "omega", "a", "replica")] == ["i8", "i8", "f8", "f8", "i8"]
    assert found["student"].tolist() == ["attention", "z"]


def test_floats_are_rounded_to_12_digits():
    """Case 10."""
    grid = make_sweep(grid={"omega": [0.1, 0.30000000000000004]})[1]
    assert layout_of(grid).coordinates()["omega"].tolist() == [0.1, 0.3]


def test_steps_are_those_that_some_point_records():
    grid = make_sweep(sgd={"steps": {"coefficient": 1, "d": 1}}, record={"every": 7})[1]
    assert layout_of(grid).steps.tolist() == [0, 7, 14, 21, 28]


def test_ranks_and_positions():
    grid = make_sweep()[1]
    assert (layout_of(grid).components, layout_of(grid).positions) == (1, 0)
    grid = make_sweep(grid={**HERMITE, "length": [2, 3]}, model=UNTIED)[1]
    assert (layout_of(grid).components, layout_of(grid).positions) == (0, 3)


def test_a_block_is_one_d_and_one_length():
    grid = make_sweep(grid={"d": [16, 32, 64]})[1]
    blocks = list(layout_of(grid).blocks())
    assert [b.shape for b in blocks] == [(1, 1, 2, 1)] * 3
    assert [{p.d for p in b.points} for b in blocks] == [{16}, {32}, {64}]
    assert [b.slices[0] for b in blocks] == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_large_blocks_are_halved_until_they_fit(monkeypatch):
    grid = make_sweep(grid={"d": 16, "omega": {"start": 0, "stop": 1, "num": 7}, "a": [0.5, 1.0]})[1]
    whole = layout_of(grid)
    per_point = whole.replicas * len(whole.steps) * 4
    monkeypatch.setattr(layout, "BLOCK_BYTES", 4 * per_point)
    cut = layout_of(grid)
    assert cut.block_shape == (1, 1, 2, 2)
    blocks = list(cut.blocks())
    assert sum(len(b.points) for b in blocks) == 14
    assert [b.shape for b in blocks] == [(1, 1, 2, 2)] * 3 + [(1, 1, 1, 2)]
    for block in blocks:
        for point, place in zip(block.points, block.places, strict=True):
            index = [s.start + i for s, i in zip(block.slices, place, strict=True)]
            assert [v[i] for v, i in zip(grid.axes.values(), index, strict=True)] == list(point.coords.values())


def test_one_point_is_never_cut(monkeypatch):
    monkeypatch.setattr(layout, "BLOCK_BYTES", 1)
    assert layout_of(make_sweep()[1]).block_shape == (1, 1, 1, 1)


def test_dtypes_are_never_mixed():
    """Case 24."""
    grid = make_sweep()[1]
    mixed = dataclasses.replace(grid, points=(dataclasses.replace(grid.points[0], dtype="float64"), *grid.points[1:]))
    with pytest.raises(StoreError, match="one dtype, not of float32 and float64"):
        layout_of(mixed)


def test_thresholds_are_numbers_or_text():
    grid = make_sweep(recovery={"threshold": [0.5, 0.2]})[1]
    np.testing.assert_array_equal(layout_of(grid).threshold_coordinate(), [0.2, 0.5])
    grid = make_sweep(recovery={"threshold": [0.2, "1/sqrt(d)"]})[1]
    assert layout_of(grid).threshold_coordinate().tolist() == ["0.2", "1/sqrt(d)"]


ATTENTION = {"name": "attention", "kind": "attention", "reduction": "identity"}
NO_STUDENT = {"student": None}
HERMITE = {"omega": None, "a": None, "sie": 2}
UNTIED = {
    "target": {"family": "hermite"},
    "student": {"kind": "untied", "activation": "He2", "norm": "joint"},
    "encoding": "none",
}
