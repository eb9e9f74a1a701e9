"""Activations by name."""

import numpy as np
import pytest
from numpy.polynomial import hermite_e
from scipy import special

from ssi_kernels.model.activations import canonical_name, evaluate

from .helpers import refused

X = np.linspace(-4, 4, 33).reshape(3, 11)
REFERENCES = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "square": lambda x: x**2,
    "He1": lambda x: x,
    "He3": lambda x: x**3 - 3 * x,
    "h2": lambda x: (x**2 - 1) / np.sqrt(2),
    "h7": lambda x: hermite_e.hermeval(x, [0] * 7 + [1]) / np.sqrt(5040),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_values(name, x64):
    assert canonical_name(name) == name
    np.testing.assert_allclose(evaluate(name, X), REFERENCES[name](X), rtol=1e-11, atol=1e-11)


def test_spellings_of_one_activation():
    assert canonical_name("He_2") == canonical_name("He02") == "He2"
    assert canonical_name("h_64") == "h64"


@pytest.mark.parametrize(
    "name", ["Relu", "gelu", "", "He", "He0", "h0", "He65", "He2 ", "He2\n", "he2", "He-1", "He1000", None, 2, ["relu"]]
)
def test_unknown_names_are_refused(name):
    refused(lambda: canonical_name(name), "student.activation", name, "relu", "He1..He64")
