"""float32 against float64 on the same streams, where rounding would add up: gamma/d = 5e-7 over two million steps."""

import numpy as np
import pytest

import ssi_kernels as ssi
from ssi_kernels.kernels import reduced
from ssi_kernels.kernels.program import program

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
LANES, STEPS, D = 64, 2_000_000, 1000
MODEL = ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), ssi.encodings.opposite_pair())


def final(dtype):
    run = ssi.simulate(
        MODEL, d=D, length=2, learning_rate=5e-7 * D, steps=STEPS, replicas=LANES, start={"m": 0.3, "e": 0.3},
        dtype=dtype, record={"every": STEPS},
    )  # fmt: skip
    return run.final_m.values.astype(float), run.final_e.values.astype(float).ravel()


def bias():
    """Mean over lanes of float32 minus float64, for m and e."""
    return [float(np.mean(a - b)) for a, b in zip(final("float32"), final("float64"), strict=True)]


def test_float32_has_no_drift():
    """The mean difference of 64 lanes is below 1e-6; its standard error is some 1e-8."""
    assert max(map(abs, bias())) < 1e-6


def test_without_what_the_additions_round_away_there_is_one(monkeypatch):
    def forget(value, residual, increment):
        return value + increment, residual

    monkeypatch.setattr(reduced, "add", forget)
    program.cache_clear()
    try:
        assert max(map(abs, bias())) > 1e-6
    finally:
        program.cache_clear()
