"""Fractions of ends, and the omega at which half of the runs end semantic."""

import numpy as np
import pytest
from scipy.special import expit

from ssi_kernels.errors import End
from ssi_kernels.reduce.binomial import crossing, fraction
from ssi_kernels.reduce.tables import make_tables

from .synthetic import synthetic, verified

OMEGAS = [0.5, 0.6, 0.7, 0.8, 0.9]


def phases(draw, axes=None, **options):
    tables = make_tables(*verified(synthetic(axes or {"omega": OMEGAS, "a": [1.0]}, draw, **options)), ["phase"])
    return tables["phase"], tables["transition"]


def ends(semantic, undecided=0, diverged=0):
    """A draw with these numbers of ends among 16 runs; the rest end positional. `semantic` by omega."""

    def draw(coords, rng):
        end, time = np.full(16, End.POSITIONAL), np.full(16, 5.0)
        end[: semantic(coords)] = End.SEMANTIC
        if undecided:
            end[-undecided:] = End.UNDECIDED
        if diverged:
            time[:diverged] = np.nan
        return {"time": time, "end": end}

    return draw


def test_counts_and_fractions():
    table, _ = phases(ends(lambda c: 8, undecided=2, diverged=1))
    row = table.iloc[0]
    assert (row["semantic"], row["positional"], row["undecided"], row["diverged"], row["missing"]) == (7, 6, 2, 1, 0)
    assert row["runs"] == 15
    assert row["semantic_fraction"] == 7 / 15
    assert row["semantic_low"] < 7 / 15 < row["semantic_high"]


def test_a_transition():
    semantic = {0.5: 16, 0.6: 14, 0.7: 9, 0.8: 3, 0.9: 0}
    _, table = phases(ends(lambda c: semantic[c["omega"]]))
    row = table.iloc[0]
    assert row["omega_low"] < row["omega_half"] < row["omega_high"]
    assert row["omega_half"] == pytest.approx(0.715, abs=0.02)
    assert 0.1 < row["width_low"] < row["width"] < row["width_high"] < 0.5


def test_a_step_between_two_neighbouring_omegas():
    _, table = phases(ends(lambda c: 16 if c["omega"] < 0.75 else 0))
    row = table.iloc[0]
    assert (row["omega_low"], row["omega_high"]) == (0.7, 0.8)
    assert row["omega_half"] == pytest.approx(0.75)
    assert np.isnan(row["width"])
    assert row["width_low"] == 0
    assert 0 < row["width_high"] < 0.2
    assert row["reason"].startswith("a step")


def test_undecided_runs_do_not_move_the_transition():
    """Half of the decided runs, not of all."""
    _, table = phases(ends(lambda c: 16 if c["omega"] < 0.75 else 0, undecided=9))
    assert table["omega_half"].item() == pytest.approx(0.75)
    assert table["undecided"].item() == 45


@pytest.mark.parametrize(
    ("semantic", "reason"),
    [
        (lambda c: 16, "undefined: all decided runs end semantic"),
        (lambda c: 0, "undefined: no decided run ends semantic"),
        (lambda c: 16 if c["omega"] < 0.65 else 14, "undefined: the fraction does not cross one half within"),
    ],
)
def test_no_transition(semantic, reason):
    _, table = phases(ends(semantic))
    assert table[["omega_half", "omega_low", "width"]].isna().all(axis=None)
    assert table["reason"].item().startswith(reason)


def test_one_point():
    """Case 14: one omega, one d, one replica: the axes stay, the transition is undefined and says why."""

    def draw(coords, rng):
        return {"time": [5.0], "end": [End.SEMANTIC]}

    table, transition = phases(draw, {"omega": [0.3], "a": [1.0]}, replicas=1)
    assert table["omega"].tolist() == [0.3]
    assert transition["reason"].item() == "undefined: one value of omega"


def test_no_decided_runs():
    _, table = phases(ends(lambda c: 0, undecided=16))
    assert table["reason"].item() == "undefined: no decided runs"


def test_one_row_for_every_series():
    axes = {"d": [10, 20], "omega": OMEGAS, "a": [0.8, 1.0]}
    _, table = phases(ends(lambda c: 16 if c["omega"] < 0.75 else 0), axes)
    assert table[["d", "a"]].values.tolist() == [[10, 0.8], [10, 1.0], [20, 0.8], [20, 1.0]]


def test_a_sharper_change_has_a_smaller_width():
    x, trials = np.linspace(0.4, 0.9, 21), np.full(21, 200)
    wide, narrow = (
        crossing(x, np.random.default_rng(0).binomial(200, expit((0.64 - x) / s)), trials) for s in (0.05, 0.02)
    )
    assert narrow.width[2] < wide.width[1]


def test_a_curve_that_is_not_logistic_widens_the_interval():
    """The measured fractions of physics.md, section 9 (d = 1000): 4,096 runs a point resolve the shape of the curve."""
    x, semantic = np.array([0.50, 0.60, 0.64, 0.68, 0.76]), np.array([4096, 3761, 2441, 833, 18])
    found = crossing(x, semantic, np.full(5, 4096))
    assert found.dispersion > 3
    assert found.half[1] < 0.6489 < found.half[2]


def test_a_fraction_that_rises():
    found = crossing(np.array([0.1, 0.2, 0.3]), np.array([1, 8, 15]), np.full(3, 16))
    assert found.half[0] == pytest.approx(0.2, abs=1e-3)


def test_the_scale_of_the_axis_does_not_matter():
    successes, trials = np.array([16, 14, 6, 1]), np.full(4, 16)
    one, other = (crossing(scale * np.arange(1.0, 5.0), successes, trials) for scale in (1.0, 1e-3))
    np.testing.assert_allclose(np.array(other.half) * 1e3, one.half, rtol=1e-4)
    np.testing.assert_allclose(np.array(other.width) * 1e3, one.width, rtol=1e-3)


def test_fraction_without_trials():
    assert np.isnan(fraction(0, 0)).all()


def test_what_happens_far_away_does_not_move_the_transition():
    """An omega at which runs do something else is seen in its fraction, not in the crossing."""
    x, trials = np.linspace(0, 1, 21), np.full(21, 32)
    semantic = np.random.default_rng(1).binomial(trials, expit((0.64 - x) / 0.03))
    usual = crossing(x, semantic, trials)
    strange = crossing(x, np.where(x == 0, 20, semantic), trials)
    assert strange == usual
    assert usual.fitted < x.size


@pytest.mark.parametrize("successes", [[0, 0, 1, 0], [16, 0, 0, 16], [0, 16, 16, 0], [1, 0, 0, 0], [16, 16, 16, 15]])
def test_odd_shapes_do_not_crash(successes):
    found = crossing(np.arange(4.0), np.array(successes), np.full(4, 16))
    assert np.isnan(found.half[0]) == bool(found.reason.startswith("undefined"))
