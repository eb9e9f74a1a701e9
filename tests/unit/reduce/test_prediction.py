"""Predictions: the models behind a dataset, and words where there is none."""

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.reduce import prediction
from ssi_kernels.reduce.prediction import attempted, sweep_models, threshold_value

from .synthetic import lognormal, synthetic
from .theory_examples import PHASE, SCALING, readable


def test_whatever_fails_becomes_words():
    def broken():
        raise FloatingPointError("two\nlines")

    def refused():
        raise ConfigError("omega", None, "must lie in [0, 1]")

    assert attempted(lambda: 3) == (3, "")
    assert attempted(broken) == (None, "no prediction: two lines")
    assert attempted(refused) == (None, "no prediction: omega: must lie in [0, 1]")


def test_points_are_found_by_the_coordinates_of_the_dataset():
    recovery, _ = readable(SCALING)
    models = sweep_models(recovery)
    point = models.at({"d": recovery["d"].values[1], "length": recovery["length"].values[0], "sie": 2})
    assert (point.d, point.model.target.sie, point.learning_rate) == (256, 2, 0.1)
    with pytest.raises(ConfigError, match="no such point"):
        models.at({"d": 7, "length": 2, "sie": 2})
    assert threshold_value(point, "2/sqrt(d)") == 0.125
    assert threshold_value(point, 0.5) == 0.5


def test_a_configuration_that_cannot_be_read_is_a_reason():
    recovery, _ = synthetic({"d": [64]}, lognormal(1.0, 0.1))
    models = sweep_models(recovery)
    assert models.points == {} and models.reason
    with pytest.raises(ConfigError, match="configuration"):
        models.at({"d": 64, "length": 2})


def test_of_very_many_models_some_are_evaluated(monkeypatch):
    monkeypatch.setattr(prediction, "MOST_MODELS", 3)
    written = {**PHASE, "grid": {**PHASE["grid"], "omega": {"start": 0, "stop": 1, "num": 41}, "a": 1.0}}
    recovery, _ = readable(written)
    models = sweep_models(recovery)
    assert len(models.evaluated) == len(models.first) == 12
    coords = {"d": 64, "length": 2, "a": 1.0}
    assert models.model_at({**coords, "omega": 0.0}).model.target.omega == 0.0
    with pytest.raises(ConfigError, match="not among the 12 of 41 evaluated"):
        models.model_at({**coords, "omega": 0.025})
