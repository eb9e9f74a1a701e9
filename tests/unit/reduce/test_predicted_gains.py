"""Predicted gains beside measured ones."""

import types

import numpy as np
import pytest

from ssi_kernels.reduce import predicted_gains
from ssi_kernels.reduce.gains import gain_fit_table, gain_table
from ssi_kernels.reduce.predicted_gains import with_predicted_exponents, with_predicted_gains
from ssi_kernels.reduce.prediction import sweep_models
from ssi_kernels.reduce.runs import axes_of, point_facts, recovery_runs, status_of, untied_students

from .synthetic import verified
from .theory_examples import GAIN, readable, replace


@pytest.fixture(scope="module")
def measured():
    def draw(coords, rng):
        return {"time": np.ceil(100 * coords["length"] ** 1.1 * np.exp(0.1 * rng.normal(size=16)))}

    recovery, trajectories = verified(readable(GAIN, draw))
    runs = recovery_runs(recovery, status_of(recovery, trajectories))
    where = runs, axes_of(recovery), untied_students(recovery), point_facts(recovery)
    return gain_table(*where), gain_fit_table(*where), sweep_models(recovery)


def test_each_gain_has_its_prediction(measured, monkeypatch):
    asked = []

    def stand_in(tied, untied, *, d, length, tied_rate, untied_rate, start, threshold):
        asked.append((tied.student.kind, untied.student.kind, d, length, tied_rate, untied_rate, threshold))
        return types.SimpleNamespace(gain=2.0 * length)

    replace(monkeypatch, "gain", "predicted_gain", stand_in)
    gain, fits, models = measured
    found = with_predicted_gains(gain, models)
    assert found["predicted_gain"].tolist() == [2.0, 4.0]
    assert found["prediction"].tolist() == ["", ""]
    assert asked == [("tied", "untied", 64, length, 0.1, 0.1, 0.5) for length in (1, 2)]
    exponents = with_predicted_exponents(fits, found)
    assert exponents["predicted_exponent"].item() == pytest.approx(1.0)
    assert list(exponents.columns)[-1] == list(found.columns)[-1] == "reason"


def test_a_prediction_that_fails_is_told(measured, monkeypatch):
    def broken(*_, length, **__):
        if length == 1:
            raise FloatingPointError("no flow")
        return types.SimpleNamespace(gain=None)

    replace(monkeypatch, "gain", "predicted_gain", broken)
    gain, fits, models = measured
    found = with_predicted_gains(gain, models)
    assert found["predicted_gain"].isna().all()
    assert found["prediction"].tolist()[0] == "no prediction: no flow"
    assert "does not recover" in found["prediction"].tolist()[1]
    assert with_predicted_exponents(fits, found)["predicted_exponent"].isna().all()


def test_the_work_is_bounded(measured, monkeypatch):
    monkeypatch.setattr(predicted_gains, "MOST_GAINS", 1)
    replace(monkeypatch, "gain", "predicted_gain", lambda *_, **__: types.SimpleNamespace(gain=1.0))
    found = with_predicted_gains(measured[0], measured[2])
    assert found["prediction"].tolist() == ["", "not computed: only 1 rows are"]
