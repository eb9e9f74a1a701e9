"""Sweeps from the synthetic datasets of the reduction's tests, reduced once for all tests."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).parents[1]))

from reduce.synthetic import synthetic, write

from ssi_kernels.errors import End
from ssi_kernels.reduce import reduce_sweep

ODD_NAME = "tied <i>&</i> $\\alpha"


def draw(coords, rng):
    factor = coords["length"] if coords.get("student") == "untied" else 1
    time = np.ceil(coords["d"] * factor * np.exp(0.3 * rng.normal(size=16)))
    semantic = rng.uniform(size=16) < expit((0.6 - coords.get("omega", 0.0)) / 0.1)
    return {"time": np.where(time <= 2000, time, np.inf), "end": np.where(semantic, End.SEMANTIC, End.POSITIONAL)}


def never(coords, rng):
    return {"time": np.full(16, np.inf)}


def lost(coords, rng):
    return {"time": np.full(16, np.nan)}


OMEGAS, ALL = [0.2, 0.5, 0.6, 0.7, 1.0], ("recovery", "scaling", "gain", "phase")
SWEEPS = {
    "everything": (
        {"d": [64, 256], "length": [2, 8], "omega": OMEGAS, "a": [1.0], "student": ["tied", "untied"]},
        draw,
        ALL,
    ),
    "several a": ({"d": [64, 256], "omega": OMEGAS, "a": [0.8, 1.0]}, draw, ("recovery", "scaling", "phase")),
    "one point": ({"omega": [0.3], "a": [1.0]}, draw, ("recovery", "scaling", "phase")),
    "censored": ({"d": [64, 256], "omega": [0.3], "a": [1.0], "student": ["tied", "untied"]}, never, ALL),
    "diverged": ({"omega": [0.3], "a": [1.0], "student": ["tied", "untied"]}, lost, ALL),
    "odd names": ({"length": [2, 8], "student": [ODD_NAME, "untied"]}, draw, ("recovery", "scaling", "gain")),
}


class Reduced:
    """Paths of one reduced sweep, and its tables."""

    def __init__(self, folder, axes, draw, analyses):
        self.folder, self.analyses = folder, analyses
        self.recovery, self.trajectories = write(synthetic(axes, draw, horizon=2000), folder)
        self.tables = reduce_sweep(self.recovery, self.trajectories, folder / "tables", analyses)


@pytest.fixture(scope="session")
def reduced(tmp_path_factory):
    """name -> Reduced, made when first asked for."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = Reduced(tmp_path_factory.mktemp(name.replace(" ", "-")), *SWEEPS[name])
        return made[name]

    return get


@pytest.fixture(scope="session")
def drawn(reduced):
    """name -> (Reduced, files by figure), made when first asked for."""
    from ssi_kernels.report import draw_figures

    made = {}

    def get(name):
        if name not in made:
            sweep = reduced(name)
            files = draw_figures(
                sweep.recovery, sweep.trajectories, sweep.folder / "tables", sweep.folder / "figures", sweep.analyses
            )
            made[name] = sweep, files
        return made[name]

    return get
