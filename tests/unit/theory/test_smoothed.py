"""The smoothed target against Gaussian moments, and against scipy's adaptive quadrature."""

import itertools
import math

import numpy as np
import pytest
import sympy
from scipy.integrate import quad

from ssi_kernels.errors import ConfigError
from ssi_kernels.expressions import to_sympy
from ssi_kernels.hermite import he
from ssi_kernels.theory.linear_forms import NotPolynomial
from ssi_kernels.theory.measured import Measured, Undecided, shown_zero
from ssi_kernels.theory.smoothed import smoothed_taylor, smoothed_values


def sparse(*degrees):
    return tuple((place, degree) for place, degree in enumerate(degrees) if degree)


def taylor(text, length, degree):
    return smoothed_taylor(to_sympy(text, length), degree)


def by_moments(text, length, degree):
    """E[g He_alpha] / alpha! from E z^n = (n - 1)!!, everything written out."""
    z = sympy.symbols(f"z1:{length + 1}", real=True)
    series = {}
    for alpha in itertools.product(range(degree + 1), repeat=length):
        if sum(alpha) > degree:
            continue
        product = to_sympy(text, length) * sympy.Mul(*map(he, alpha, z))
        total = 0
        for powers, coefficient in sympy.Poly(product, *z).terms():
            if all(n % 2 == 0 for n in powers):
                total += coefficient * math.prod(math.prod(range(1, n, 2)) for n in powers)
        total = sympy.nsimplify(total / math.prod(map(math.factorial, alpha)))
        if total != 0:
            series[sparse(*alpha)] = total
    return series


@pytest.mark.parametrize("k", range(9))
def test_a_hermite_polynomial_becomes_a_power(k):
    assert taylor(f"He{k}(z1)", 1, 10) == {sparse(k): 1}


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("z1**5 + 2*z1*z2 - 3", 2),
        ("(1 + z1)*(2 - z2**2)*(z1 + z3)", 3),
        ("(z1 + z2)**4", 2),
        ("(2*z1 - z2/3 + 5)**3*z3", 3),
        ("(z1 + z1**2)**3", 1),
        ("(z1*z2 + z3)**2*z1", 3),
        ("He4(z1 - 2*z2)", 2),
        ("z1*prod(1 + z[1:])", 3),
        ("(sqrt(2)*z1 + z2)**2 - 2*sqrt(2)*z1*z2", 2),
        ("sum(cumprod(z))*sum(z)", 3),
    ],
)
def test_against_moments(text, length):
    full = by_moments(text, length, 5)
    for degree in (0, 1, 2, 5):
        found = taylor(text, length, degree)
        assert found.keys() == {alpha for alpha in full if sum(k for _, k in alpha) <= degree}
        assert all(sympy.simplify(found[alpha] - full[alpha]) == 0 for alpha in found)


def test_a_long_staircase_keeps_its_structure():
    low = taylor("z1*prod(1 + z[1:])", 100, 2)
    assert low == {((0, 1),): 1} | {((0, 1), (i, 1)): 1 for i in range(1, 100)}


def test_a_thousand_fields():
    found = taylor("sum(He2(z))/sqrt(2)", 1000, 2)
    assert found == {((i, 2),): sympy.sqrt(2) / 2 for i in range(1000)}


def test_long_products_and_their_sums():
    assert taylor("prod(z)", 20, 19) == {}
    assert taylor("prod(z)", 20, 20) == {tuple((i, 1) for i in range(20)): 1}
    assert taylor("prod(He2(z))", 12, 24) == {tuple((i, 2) for i in range(12)): 1}
    assert len(taylor("sum(cumprod(z))", 30, 30)) == 30


def test_a_power_of_a_sum_is_not_written_out():
    assert taylor("sum(z)**3", 100, 1) == {((i, 1),): 300 for i in range(100)}


@pytest.mark.parametrize("text", ["tanh(z1)", "z1 + relu(z2)", "1/z1", "z1*z2**-2", "sqrt(1 + z1**2)", "exp(z1)*z2"])
def test_no_polynomial(text):
    with pytest.raises(NotPolynomial):
        taylor(text, 2, 3)


def test_what_has_too_many_terms():
    with pytest.raises(NotPolynomial, match="too many terms"):
        taylor("(sum(z*z) + sum(z))**8", 12, 2)


def test_what_sympy_cannot_decide(monkeypatch):
    number = sympy.sqrt(2) + sympy.sqrt(3) - sympy.sqrt(5 + 2 * sympy.sqrt(6))
    assert shown_zero(number) and not shown_zero(number + sympy.Rational(1, 10**45))
    monkeypatch.setattr(type(number), "equals", lambda *_: None)
    with pytest.raises(Undecided):
        shown_zero(number)
    assert not shown_zero(sympy.sqrt(2) - sympy.sqrt(3))


def expectation(function, k, kinks=()):
    """E[f He_k] / k! by adaptive quadrature between kinks."""

    def integrand(x):
        return function(x) * he(k, x) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    edges = [-14, *sorted(kinks), 14]
    parts = [quad(integrand, a, b, epsabs=1e-12, epsrel=1e-11, limit=400)[0] for a, b in itertools.pairwise(edges)]
    return math.fsum(parts) / math.factorial(k)


FUNCTIONS = {
    "relu(z1)": (lambda x: max(x, 0), (0,)),
    "relu(2*z1 - 1)": (lambda x: max(2 * x - 1, 0), (0.5,)),
    "abs(z1)*z1**2": (lambda x: abs(x) * x * x, (0,)),
    "tanh(3*z1 + 1/2)": (lambda x: math.tanh(3 * x + 0.5), (0,)),
    "exp(z1/2)*sin(z1)": (lambda x: math.exp(x / 2) * math.sin(x), (0,)),
    "1/(1 + z1**2)": (lambda x: 1 / (1 + x * x), (0,)),
    "sign(z1 + 1) + z1**3": (lambda x: math.copysign(1, x + 1) + x**3, (-1,)),
    "log(1 + z1**2)*tanh(z1)": (lambda x: math.log1p(x * x) * math.tanh(x), (0,)),
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_of_one_field(text):
    found = smoothed_values(to_sympy(text, 1), 5)
    for k in range(6):
        expected, number = expectation(FUNCTIONS[text][0], k, FUNCTIONS[text][1]), found[sparse(k)]
        assert number.error < 1e-10
        assert abs(number.value - expected) <= number.error + 1e-11


def test_a_kink_elsewhere_lowers_the_accuracy_and_the_error_says_so():
    found = smoothed_values(to_sympy("relu(z1 - 1/3)*tanh(z1)", 1), 3)
    for k in range(4):
        expected = expectation(lambda x: max(x - 1 / 3, 0) * math.tanh(x), k, (1 / 3,))
        assert abs(found[sparse(k)].value - expected) < found[sparse(k)].error
        assert 1e-9 < found[sparse(k)].error < 1e-2


def test_a_function_of_a_sum_of_fields():
    """relu(w . z) has E[relu(w . z) He_alpha] = w^alpha |w|^(1 - k) E[relu(x) He_k(x)]."""
    found = smoothed_values(to_sympy("relu(3*z1 - 4*z2)", 2), 4)
    for i, j in itertools.product(range(3), repeat=2):
        k = i + j
        expected = 3**i * (-4) ** j * 5.0 ** (1 - k) * expectation(lambda x: max(x, 0), k, (0,))
        expected *= math.factorial(k) / (math.factorial(i) * math.factorial(j))
        assert found[sparse(i, j)].value == pytest.approx(expected, abs=1e-12)


def test_sums_and_products_of_such_functions():
    found = smoothed_values(to_sympy("(tanh(z1) + z3)*abs(z2) + exp(z1 + z2)", 3), 3)
    t, a, e = ([expectation(f, k, (0,)) for k in range(4)] for f in (math.tanh, abs, math.exp))
    for i, j in itertools.product(range(4), repeat=2):
        if i + j <= 3:
            expected = t[i] * a[j] + e[i] * e[j]
            assert found.get(sparse(i, j), Measured(0, 0)).value == pytest.approx(expected, abs=1e-11)
    assert found[sparse(0, 2, 1)].value == pytest.approx(a[2], abs=1e-12)


def test_long_products_of_functions():
    found = smoothed_values(to_sympy("prod(tanh(z))", 40), 40)
    assert list(found) == [tuple((i, 1) for i in range(40))]
    (number,) = found.values()
    assert number.value == pytest.approx(expectation(math.tanh, 1) ** 40, rel=1e-10)
    assert smoothed_values(to_sympy("prod(tanh(z))", 40), 39) == {}


@pytest.mark.parametrize("text", ["exp(z1**2)", "exp(z1**2/4)", "1/z1", "z1**-2", "tanh(z2) + exp(z1**4)"])
def test_no_finite_square(text):
    with pytest.raises(ConfigError, match="no finite expectation") as caught:
        smoothed_values(to_sympy(text, 2), 2)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["z1*tanh(z1 + z2)", "tanh(z1*z2)", "1/(1 + z1**2 + z2**2)"])
def test_functions_of_several_fields_are_left_to_others(text):
    with pytest.raises(NotPolynomial):
        smoothed_values(to_sympy(text, 2), 2)


def test_errors_add_up():
    x, y = Measured(2.0, 1e-3), Measured(-3.0, 1e-2)
    assert (x + y).value == -1 and (x + y).error == pytest.approx(1.1e-2)
    assert (x * y).value == -6 and (x * y).error == pytest.approx(2e-2 + 3e-3 + 1e-5)
    assert not (x + y).is_zero and (x + Measured(-2.0005, 0)).is_zero
    exact = Measured(float(np.pi), 0)
    assert (exact + Measured(-float(np.pi), 0)).is_zero
