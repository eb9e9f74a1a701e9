"""Which analyses a sweep calls for."""

from ssi_kernels.sweep import analyses

from .example import STUDENTS, TIED, sweep_of


def test_analyses():
    assert analyses(sweep_of()) == ("recovery", "scaling", "phase")
    assert analyses(sweep_of(TIED)) == ("recovery", "scaling")
    assert analyses(sweep_of(STUDENTS)) == ("recovery", "scaling", "gain")
