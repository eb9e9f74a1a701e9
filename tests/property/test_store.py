"""Properties of the store: any pieces join, any damage is noticed, and doing what is missing completes."""

import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from store.fabricate import built, fabricate, make_sweep, store_whole

from ssi_kernels.store import Piece, SegmentIndex, UnreadableSegment, missing, read_segment, write_segment
from ssi_kernels.store.archive import Archive, encode
from ssi_kernels.store.coverage import FINISHED, cover

REPLICAS, HORIZON = 4, 12
SWEEP, GRID = make_sweep(grid={"d": 16}, sgd={"steps": 60, "replicas": REPLICAS})


def ranges(top):
    return st.tuples(st.integers(0, top), st.integers(0, top)).map(sorted).map(tuple)


@st.composite
def pieces(draw):
    replicas = draw(ranges(REPLICAS + 2).filter(lambda r: r[0] < r[1]))
    first = draw(st.integers(replicas[0], replicas[1]))
    finished = ((first, replicas[1]),) if first < replicas[1] and draw(st.booleans()) else ()
    return Piece(Path("a"), 0, replicas, draw(ranges(HORIZON + 3)), finished)


@given(st.lists(pieces(), max_size=6), st.randoms())
def test_cover_is_the_union_of_its_pieces(found, random):
    coverage = cover(found, REPLICAS, HORIZON)
    for replica in range(REPLICAS):
        of_replica = [p for p in found if p.replicas[0] <= replica < p.replicas[1]]
        steps = {t for p in of_replica for t in range(p.steps[0] + (p.steps[0] > 0), p.steps[1] + 1)}
        reach = next(t for t in range(HORIZON + 10) if t not in steps) - 1
        if coverage.reach[replica] == FINISHED:
            assert any(lo <= replica < hi for p in of_replica for lo, hi in p.finished)
        else:
            assert min(coverage.reach[replica], HORIZON) == min(reach, HORIZON)
        if (source := coverage.source[replica]) >= 0 and coverage.reach[replica] != FINISHED:
            assert coverage.pieces[source].steps[1] >= min(coverage.reach[replica], HORIZON)
    random.shuffle(found)
    np.testing.assert_array_equal(cover(found, REPLICAS, HORIZON).reach, coverage.reach)


@lru_cache(maxsize=1)
def uninterrupted():
    """The datasets of a sweep that ran through at once."""
    with tempfile.TemporaryDirectory() as folder:
        store_whole(Path(folder) / "store", GRID)
        return built(Path(folder), SWEEP, GRID)[:2]


work = st.tuples(
    st.sampled_from(range(len(GRID.points))),
    ranges(REPLICAS + 1).filter(lambda r: r[0] < r[1]),
    st.sampled_from([(0, 7), (7, 30), (7, 60), (0, 60), (30, 90), (0, 3)]),
)


@given(st.lists(work, max_size=8))
@settings(max_examples=12, deadline=None)
def test_doing_what_is_missing_completes_the_sweep_to_the_bit(done):
    """Cases 2 and 4: whatever is there, the rest is asked for, and the result equals an uninterrupted run."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for point, replicas, steps in done:
            write_segment(root / "store", fabricate([GRID.points[point]], replicas, steps))
        index = SegmentIndex(root / "store")
        index.refresh()
        for lacking in missing(GRID.points, index):
            if lacking.resume is None:
                assert lacking.steps[0] == 0
            else:
                held = read_segment(lacking.resume)
                assert held.steps[1] == lacking.steps[0]
                assert held.replicas[0] <= lacking.replicas[0] and lacking.replicas[1] <= held.replicas[1]
            write_segment(root / "store", fabricate([lacking.point], lacking.replicas, lacking.steps))
        index.refresh()
        assert missing(GRID.points, index) == []
        for found, expected in zip(built(root, SWEEP, GRID)[:2], uninterrupted(), strict=True):
            xr.testing.assert_identical(found, expected)


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_no_damage_passes_for_data(data):
    """Case 5: a segment with changed bytes is refused, or what it holds is unchanged."""
    segment = fabricate(GRID.points[:1], (0, 2), (0, 60), diverged={1: 9})
    with tempfile.TemporaryDirectory() as folder:
        path = write_segment(folder, segment)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        try:
            found = read_segment(path)
        except UnreadableSegment:
            return
        assert found.points == segment.points
        assert found.arrays.keys() == segment.arrays.keys()
        for name, array in segment.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array)


numbers = st.one_of(arrays.floating_dtypes(), arrays.integer_dtypes(), arrays.unsigned_integer_dtypes())


@given(arrays.arrays(numbers, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
@settings(deadline=None)
def test_every_array_comes_back(array):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.zarr.zip"
        path.write_bytes(encode({"x": array}, {"x": tuple(f"x_{i}" for i in range(array.ndim))}, {}))
        with Archive(path) as archive:
            found = archive.array("x")
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("<")
    np.testing.assert_array_equal(found, array)
