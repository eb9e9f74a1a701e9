"""Random targets of known Hermite coefficients: their exponents, and what every leading tensor has to satisfy."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ssi_kernels.model import targets
from ssi_kernels.theory.exponent import exponent

LENGTH = 3
ALPHAS = [alpha for alpha in itertools.product(range(4), repeat=LENGTH) if sum(alpha)]
SERIES = st.dictionaries(st.sampled_from(ALPHAS), st.integers(-4, 4).filter(bool), min_size=1, max_size=5)


def text_of(series, places=(1, 2, 3)):
    return " + ".join(
        f"({c})*" + "*".join(f"He{k}(z{place})" for place, k in zip(places, alpha, strict=True))
        for alpha, c in series.items()
    )


def found_for(series, places=(1, 2, 3)):
    return exponent(targets.expression(text_of(series, places)), LENGTH)


def root(alpha):
    return math.sqrt(math.prod(map(math.factorial, alpha)))


@settings(max_examples=30)
@given(SERIES, st.integers(-3, 3))
def test_the_leading_order_of_a_series(series, constant):
    order = min(map(sum, series))
    leading = {alpha: c for alpha, c in series.items() if sum(alpha) == order}
    found = exponent(targets.expression(f"{text_of(series)} + ({constant})"), LENGTH)
    assert found.sie == order and found.exact
    assert found.coefficients == pytest.approx({alpha: c * root(alpha) for alpha, c in leading.items()}, rel=1e-14)
    norm = math.sqrt(math.factorial(order) * sum((c * root(alpha)) ** 2 for alpha, c in leading.items()))
    assert found.norm == pytest.approx(norm, rel=1e-13)
    assert found.on_ones == math.factorial(order) * sum(leading.values())


@settings(max_examples=15)
@given(SERIES)
def test_bounds_between_the_norms(series):
    found = found_for(series)
    assert abs(found.on_ones) / LENGTH ** (found.sie / 2) <= found.operator_norm * (1 + 1e-9)
    assert found.operator_norm <= found.norm * (1 + 1e-9)


@settings(max_examples=15)
@given(SERIES, st.permutations([1, 2, 3]))
def test_the_order_of_the_fields_does_not_matter(series, places):
    one, other = found_for(series), found_for(series, places)
    assert (one.sie, one.orthogonally_decomposable) == (other.sie, other.orthogonally_decomposable)
    assert (one.norm, one.on_ones) == pytest.approx((other.norm, other.on_ones), rel=1e-13)
    assert one.operator_norm == pytest.approx(other.operator_norm, rel=1e-8)


@settings(max_examples=10)
@given(SERIES)
def test_what_cancels_is_not_seen(series):
    """A cube and its terms, which sum to 0."""
    written = f"{text_of(series)} + (z1 + z2)**3 - z1**3 - 3*z1**2*z2 - 3*z1*z2**2 - z2**3"
    assert exponent(targets.expression(written), LENGTH).coefficients == found_for(series).coefficients


@settings(max_examples=20)
@given(st.integers(3, 5), st.sampled_from([(3, 4, 5), (5, 12, 13), (8, 15, 17)]), st.integers(1, 4), st.integers(-4, 4))
def test_rotated_diagonal_tensors(k, triple, one, other):
    """a He_k(u . z) + b He_k(u' . z) with orthonormal u, u': the operator norm is k! max(|a|, |b|)."""
    a, b, c = triple
    text = f"({one})*He{k}({a}/{c}*z1 + {b}/{c}*z2) + ({other})*He{k}({b}/{c}*z1 - {a}/{c}*z2)"
    found = exponent(targets.expression(text), 2)
    f = math.factorial(k)
    assert found.sie == k and found.orthogonally_decomposable is True
    assert found.norm == pytest.approx(f * math.hypot(one, other), rel=1e-12)
    assert found.operator_norm == pytest.approx(f * max(one, abs(other)), rel=1e-9)


@settings(max_examples=20)
@given(st.integers(3, 5), st.sampled_from([(3, 4, 5), (5, 12, 13)]), st.integers(1, 4), st.integers(1, 4))
def test_directions_that_are_not_orthogonal(k, triple, one, other):
    a, b, c = triple
    text = f"({one})*He{k}(z1) + ({other})*He{k}({a}/{c}*z1 + {b}/{c}*z2)"
    assert exponent(targets.expression(text), 2).orthogonally_decomposable is False


@settings(max_examples=15)
@given(SERIES, st.sampled_from(["sin(z{})", "abs(z{})*z{}", "relu(z{}) - relu(-z{})"]))
def test_odd_functions_times_a_series(series, odd):
    """A fourth field through an odd function adds one to the exponent."""
    assume(len(series) < 4)
    found = exponent(targets.expression(f"({text_of(series)})*({odd.format(4, 4)})"), LENGTH + 1)
    assert found.sie == min(map(sum, series)) + 1
    assert all(alpha[3] == 1 for alpha in found.coefficients)
