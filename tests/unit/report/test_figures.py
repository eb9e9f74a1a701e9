"""Every figure of every kind of sweep is drawn."""

import numpy as np
import pytest

from ssi_kernels.reduce import figure_names
from ssi_kernels.report import draw_figures
from ssi_kernels.report.recovery import draw_recovery
from ssi_kernels.report.scaling import draw_scaling

from .conftest import SWEEPS

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize("name", SWEEPS)
def test_every_figure_is_written_in_every_format(drawn, name):
    """Case 14 among them: one omega, one d; and sweeps in which nothing recovered."""
    sweep, files = drawn(name)
    assert tuple(files) == figure_names(sweep.analyses)
    heads = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    for paths in files.values():
        assert [path.suffix for path in paths] == list(heads)
        assert all(path.read_bytes().startswith(heads[path.suffix]) for path in paths)


def test_figures_repeat_to_the_byte(drawn, tmp_path):
    sweep, files = drawn("one point")
    again = draw_figures(sweep.recovery, sweep.trajectories, sweep.folder / "tables", tmp_path, sweep.analyses)
    for name, paths in again.items():
        for path, earlier in zip(paths, files[name], strict=True):
            assert path.read_bytes() == earlier.read_bytes(), path.name


def test_the_fitted_line_and_its_exponent_are_those_of_the_table(reduced):
    sweep = reduced("several a")
    scaling = sweep.tables["scaling"]
    figure = draw_scaling(sweep.tables["recovery"], scaling, ["d", "length", "omega", "a"])
    labels = figure.axes[0].get_legend_handles_labels()[1]
    first = scaling.iloc[0]
    assert any(f"$d^{{{first['slope']:.2f}}}$" in label for label in labels)
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 60]
    x, y = lines[0].get_data()
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), first["slope"], rtol=1e-6)


def test_medians_are_those_of_the_table(reduced):
    table = reduced("one point").tables["recovery"]
    figure = draw_recovery(table, ["d", "length", "omega", "a"])
    drawn_times = np.concatenate([line.get_ydata() for line in figure.axes[0].lines])
    assert table["median"].item() in drawn_times
