"""What a figure can show of a large sweep."""

import pandas as pd
import pytest

from ssi_kernels.reduce.subset import shares, spread_out
from ssi_kernels.report.choose import main_axis, representative


def test_spread_out_keeps_both_ends():
    assert spread_out(range(41), 5) == [0, 10, 20, 30, 40]
    assert spread_out([1, 2], 5) == [1, 2]


@pytest.mark.parametrize("sizes", [{"d": 2, "omega": 41}, {"d": 7, "sie": 3, "a": 13}, {"d": 1}, {}, {"d": 100}])
def test_shares_fit(sizes):
    product = 1
    for axis, count in shares(sizes, 12).items():
        assert 1 <= count <= sizes[axis]
        product *= count
    assert product <= 12


def test_representative_spreads_over_every_column():
    table = pd.MultiIndex.from_product([range(10), list("abc")], names=["d", "student"]).to_frame(index=False)
    shown = representative(table, ["d", "student"], 8)
    assert set(shown["student"]) == {"a", "c"}
    assert sorted(set(shown["d"])) == [0, 3, 6, 9]


def test_main_axis():
    table = pd.DataFrame({"d": [1, 2, 3], "length": [1, 1, 1], "omega": [0.1, 0.2, 0.1], "student": ["a", "b", "a"]})
    assert main_axis(table, ["d", "length", "omega", "student"]) == "omega"
    assert main_axis(table, ["d", "length", "student"]) == "d"
