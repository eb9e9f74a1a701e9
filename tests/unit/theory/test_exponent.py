"""Exponents and leading tensors, against values written by hand and against quadrature."""

import itertools
import json
import math

import numpy as np
import pytest
import sympy
from jax import numpy as jnp
from numpy.polynomial import hermite_e
from scipy.special import ndtr

from ssi_kernels.errors import ConfigError
from ssi_kernels.expressions import to_sympy
from ssi_kernels.model import encodings, targets
from ssi_kernels.theory.describe import sie_answer
from ssi_kernels.theory.exponent import exponent, sie

R2, R3, R5 = math.sqrt(2), math.sqrt(3), math.sqrt(5)
HALF_NORMAL = math.sqrt(2 / math.pi)

# text, L: exponent, norm, operator norm, value on ones, orthogonally decomposable
POLYNOMIALS = {
    ("z1", 1): (1, 1, 1, 1, True),
    ("sum(z)", 4): (1, 2, 2, 4, True),
    ("sum(z)/sqrt(L)", 5): (1, 1, 1, R5, True),
    ("sqrt(L)*z1", 4): (1, 2, 2, 2, True),
    ("z1 - z2", 2): (1, R2, R2, 0, True),
    ("z1**3", 1): (1, 3, 3, 3, True),
    ("z1 + z1*z2", 2): (1, 1, 1, 1, True),
    ("z1 + z1*z2 + z1*z2*z3", 3): (1, 1, 1, 1, True),
    ("z1*prod(1 + z[1:])", 6): (1, 1, 1, 1, True),
    ("sqrt(L)*sum(cumprod(z))", 4): (1, 2, 2, 2, True),
    ("z1*z2", 2): (2, R2, 1, 2, True),
    ("z1*z2 + z1*z2*z3", 3): (2, R2, 1, 2, True),
    ("(z1**2 - z2**2)/sqrt(2)", 2): (2, 2, R2, 0, True),
    ("He2(z1) - He2(z2)", 2): (2, 2 * R2, 2, 0, True),
    ("(z1 + z2)**2 - z1**2 - z2**2", 2): (2, 2 * R2, 2, 4, True),
    ("z1*z2 - (He2(z1) + He2(z2))/2", 2): (2, 2, 2, 0, True),
    ("sum(He2(z))/sqrt(2)", 3): (2, math.sqrt(6), R2, 3 * R2, True),
    ("sum(z[1:]*z[:-1])", 3): (2, 2, R2, 4, True),
    ("z1**2*z2**2", 2): (2, 2 * R2, 2, 4, True),
    ("(sin(1)**2 + cos(1)**2 - 1)*z1 + z2**2", 2): (2, 2, 2, 2, True),
    ("sqrt(5 + 2*sqrt(6))*z1 - sqrt(2)*z1 - sqrt(3)*z1 + z1*z2", 2): (2, R2, 1, 2, True),
    ("1e-9*z1*z2 + z1*z2*z3", 3): (2, 1e-9 * R2, 1e-9, 2e-9, True),
    ("z1*z2*z3", 3): (3, math.sqrt(6), 2 / R3, 6, False),
    ("z1**3 - 3*z1", 1): (3, 6, 6, 6, True),
    ("He3(z1) - He3(z2)", 2): (3, 6 * R2, 6, 0, True),
    ("z1**2*z2 - z2", 2): (3, math.sqrt(12), 4 / R3, 6, False),
    ("He3((z1 + z2)/sqrt(2))", 2): (3, 6, 6, 12 * R2, True),
    ("(z1 + z2)**3 - 6*(z1 + z2)", 2): (3, 12 * R2, 12 * R2, 48, True),
    ("He3((z1 + z2)/sqrt(2)) + 2*He3((z1 - z2)/sqrt(2))", 2): (3, 6 * R5, 12, 12 * R2, True),
    ("He3((2*z1 - z2 + 2*z3)/3) - 2*He3((z1 - z3)/sqrt(2))", 3): (3, 6 * R5, 12, 6, True),
    ("z1*z2*z3 + 5*z4*z5*z6", 6): (3, math.sqrt(6 * 26), 10 / R3, 36, False),
    ("4/3 + He4(z1) + 2*He4(z2)", 2): (4, 24 * R5, 48, 72, True),
    ("He1(z1)*He4(z2) + He2(z3)*He2(z4)", 4): (4, math.sqrt(96), 6, 24, False),
    ("z1*He3(z2) + z1*He3(z3)", 3): (4, 12 * R2, 9 * R3 / 2, 48, False),
    ("h5(z1)", 1): (5, math.sqrt(120), math.sqrt(120), math.sqrt(120), True),
    ("prod(z)", 6): (6, math.sqrt(720), 720 / 216, 720, False),
    ("He4(z1)*He4(z2)", 2): (8, 24 * math.sqrt(40320), 2520, 40320, False),
}


def check(found, expected, rel):
    order, norm, operator, on_ones, odeco = expected
    assert found.sie == order
    assert found.norm == pytest.approx(norm, rel=rel)
    assert found.operator_norm == pytest.approx(operator, rel=max(rel, 1e-9))
    assert found.on_ones == pytest.approx(on_ones, rel=rel, abs=0)
    assert found.orthogonally_decomposable is odeco
    assert all(sum(alpha) == order for alpha in found.coefficients)


@pytest.mark.parametrize(("text", "length"), POLYNOMIALS)
def test_polynomials(text, length):
    found = exponent(targets.expression(text), length)
    assert found.exact and found.tolerance == 0 and found.note.startswith("exact")
    check(found, POLYNOMIALS[text, length], 1e-14)


def test_rank_two_tensors_that_are_not_orthogonal():
    for text in ("He3(z1) + He3((z1 + z2)/sqrt(2))", "He4(z1) + He4(3/5*z1 + 4/5*z2)"):
        assert exponent(targets.expression(text), 2).orthogonally_decomposable is False


CONSTANTS = [
    ("4/3", 1),
    ("sqrt(8)*z1/2 - sqrt(2)*z1", 1),
    ("He2(z1) - z1**2", 1),
    ("(z1 - z2)*(z1 + z2) - z1**2 + z2**2 + L", 2),
    ("(z1 + z2)**2 - z1**2 - z2**2 - 2*z1*z2", 2),
    ("sqrt(5 + 2*sqrt(6))*z1 - sqrt(2)*z1 - sqrt(3)*z1", 1),
]


@pytest.mark.parametrize(("text", "length"), CONSTANTS)
def test_constants(text, length):
    found = exponent(targets.expression(text), length)
    assert sie(text, length) is None and found.exact
    assert (found.norm, found.operator_norm, found.on_ones, found.coefficients) == (0, 0, 0, {})
    assert "constant" in found.note


ROOT_E = math.exp(-0.5)
OTHERS = {
    ("relu(z1)", 1): (1, 0.5, 0.5, 0.5, True),
    ("exp(z1)", 1): (1, 1 / ROOT_E, 1 / ROOT_E, 1 / ROOT_E, True),
    ("sin(z1)", 1): (1, ROOT_E, ROOT_E, ROOT_E, True),
    ("sin(2*z1)/2", 1): (1, ROOT_E**4, ROOT_E**4, ROOT_E**4, True),
    ("sin(z1)*cos(z2)", 2): (1, ROOT_E**2, ROOT_E**2, ROOT_E**2, True),
    ("relu(z1 - 1/3)", 1): (1, ndtr(-1 / 3), ndtr(-1 / 3), ndtr(-1 / 3), True),
    ("relu(z1) - relu(-z1)", 1): (1, 1, 1, 1, True),
    ("relu(z1 - z2)", 2): (1, R2 / 2, R2 / 2, 0, True),
    ("relu(sum(z))", 6): (1, math.sqrt(6) / 2, math.sqrt(6) / 2, 3, True),
    ("z1*abs(z2)", 2): (1, HALF_NORMAL, HALF_NORMAL, HALF_NORMAL, True),
    ("He2(z1) + 1e-11*sin(z1)", 1): (1, 1e-11 * ROOT_E, 1e-11 * ROOT_E, 1e-11 * ROOT_E, True),
    ("abs(z1)", 1): (2, HALF_NORMAL, HALF_NORMAL, HALF_NORMAL, True),
    ("abs(z1) - abs(z2)", 2): (2, R2 * HALF_NORMAL, HALF_NORMAL, 0, True),
    ("cos(z1)", 1): (2, ROOT_E, ROOT_E, -ROOT_E, True),
    ("sin(z1)**2", 1): (2, 2 * ROOT_E**4, 2 * ROOT_E**4, 2 * ROOT_E**4, True),
    ("sign(z1*z2)", 2): (2, R2 * 2 / math.pi, 2 / math.pi, 4 / math.pi, True),
    ("sin(z1) - exp(-1/2)*z1", 1): (3, ROOT_E, ROOT_E, -ROOT_E, True),
    ("prod(sign(z))", 5): (
        *(5, math.sqrt(120) * HALF_NORMAL**5, 120 * 5**-2.5 * HALF_NORMAL**5, 120 * HALF_NORMAL**5, False),
    ),
}


@pytest.mark.parametrize(("text", "length"), OTHERS)
def test_other_expressions(text, length):
    found = exponent(targets.expression(text), length)
    assert not found.exact and 0 < found.tolerance < 1e-11 and found.note.startswith("numerical: one-dimensional")
    check(found, OTHERS[text, length], 1e-11)
    assert ("lower orders are 0 within" in found.note) == (found.sie > 1)


def test_more_exponents():
    assert sie("tanh(z1)*tanh(z2)", 2) == 2
    assert sie("z1*tanh(z1)", 1) == sie("log(1 + z1**2)", 1) == 2
    assert sie("prod(tanh(z))", 12) == 12
    assert sie("z1/(1 + z2**2)", 2) == 1
    assert sie("tanh(sum(z)/sqrt(L))", 100) == 1


@pytest.mark.parametrize(
    "text", ["sin(z1)**2 + cos(z1)**2", "relu(z1) - relu(-z1) - z1", "1e-15*sin(30*z1)", "sin(30*z1)*2"]
)
def test_what_is_constant_within_the_tolerance(text):
    found = exponent(targets.expression(text), 1)
    assert found.sie is None and not found.exact and 0 < found.tolerance < 1e-11
    assert text[0] != "1" or found.tolerance < 1e-26
    assert "no order up to 8 is above the tolerance" in found.note and "constant within it" in found.note


def test_a_number_that_sympy_cannot_decide_is_not_called_exact(monkeypatch):
    monkeypatch.setattr(sympy.Add, "equals", lambda *_: None)
    found = exponent(targets.expression("(sqrt(7 + 2*sqrt(10)) - sqrt(2) - sqrt(5))*z1 + z1*z2"), 2)
    assert found.sie == 2 and not found.exact and "lower orders are 0 within" in found.note


# An independent way to the coefficients


def by_quadrature(text, length, alpha, nodes):
    """E[g h_alpha] by a Gauss-Hermite rule: exact for polynomials."""
    x, w = hermite_e.hermegauss(nodes)
    grid = np.meshgrid(*[x] * length, indexing="ij")
    values = sympy.lambdify(sympy.symbols(f"z1:{length + 1}", real=True), to_sympy(text, length), "numpy")(*grid)
    for k in reversed(alpha):
        h = hermite_e.hermeval(x, [0] * k + [1]) / math.sqrt(math.factorial(k) * 2 * math.pi)
        values = values @ (w * h)
    return float(values)


SMOOTH = ["sin(z1)*cos(z2)", "exp(z1/2)*z2 + z1*z2", "tanh(z1/4)*tanh(z2/4)", "z1*sin(z1 + z2)", "cos(z1*z2/4)"]


@pytest.mark.parametrize(
    ("text", "length", "nodes"),
    [(text, length, 16) for text, length in POLYNOMIALS if length <= 3] + [(text, 2, 90) for text in SMOOTH],
)
def test_coefficients_by_quadrature(text, length, nodes):
    found = exponent(targets.expression(text), length)
    for alpha in itertools.product(range(found.sie + 1), repeat=length):
        if 0 < sum(alpha) <= found.sie:
            expected = by_quadrature(text, length, alpha, nodes)
            assert found.coefficients.get(alpha, 0.0) == pytest.approx(expected, abs=2e-8 * found.norm, rel=1e-9)
    squares = [by_quadrature(text, length, alpha, nodes) ** 2 for alpha in found.coefficients]
    assert found.norm == pytest.approx(math.sqrt(math.factorial(found.sie) * math.fsum(squares)), rel=1e-8)


@pytest.mark.parametrize("text", ["z1*z2*z3 + z1*He2(z2)", "z1**2*z2 - z2 + He3(z1)/2", "He4(z1) - z1*He3(z2)"])
def test_the_operator_norm_against_a_dense_scan(text):
    found = exponent(targets.expression(text), 3)
    theta, phi = np.meshgrid(np.linspace(0, np.pi, 600), np.linspace(0, 2 * np.pi, 1200))
    v = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    total = 0
    for alpha, g in found.coefficients.items():
        weight = math.factorial(found.sie) / math.sqrt(math.prod(map(math.factorial, alpha)))
        total = total + weight * g * np.prod([x**k for x, k in zip(v, alpha, strict=True)], axis=0)
    scanned = np.abs(total).max()
    assert scanned <= found.operator_norm * (1 + 1e-12) and found.operator_norm == pytest.approx(scanned, rel=1e-4)


# Long sequences


def test_long_staircases():
    for text in ("z1*prod(1 + z[1:])", "sum(cumprod(z))"):
        found = exponent(targets.expression(text), 100 if "prod(1" in text else 30)
        assert (found.sie, found.norm, found.on_ones, found.exact) == (1, 1, 1, True)


def test_a_thousand_positions():
    check(exponent(targets.expression("sum(He2(z))/sqrt(2)"), 1000), (2, math.sqrt(2000), R2, 1000 * R2, True), 1e-13)
    check(exponent(targets.hermite(3), 1000), (3, math.sqrt(6), math.sqrt(6 / 1000), math.sqrt(6000), True), 1e-13)


def test_a_product_of_twenty_fields():
    twenty = math.factorial(20)
    check(exponent(targets.expression("prod(z)"), 20), (20, math.sqrt(twenty), twenty / 20**10, twenty, False), 1e-13)


# The other families


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_the_hermite_family(k):
    found = exponent(targets.hermite(k), 4)
    root = math.sqrt(math.factorial(k))
    operator = root if k == 1 else root / 2
    check(found, (k, root, operator, 2 * root, True), 1e-13)
    assert found.exact and list(found.coefficients.values()) == pytest.approx([0.5] * 4, rel=1e-15)
    assert sie(targets.hermite(k), 4) == k


def test_the_family_is_its_expression():
    one, other = exponent(targets.hermite(3), 5), exponent(targets.expression("sum(h3(z))/sqrt(L)"), 5)
    assert one.coefficients == pytest.approx(other.coefficients, rel=1e-14)
    assert (one.norm, one.operator_norm) == pytest.approx((other.norm, other.operator_norm), rel=1e-14)


def wave(z):
    return jnp.sin(z[0])


def gate(z):
    return jnp.abs(z[0]) * jnp.tanh(z[1])


def hump(z):
    return jnp.cos(z).sum()


def still(z):
    return jnp.sin(z[0]) ** 2 + jnp.cos(z[0]) ** 2


def sampled_product(z):
    return z[0] * z[1] + jnp.tanh(z[2]) * z[3] * z[4]


def outer(z):
    return jnp.outer(z, z)


def growth(z):
    return jnp.tanh(z)[:, None] * jnp.ones(z.shape[0])[None, :] + 0.1


def test_callables():
    found = exponent(targets.from_callable(wave), 2)
    assert found.sie == 1 and found.coefficients[1, 0] == pytest.approx(ROOT_E, abs=1e-9) and not found.exact
    assert exponent(targets.from_callable(gate), 2).norm == pytest.approx(HALF_NORMAL * 0.605705509602159, abs=1e-8)
    two = exponent(targets.from_callable(hump), 3)
    assert two.sie == 2 and two.on_ones == pytest.approx(-3 * ROOT_E, rel=1e-3)
    assert "lower orders are 0 within" in two.note


def test_a_constant_callable_says_within_what():
    found = exponent(targets.from_callable(still), 1)
    assert found.sie is None and 0 < found.tolerance < 1e-8 and "within the tolerance of a constant" in found.note


def test_a_callable_of_many_fields_is_sampled_and_says_so():
    found = exponent(targets.from_callable(sampled_product), 5)
    assert found.sie == 2 and "quasi-Monte Carlo" in found.note and 1e-6 < found.tolerance < 0.1
    assert found.coefficients[1, 1, 0, 0, 0] == pytest.approx(1, abs=found.tolerance)
    assert found.norm == pytest.approx(R2, abs=0.05)


def test_an_expression_of_many_fields_that_do_not_separate_is_sampled():
    found = exponent(targets.expression("tanh(z1*z2) + z3*z4"), 4)
    assert (
        found.sie == 2
        and "quasi-Monte Carlo" in found.note
        and found.coefficients[0, 0, 1, 1] == pytest.approx(1, abs=found.tolerance)
    )


def test_matrix_callables():
    found = exponent(targets.from_callable(outer), 2)
    assert found.sie == 2 and found.norm == pytest.approx(math.sqrt(12), rel=1e-8)
    expected = {(2, 0): [[R2, 0], [0, 0]], (1, 1): [[0, 1], [1, 0]], (0, 2): [[0, 0], [0, R2]]}
    assert found.coefficients.keys() == expected.keys()
    for alpha, entries in expected.items():
        np.testing.assert_allclose(found.coefficients[alpha], entries, atol=1e-8)
    assert found.operator_norm is None and found.on_ones is None and found.orthogonally_decomposable is None
    rows = exponent(targets.from_callable(growth), 2)
    assert rows.sie == 1
    np.testing.assert_allclose(rows.coefficients[1, 0], [[0.605705509602159] * 2, [0, 0]], atol=1e-7)


def test_attention_targets():
    pair = encodings.opposite_pair()
    semantic = exponent(targets.positional_semantic(0.0, 1.0), 2, pair)
    half = exponent(targets.positional_semantic(0.5, 1.0), 2, pair)
    assert semantic.sie == half.sie == 2
    assert half.norm == pytest.approx(semantic.norm / 2, rel=1e-7)
    assert exponent(targets.positional_semantic(1.0, 1.0), 2, pair).sie is None
    assert exponent(targets.mixed_logit(0.0, 1.0), 2, pair).norm == pytest.approx(semantic.norm, rel=1e-9)
    assert exponent(targets.mixed_logit(0.5, 1.0), 2, pair).sie == 1
    assert exponent(targets.positional_semantic(0.5, 1.0, [[1.0], [-1.0]]), 2).norm == pytest.approx(half.norm)


# Bad input, and plain data


@pytest.mark.parametrize(
    ("target", "length"),
    [
        ("z1 +", 2),
        ("z3", 2),
        ("import os", 2),
        ("z", 2),
        ("z1", 0),
        ("z1", 1.5),
        ("z1", "two"),
        (5, 2),
        (None, 2),
        ("exp(z1**2)", 1),
        ("1/z1", 1),
        (targets.positional_semantic(0.5, 1.0), 2),
        (targets.positional_semantic(0.5, 1.0, [[1.0], [-1.0]]), 1),
    ],
)
def test_bad_input_is_told_in_one_line(target, length):
    with pytest.raises(ConfigError) as caught:
        sie(target, length)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("text", "length"), [("He4(z1) + 2*He4(z2)", 2), ("tanh(z1)*z2", 2), ("3", 1)])
def test_the_answer_is_plain_data(text, length):
    answer, found = sie_answer(text, length), exponent(targets.expression(text), length)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert (answer["sie"], answer["leading_tensor_norm"]) == (found.sie, found.norm)
    for key in ("operator_norm", "on_ones", "orthogonally_decomposable", "exact", "tolerance", "note"):
        assert answer[key] == getattr(found, key)
    assert {tuple(c["alpha"]): c["coefficient"] for c in answer["coefficients"]} == found.coefficients
