"""Predicted exponents of recovery times."""

import numpy as np
import pandas as pd
import pytest

from ssi_kernels.reduce.predicted_scaling import slope_and_law, with_predicted_slopes
from ssi_kernels.reduce.prediction import sweep_models

from .synthetic import lognormal, synthetic
from .theory_examples import SCALING, readable


@pytest.mark.parametrize(
    ("order", "rate", "start", "threshold", "law"),
    [
        (1, 0, 0.5, 0, "d"),
        (2, 0, 0.5, 0, "d log d"),
        (3, -0.5, 0.5, 0, "d^2"),
        (4, -1, 0.5, 0, "d^3"),
        (6, -2, 0.5, 0, "d^5"),
        (3, 0, 0.5, 0, "d^1.5"),
        (1, -1, 0.5, 0, "d^2"),
        (2, 0, 0, 0, "d"),
        (4, 0, 0, 0, "d"),
        (1, 0, 0.5, 0.5, "d^0.5"),
        (2, 0, 0.5, 0.5, "d"),
    ],
)
def test_laws(order, rate, start, threshold, law):
    """The paper's exponents at the largest useful rates, and what other rates, starts and thresholds make of them."""
    slope, words = slope_and_law(order, rate, start, threshold)
    assert words == law
    assert slope == float(law.partition("^")[2] or 1) if "^" in law else slope == 1


def table(*rows):
    return pd.DataFrame([{"length": 2, **row, "threshold": 0.5, "slope": 1.1, "reason": ""} for row in rows])


def test_the_order_of_escape_decides():
    recovery, _ = readable(SCALING)
    found = with_predicted_slopes(table({"sie": 1}, {"sie": 2}), sweep_models(recovery))
    assert found["predicted_law"].tolist() == ["d", "d log d"]
    assert found["predicted_slope"].tolist() == [1.0, 1.0]
    assert list(found.columns)[-1] == "reason"


def test_the_rate_of_the_sweep_counts():
    written = {**SCALING, "sgd": {"learning_rate": {"coefficient": 0.1, "d": -0.5}, "steps": 100}}
    recovery, _ = readable(written)
    found = with_predicted_slopes(table({"sie": 1}), sweep_models(recovery))
    assert found["predicted_law"].item() == "d^1.5"


def test_a_model_that_never_learns_has_no_law():
    written = {**SCALING, "grid": {**SCALING["grid"], "sie": 3}}
    recovery, _ = readable(written)
    found = with_predicted_slopes(table({"sie": 3}), sweep_models(recovery))
    assert np.isnan(found["predicted_slope"].item())
    assert found["predicted_law"].item().startswith("no prediction: ")


def test_without_a_configuration_there_is_no_law():
    recovery, _ = synthetic({"d": [64, 128]}, lognormal(1.0, 0.1))
    found = with_predicted_slopes(table({}), sweep_models(recovery))
    assert found["predicted_law"].item().startswith("no prediction: configuration: ")
