"""Theory over measurement: lines in figures, sentences, and the box of warnings."""

import numpy as np
import pandas as pd
import pytest
from reduce.theory_examples import PHASE, diagram, readable

from ssi_kernels.reduce.phase_theory import BOUNDARIES, boundary_table
from ssi_kernels.report.gain import draw_gain
from ssi_kernels.report.headline import headlines
from ssi_kernels.report.labels import power_html, power_math
from ssi_kernels.report.phase import draw_phase
from ssi_kernels.report.scaling import draw_scaling
from ssi_kernels.report.trajectories import draw_trajectories
from ssi_kernels.report.warnings import theory_warnings

pytestmark = pytest.mark.filterwarnings("error")


def labels(figure):
    return [label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]]


def dashed(axes):
    return [line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) > 1]


def test_the_flow_is_dashed_over_the_bands():
    recovery, trajectories = readable(PHASE)
    rows = [
        {"d": 64, "length": 2, "omega": omega, "a": a, "step": step, "m": 0.1 * omega, "e": np.nan}
        for omega in (0.5, 0.7)
        for a in (0.9, 1.0)
        for step in (0.0, 1.0, 10.0)
    ]
    figure = draw_trajectories(recovery, trajectories, pd.DataFrame(rows))
    assert "gradient flow" in labels(figure)
    drawn = [axes for axes in figure.axes if axes.axison]
    for axes, level in zip(drawn, (0.05, 0.05, 0.07, 0.07), strict=True):
        (line,) = dashed(axes)
        np.testing.assert_allclose(line.get_ydata(), level)


def test_without_a_flow_there_is_no_label():
    recovery, trajectories = readable(PHASE)
    rows = [{"d": 64, "length": 2, "omega": 0.5, "a": 1.0, "step": np.nan, "m": np.nan, "e": np.nan}]
    assert "gradient flow" not in labels(draw_trajectories(recovery, trajectories, pd.DataFrame(rows)))


def boundaries(**more):
    return boundary_table(diagram()).assign(loss="squared", reason="", **more)


@pytest.mark.parametrize(("name", "lines"), [("one point", 2), ("several a", 3), ("everything", 2)])
def test_boundaries_over_the_fractions(reduced, name, lines):
    """At a = 1 three of them exist; curves over (omega, a) are those that exist anywhere."""
    tables = reduced(name).tables
    axes = [axis for axis in ("d", "length", "omega", "a", "student") if axis in tables["phase"]]
    figure = draw_phase(tables["phase"], tables["transition"], boundaries(), axes)
    told = {label for label in labels(figure) if label.startswith("theory, squared loss: ")}
    assert len(told) == 3
    assert not any("disappears" in label for label in told)


def test_without_boundaries_there_are_no_lines(reduced):
    tables = reduced("one point").tables
    none = pd.DataFrame(columns=["length", "a", *BOUNDARIES, "loss", "reason"])
    figure = draw_phase(tables["phase"], tables["transition"], none, ["d", "length", "omega", "a"])
    assert not any("theory" in label for label in labels(figure))


def test_a_predicted_exponent_stands_beside_the_fitted_one(reduced):
    tables = reduced("several a").tables
    scaling = tables["scaling"].assign(predicted_slope=1.0, predicted_law="d log d")
    figure = draw_scaling(tables["recovery"], scaling, ["d", "length", "omega", "a"])
    assert any(r"theory $d\,\log d$" in label for label in labels(figure))
    x, y = dashed(figure.axes[0])[0].get_data()
    np.testing.assert_allclose(y / (x * np.log(x)), (y / (x * np.log(x)))[0])
    sentences = " ".join(headlines({"scaling": scaling.head(2)}))
    assert sentences.count("Theory: d log d.") == 2


def test_a_predicted_gain_is_drawn_and_told(reduced):
    tables = reduced("odd names").tables
    gain = tables["gain"].assign(predicted_gain=[2.0, 8.0])
    fits = tables["gain_fit"].assign(predicted_exponent=1.0)
    figure = draw_gain(gain, fits, ["d", "length", "student"])
    assert "gradient flow at the same rates" in labels(figure)
    assert any(list(line.get_ydata()) == [2.0, 8.0] for line in figure.axes[0].lines)
    assert "Theory at the same rates: L<sup>1</sup>." in headlines({"gain_fit": fits})[0]


def test_boundaries_are_told():
    sentences = headlines({"theory_boundaries": boundaries()})
    assert len(sentences) == 2
    assert "Theory, squared loss, a = 1: first direction turns positional at ω = 0.6" in sentences[1]
    assert "disappears" not in " ".join(sentences)


def test_laws():
    assert (power_html("d^1.5 log d"), power_html("d")) == ("d<sup>1.5</sup> log d", "d")
    assert (power_math("d^1.5 log d"), power_math("d")) == (r"$d^{1.5}\,\log d$", "$d$")


def points(**columns):
    table = {
        "d": [64, 64, 256, 256],
        "sie": [1, 3, 1, 3],
        "learning_rate": 0.1,
        "verdict": "learns",
        "why": "",
        "remedy": "",
        "noise_bound": 1.0,
        "noise_dominated": 0.0,
    }
    return pd.DataFrame({**table, **columns})


def test_nothing_to_warn_of():
    assert theory_warnings(points(), ["d", "sie"]) == []


def test_blind_points_are_told_with_a_remedy():
    verdict = ["learns", "blind"] * 2
    (sentence,) = theory_warnings(points(verdict=verdict, why="no <He3>", remedy="use h3"), ["d", "sie"])
    assert sentence.startswith("<b>2 of 4 points (SIE = 3)</b>: blind: no &lt;He3&gt;.")
    assert "What would help: use h3." in sentence


def test_shrinking_points_and_rates_that_are_too_large():
    table = points(verdict="shrinks", why="wrong sign", noise_bound=0.04, noise_dominated=[1.0, 0.0, 1.0, 0.0])
    shrinking, noisy = theory_warnings(table, ["d", "sie"])
    assert shrinking.startswith("<b>4 of 4 points</b>: shrinking: wrong sign.")
    assert "2 of 4 points (SIE = 1)" in noisy and "2.5 times the largest useful one" in noisy


def test_the_box_is_on_top_of_the_page(drawn, tmp_path, monkeypatch):
    from ssi_kernels.report import page

    sweep, _ = drawn("one point")
    folders = sweep.folder / "tables", sweep.folder / "figures"

    def text():
        return page.write_report("x", sweep.recovery, *folders, sweep.analyses, tmp_path / "x.html").read_text()

    assert "Theory warns" not in text()
    monkeypatch.setattr(page, "theory_warnings", lambda points, axes: ["be warned"])
    assert text().index("be warned") < text().index("half of the decided runs")
