"""Random expressions: one numpy value whatever the spelling, and no text that gets past the refusals."""

import ast
import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_kernels.errors import ConfigError
from ssi_kernels.expressions import normalise, to_jax, to_sympy
from ssi_kernels.grammar import FUNCTIONS, parse

Z = np.random.default_rng(0).standard_normal((3, 5))
NUMPY = {
    **{"z": Z, "z1": Z[0], "z2": Z[1], "z3": Z[2], "L": 3, "pi": np.pi},
    **{"sum": lambda x: x.sum(axis=0), "prod": lambda x: x.prod(axis=0), "cumprod": lambda x: x.cumprod(axis=0)},
    **{"sin": np.sin, "tanh": np.tanh, "abs": np.abs, "relu": lambda x: np.maximum(x, 0)},
    **{"He2": lambda x: x**2 - 1, "h3": lambda x: (x**3 - 3 * x) / 6**0.5},
}


def _scalars(children):
    binary = st.builds("({} {} {})".format, children, st.sampled_from("+-*"), children)
    divided = st.builds("({})/{}".format, children, st.integers(1, 9))
    powers = st.builds("({})**{}".format, children, st.integers(0, 2))
    called = st.builds(
        "{}({})".format, st.sampled_from(["sin", "tanh", "abs", "relu", "He2", "h3", "-", "+"]), children
    )
    lists = st.sampled_from(["z", "z[1:]", "z[::-1]", "cumprod(z)", "He2(z)", "(1 + z)", "z*z"])
    reduced = st.builds("{}({})".format, st.sampled_from(["sum", "prod"]), lists)
    return binary | divided | powers | called | reduced


LEAVES = st.sampled_from(["z1", "z2", "z3", "L", "pi", "2", "0.5", "1e-1"])
EXPRESSIONS = st.recursive(LEAVES, _scalars, max_leaves=8)


def value(text):
    import jax

    with jax.enable_x64(True):
        return np.asarray(to_jax(text, 3)(Z))


@settings(max_examples=40)
@given(EXPRESSIONS)
def test_random_expressions_have_the_values_of_numpy(text):
    expected = np.broadcast_to(eval(text, {"__builtins__": {}}, NUMPY), Z.shape[1:])
    try:
        found = value(text)
    except ConfigError as error:
        assert "beyond 1e+30" in str(error) or "exponent" in str(error)
        return
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@given(EXPRESSIONS)
def test_the_canonical_spelling_is_the_same_expression(text):
    assert normalise(normalise(text)) == normalise(text)
    assert ast.dump(parse(normalise(text))) == ast.dump(parse(text))


@given(st.text(max_size=60) | st.text("z12(),[]:+-*/. LHe'_=", max_size=40))
def test_any_text_is_read_or_refused_in_one_line(text):
    try:
        to_sympy(text, 2)
    except ConfigError as error:
        assert error.key == "expression" and len(str(error).splitlines()) == 1


@pytest.mark.parametrize("name", sorted(vars(builtins).keys() - set(FUNCTIONS)))
def test_no_builtin_of_python_can_be_called(name):
    with pytest.raises(ConfigError):
        normalise(f"{name}(z1)")
