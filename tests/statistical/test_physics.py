"""What the default run must find: exponents, gain and transition, from config/quickstart.yaml with the real kernels.

Seeds are fixed. The bounds are many standard errors wide (stated at each), so that a false alarm of the streams that a
change of the package may bring is rarer than 1e-4; neighbouring laws (d log d for d, L^2 for L) lie far outside.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ssi_kernels as ssi
from ssi_kernels.execute.batch import run_task
from ssi_kernels.execute.packing import pack
from ssi_kernels.execute.request import place
from ssi_kernels.reduce import reduce_sweep
from ssi_kernels.store import consolidate, write_segment
from ssi_kernels.sweep import analyses, load_config

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
QUICKSTART = Path(__file__).parents[2] / "config" / "quickstart.yaml"


def tables(name, folder):
    """The tables of one sweep of the quickstart, run here."""
    placed = place(load_config(QUICKSTART), folder)[name]
    for task in pack(placed.missing(), workers=2):
        write_segment(placed.store, run_task(task))
    consolidate(placed.sweep, placed.grid, placed.store, placed.folder)
    datasets = (placed.folder / f"{kind}.zarr" for kind in ("recovery", "trajectories"))
    return reduce_sweep(*datasets, placed.folder / "tables", analyses(placed.sweep))


def test_recovery_scales_with_the_dimension(tmp_path):
    """SIE 1: slope 1 within 0.03 (12 standard errors). SIE 2: above 1 by the logarithm, below the 2 of SIE 3."""
    fits = tables("scaling", tmp_path)["scaling"].set_index("sie")
    one, two = fits.loc[1], fits.loc[2]
    assert abs(one.slope - 1) < 0.03
    assert one.slope_low < one.slope < one.slope_high < one.slope_low + 0.03
    assert 1.1 < two.slope_low < two.slope_high < 1.3
    assert (fits[["diverged", "missing", "failed"]] == 0).all(axis=None)


def test_the_gain_is_the_length(tmp_path):
    """SIE 1, equal rates: log gain against log L has slope 1 within 0.1 (12 standard errors)."""
    fit = tables("gain", tmp_path)["gain_fit"].iloc[0]
    assert fit.protocol == "equal"
    assert abs(fit.exponent - 1) < 0.1
    assert fit.exponent_low < fit.exponent < fit.exponent_high < fit.exponent_low + 0.1


def test_the_dynamics_turn_near_0_64(tmp_path):
    """d = 1000: half of the runs end semantic at an omega between 0.60 and 0.70 (4 standard errors to either side)."""
    found = tables("transition", tmp_path)["transition"].set_index("d")
    assert 0.60 < found.omega_low[1000] < found.omega_half[1000] < found.omega_high[1000] < 0.70
    assert found.width[1000] < found.width[100]
    assert (found.undecided == 0).all()


COUNTS = {  # of 4,096 runs that end semantic: physics, section 9, from an independent implementation
    1000: {0.50: 4096, 0.60: 3761, 0.64: 2441, 0.68: 833, 0.76: 18},
    100: {0.50: 4096, 0.60: 3638, 0.64: 2455, 0.68: 1179, 0.76: 50},
}
RUNS = 4096


@cache
def semantic(d, omega):
    model = ssi.Model(
        ssi.targets.positional_semantic(omega, 1.0), ssi.students.attention(), ssi.encodings.opposite_pair()
    )
    steps = {100: 100_000, 1000: 500_000}[d]
    run = ssi.simulate(model, d=d, length=2, learning_rate=0.3, steps=steps, replicas=RUNS, start={"m": 0.0, "e": 0.0})
    # Every run is decided; at d = 100 one in a thousand is seen on its way from the positional end to the semantic one.
    assert np.isin(run.end, (1, 2)).mean() > 0.998
    return int((run.end == 1).sum())


@pytest.mark.timeout(1800)
def test_ends_against_checked_counts():
    """Fisher's exact test of every count at 1e-4; the same counts one omega further must be refused."""
    for d, checked in COUNTS.items():
        found = {omega: semantic(d, omega) for omega in checked}
        for omega, count in checked.items():
            assert fisher(found[omega], count) > 1e-4, (d, omega, found[omega])
        assert fisher(found[0.60], checked[0.64]) < 1e-4
        assert fisher(found[0.64], checked[0.68]) < 1e-4


def fisher(found, checked):
    return stats.fisher_exact([[found, RUNS - found], [checked, RUNS - checked]]).pvalue


def test_the_transition_is_sharper_at_the_larger_dimension():
    """From 0.60 to 0.68 the semantic fraction falls further at d = 1000: one-sided z > 3.7 (1e-4)."""
    fall = {d: np.array([semantic(d, omega) for omega in (0.60, 0.68)]) / RUNS for d in (100, 1000)}
    difference = -np.diff(fall[1000])[0] + np.diff(fall[100])[0]
    error = np.sqrt(sum(p * (1 - p) / RUNS for d in fall for p in fall[d]))
    assert difference / error > 3.7
