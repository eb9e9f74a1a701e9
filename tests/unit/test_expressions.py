"""Targets written as text, against numpy, and what is refused."""

import math

import numpy as np
import pytest
import sympy
from numpy.polynomial import hermite_e

from ssi_kernels.errors import ConfigError
from ssi_kernels.expressions import normalise, to_jax, to_sympy
from ssi_kernels.grammar import FUNCTIONS


def he(k, x):
    return hermite_e.hermeval(x, [0] * k + [1])


def h(k, x):
    return he(k, x) / math.sqrt(math.factorial(k))


def fields(length, *lanes):
    return np.random.default_rng(length).standard_normal((length, *lanes))


def value(text, z):
    """The expression at fields z, shape (L, ...), in double precision."""
    import jax

    with jax.enable_x64(True):
        return np.asarray(to_jax(text, len(z))(z))


def refused(text, length=3):
    """The line with which `text` is refused, by both functions that build it."""
    lines = set()
    for build in (to_sympy, to_jax):
        with pytest.raises(ConfigError) as caught:
            build(text, length)
        assert caught.value.key == "expression" and caught.value.value == text
        lines.add(str(caught.value))
    (line,) = lines
    assert len(line.splitlines()) == 1 and len(line) < 450 and line.startswith("expression: ")
    return line


THREE_FIELDS = {
    "He4(z1) + 2*He4(z2) + 4/3": lambda z: he(4, z[0]) + 2 * he(4, z[1]) + 4 / 3,
    "z1*z2": lambda z: z[0] * z[1],
    "z1*z2*z3": lambda z: z[0] * z[1] * z[2],
    "z1 - z2": lambda z: z[0] - z[1],
    "(z1**2 - z2**2)/sqrt(2)": lambda z: (z[0] ** 2 - z[1] ** 2) / np.sqrt(2),
    "sum(He2(z))/sqrt(2)": lambda z: (z**2 - 1).sum(0) / np.sqrt(2),
    "L*sum(He2(z))/sqrt(2)": lambda z: 3 * (z**2 - 1).sum(0) / np.sqrt(2),
    "sum(h3(z))/sqrt(L)": lambda z: h(3, z).sum(0) / np.sqrt(3),
    "sqrt(L)*z1": lambda z: np.sqrt(3) * z[0],
    "He1(z1)*He4(z2) + He2(z2)*He_4(z3)": lambda z: z[0] * he(4, z[1]) + he(2, z[1]) * he(4, z[2]),
    "h_2(z1)*h0(z2)": lambda z: h(2, z[0]),
    "prod(1 + z)/(1 + z1)": lambda z: (1 + z[1]) * (1 + z[2]),
    "z1 + z1*z2 + z1*z2*z3": lambda z: z[0] + z[0] * z[1] + z[0] * z[1] * z[2],
    "sum(cumprod(z))": lambda z: np.cumprod(z, axis=0).sum(0),
    "sum(z[::2]) - sum(z[-1:]) + prod(z[:L - 1])": lambda z: z[0] + z[2] - z[2] + z[0] * z[1],
    "sum(z[1:]*z[:-1])": lambda z: z[0] * z[1] + z[1] * z[2],
    "sum((z - sum(z)/L)**2)": lambda z: ((z - z.mean(0)) ** 2).sum(0),
    "-z1**2 + (-z2)**3 - +z3": lambda z: -(z[0] ** 2) - z[1] ** 3 - z[2],
    "2**-3*z1 + 2e-1*z2 + 1_000*z3": lambda z: z[0] / 8 + 0.2 * z[1] + 1000 * z[2],
    "exp(-z1**2/2)*sin(pi*z2) + cos(z3)": lambda z: np.exp(-(z[0] ** 2) / 2) * np.sin(np.pi * z[1]) + np.cos(z[2]),
    "tanh(z1) + abs(z2) + sign(z3) + relu(z1 - z2)": lambda z: (
        np.tanh(z[0]) + np.abs(z[1]) + np.sign(z[2]) + np.maximum(z[0] - z[1], 0)
    ),
    "log(1 + z1**2)*sqrt(z2**2)": lambda z: np.log(1 + z[0] ** 2) * np.abs(z[1]),
    "He4(2)*z1 + He3(relu(z2)) + h5(z1 + z2)/5": lambda z: (
        -5 * z[0] + he(3, np.maximum(z[1], 0)) + h(5, z[0] + z[1]) / 5
    ),
    "3000000000*z1/12345678901234567890": lambda z: 3e9 / 12345678901234567890 * z[0],
    "1/z1 + z2**-2": lambda z: 1 / z[0] + 1 / z[1] ** 2,
    "4/3": lambda z: np.full(z.shape[1:], 4 / 3),
}


@pytest.mark.parametrize("text", THREE_FIELDS)
def test_against_numpy(text):
    z = fields(3, 40)
    np.testing.assert_allclose(value(text, z), THREE_FIELDS[text](z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", THREE_FIELDS)
def test_the_sympy_form_has_the_same_values(text):
    z = fields(3, 5)
    symbols = sympy.symbols("z1:4", real=True)
    expected = THREE_FIELDS[text](z)
    for w in range(5):
        found = float(to_sympy(text, 3).subs(dict(zip(symbols, map(sympy.Float, z[:, w]), strict=True))).evalf())
        assert found == pytest.approx(expected[w], rel=1e-10, abs=1e-12)


STAIRCASES = {
    "z1*prod(1 + z[1:])": lambda z: z[0] * np.prod(1 + z[1:], axis=0),
    "sum(cumprod(z))": lambda z: np.cumprod(z, axis=0).sum(axis=0),
    "sqrt(L)*sum(cumprod(z))": lambda z: np.sqrt(len(z)) * np.cumprod(z, axis=0).sum(axis=0),
    "z1*prod(1 + z)/(1 + z1)": lambda z: z[0] * np.prod(1 + z[1:], axis=0),
}


@pytest.mark.parametrize("length", range(2, 7))
@pytest.mark.parametrize("text", STAIRCASES)
def test_staircases_for_every_length(text, length):
    z = fields(length, 20)
    np.testing.assert_allclose(value(text, z), STAIRCASES[text](z), rtol=1e-12)


def test_a_pole_that_cancels_is_none():
    assert value("prod(1 + z)/(1 + z1)", np.array([[-1.0], [1.0], [2.0]])) == [6]


def test_one_position():
    z = fields(1, 5)
    np.testing.assert_allclose(value("sum(cumprod(z)) + prod(z)/sqrt(L)", z), 2 * z[0])
    assert "empty at length 1" in refused("z1*prod(1 + z[1:])", 1)


@pytest.mark.parametrize("lanes", [(), (4,), (3, 4)])
def test_trailing_axes_are_lanes(lanes):
    z = fields(2, *lanes)
    assert value("z1*He2(z2) + 1", z).shape == value("2", z).shape == lanes
    np.testing.assert_allclose(value("z1*He2(z2) + 1", z), z[0] * (z[1] ** 2 - 1) + 1, rtol=1e-12)


@pytest.mark.parametrize("text", ["sum(He2(z))", "2", "10**20*z1", "sqrt(2)*z1", "1/3"])
def test_single_precision_stays_single(text):
    z = fields(3, 4).astype(np.float32)
    label = to_jax(text, 3)(z)
    assert label.dtype == np.float32 and np.isfinite(label).all()


def test_high_degrees_do_not_lose_single_precision():
    z = np.linspace(-5, 5, 41)[None]
    single, double = to_jax("h32(z1)", 1)(z.astype(np.float32)), value("h32(z1)", z)
    np.testing.assert_allclose(single, double, atol=1e-4 * np.abs(double).max())
    assert np.isfinite(to_jax("h64(z1)", 1)(z.astype(np.float32))).all()


def test_the_sympy_form_is_the_textbook_one():
    z1, z2, z3 = sympy.symbols("z1:4", real=True)
    assert to_sympy("He4(z1)", 2) == z1**4 - 6 * z1**2 + 3
    assert to_sympy("h3(z2)", 2) == (z2**3 - 3 * z2) / sympy.sqrt(6)
    assert to_sympy("prod(1 + z)/(1 + z1)", 3) == (1 + z2) * (1 + z3)
    assert to_sympy("0.1*z1 + 0.2*z1 - 0.3*z1", 1) == 0
    assert to_sympy("sum(z)/sqrt(L)", 3) == (z1 + z2 + z3) / sympy.sqrt(3)
    assert sympy.Poly(to_sympy("He64(z1)", 1), z1).degree() == 64


@pytest.mark.parametrize(
    "spellings",
    [
        ("z1*z2+2*z1**2", " (z1 * z2) + ((2.0)) * z1 ** 2 "),
        ("He2(z1)", "He_2( z1 )", "He02(z1)"),
        ("h10(z1)", "h_10(z1)"),
        ("0.1*z1", "1e-1*z1", ".1 * z1"),
        ("1000*z1", "1_000*z1", "1e3*z1"),
        ("-z1**2", "-(z1**2)"),
    ],
)
def test_spellings_of_one_expression(spellings):
    assert len({normalise(text) for text in spellings}) == 1
    assert normalise(normalise(spellings[0])) == normalise(spellings[0])
    assert len({to_sympy(text, 2) for text in spellings}) == 1


def test_different_expressions_stay_different():
    texts = ["z1 - z2 - z1*z2", "z1 - (z2 - z1*z2)", "z1/(z2*z1)", "z1/z2*z1", "2*z1", "2.5*z1", "(-z1)**2", "-z1**2"]
    assert len({normalise(text) for text in texts}) == len(texts)


NOT_ALLOWED = [
    *("__import__('os')", "__import__('os').system('true')", "eval('z1')", "open('/etc/passwd')", "print(z1)"),
    *("z1.__class__", "z.__class__.__mro__", "(1).real", "sqrt.__globals__", "z1.sum()", "He2.x(z1)"),
    *("lambda: z1", "(lambda z1: z1)(1)", "[x for x in z]", "sum(x for x in z)", "{x for x in z}", "{z1: 1}"),
    *("f'{z1}'", "f'{z1!r:>{L}}'", "'z1'", "b'z1'", "(x := z1)", "z1 if z2 else z3", "not z1", "~z1", "z1 and z2"),
    *("z1 < z2", "z1 == z2", "z1 // 2", "z1 % 2", "z1 @ z2", "z1 ^ 2", "z1 | z2", "z1 << 2", "3j*z1", "True", "None"),
    *("...", "(z1, z2)", "[z1, z2]", "[z1][0]", "{}", "()", "await z1", "yield z1", "*z", "z[0]", "z[z1]", "z[0, 1]"),
    *("z[True]", "z['a']", "z[(0, 1)]", "z[...]", "z[lambda: 0:]", "sum(*z)", "sum(z, z)", "sum(z, start=1)", "sum()"),
    *("sum", "He2", "sqrt", "x", "z0", "z01", "Z1", "z_1", "d", "l", "e", "E", "I", "oo", "nan", "inf", "symbols('x')"),
    *("He(z1)", "He2_(z1)", "he2(z1)", "H2(z1)", "He-1(z1)", "He2.5(z1)", "max(z)", "sinh(z1)", "gamma(z1)", "z(1)"),
    *("sum(z)(1)", "(sum)(z)[0]", "z1.He2", "sqrt(z1,)(2)", "He1000(z1)", "z1234567"),
]


@pytest.mark.parametrize("text", NOT_ALLOWED)
def test_what_is_not_allowed(text):
    line = refused(text)
    assert "is not allowed; use numbers, L, z, z1..zL" in line or "does not parse; use numbers" in line
    if "is not allowed" in line:
        assert all(name in line for name in FUNCTIONS)
    with pytest.raises(ConfigError):
        normalise(text)


NOT_PARSED = [
    "",
    "   ",
    "z1 +",
    "z1 z2",
    "z1; z2",
    "z1 = 2",
    "import os",
    "(z1",
    "z1)",
    "2z1",
    "z1\x00",
    "\x00",
    "z1\n+z2",
]
NOT_PARSED += [
    "z1 # ok\nimport os",
    "z₁",
    "z1²",
    "∑(z)",
    "z1 × z2",
    "“z1”",
    "z1\u2028z2",
    "0777*z1",
    "1" * 5000,
    "if z1: 2",
    "\ud800",
]
NOT_PARSED += ["(" * 1000 + "z1" + ")" * 1000, "[" * 500, "sum(" * 300 + "z" + ")" * 300]


@pytest.mark.parametrize("text", NOT_PARSED, ids=lambda text: ascii(text[:20]))
def test_what_does_not_parse(text):
    line = refused(text)
    assert "does not parse; use numbers" in line or "longer than 4000 characters" in line
    with pytest.raises(ConfigError):
        normalise(text)


TOO_MUCH = {
    "9**9**9": "exponents must be",
    "z1**65": "exponents must be",
    "z1**(10**6)": "exponents must be",
    "z1**z2": "exponents must be",
    "2**z1": "exponents must be",
    "z**z": "exponents must be",
    "(z1**8)**9": "exponents may be at most 64",
    "((z1*z2)**32)**3": "exponents may be at most 64",
    "He65(z1)": "the degree may be at most 64",
    "h_128(z1)": "the degree may be at most 64",
    "10**31*z1": "beyond 1e+30",
    "1e31*z1": "beyond 1e+30",
    "(2*z1)**64*2**64": "beyond 1e+30",
    "(((1/9)**64)**64)**64*z1": "too many digits",
    "((((1000001/1000000)**64)**64)**64)**64*z1": "too many digits",
    "1" + "0" * 3000: "too many digits",
    "exp(exp(exp(exp(9))))*z1": "beyond 1e+30",
    "z1**exp(exp(exp(exp(9))))": "beyond 1e+30",
    "1/(sin(1)**2 + cos(1)**2 - 1)": "beyond 1e+30",
    "prod(z*0 + prod(z*0 + 9**12))": "beyond 1e+30",
    "z" + "1" * 2000: "is not allowed",
    "He" + "1" * 2000 + "(z1)": "is not allowed",
    "+".join(["z1"] * 200): "nests more than 100 operations",
    "-" * 150 + "z1": "nests more than 100 operations",
    "sin(" * 110 + "z1" + ")" * 110: "nests more than 100 operations",
    "z" + "[0:]" * 150: "nests more than 100 operations",
    "z1" + " " * 5000 + "+ z2": "longer than 4000 characters",
    "+".join(["z1"] * 5000): "longer than 4000 characters",
}


@pytest.mark.parametrize("text", TOO_MUCH, ids=lambda text: text[:30])
def test_what_is_too_much(text):
    assert TOO_MUCH[text] in refused(text)


def test_polynomials_within_polynomials_do_not_explode():
    with pytest.raises(ConfigError, match="too large at length 1"):
        to_sympy("He64(He64(He64(He64(z1))))", 1)


def test_sums_within_sums_do_not_explode():
    text = "z"
    for _ in range(30):
        text = f"z*sum({text})"
    assert "too large at length 6" in refused(f"sum({text})", 6)


NO_LABEL = {
    "z": "one value per position; reduce it with sum(...) or prod(...)",
    "He2(z)": "one value per position",
    "cumprod(z)": "one value per position",
    "z4": "uses z4, but the sequence has length 3",
    "z1 + z99999": "uses z99999",
    "z[5:]": "'z[5:]' is empty at length 3",
    "sum(z[2:1])": "is empty at length 3",
    "sum(z[::0])": "step of a slice cannot be 0",
    "sum(z[1.5:])": "'1.5' must be an integer",
    "sum(z[z1:])": "'z1' must be an integer",
    "sum(z[z:])": "'z' must be an integer",
    "z1[0:1]": "only lists of fields",
    "sum(z[1:] + z)": "different lengths [2, 3]",
    "sum(z1)": "needs a list of fields such as z or He2(z)",
    "prod(2)": "needs a list of fields",
    "cumprod(sum(z))": "needs a list of fields",
    "1/0": "divides by zero",
    "z1/(z2 - z2)": "divides by zero",
    "0**-1": "divides by zero",
    "(z1 - z1)**-2": "divides by zero",
    "log(0)*z1": "not a finite real number",
    "log(0) - log(0)": "not a finite real number",
    "z1**(log(0) - log(0))": "not a finite real number",
    "1e999": "has a number that is not finite",
    "sqrt(-1)*z1": "not a finite real number",
    "(-8)**(1/3)*z1": "not a finite real number",
    "log(-1)": "not a finite real number",
    "0**(sin(1)**2 + cos(1)**2 - 1)": "sympy cannot compute it",
    "log(z1)": "not a real number for every sample",
    "sqrt(z1)": "not a real number for every sample",
    "z1**0.5": "not a real number for every sample",
    "sqrt(1 - z1)": "not a real number for every sample",
    "sqrt(-z1**2)": "not a real number for every sample",
}


@pytest.mark.parametrize("text", NO_LABEL)
def test_what_is_no_label(text):
    assert NO_LABEL[text] in refused(text)


@pytest.mark.parametrize("text", [None, 3, 1.5, True, ["z1"], b"z1", {"z1": 1}])
def test_what_is_no_text(text):
    with pytest.raises(ConfigError, match=r"^expression: .*: must be text such as"):
        normalise(text)


def test_names_in_other_alphabets_that_python_reads_as_ours():
    """Python's identifiers are normalised: the full-width z1 is z1, and has its identity."""
    assert normalise("\uff5a1 + z\uff12") == "z1 + z2"
