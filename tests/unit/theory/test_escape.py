"""Flatness index, escape order and direction; the noise bound; which pairs are blind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, starts, students, targets
from ssi_kernels.theory.bound import default_rate, noise_bound
from ssi_kernels.theory.escape import escape, lowest
from ssi_kernels.theory.form import Form
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.learnability import learnability

_text, _trace = targets.expression, students.attention("trace")
_pair, _shift = encodings.opposite_pair(), encodings.injected([0.5, 0.5])


def test_an_encoding_lowers_the_escape_order_from_4_to_2():
    """Attention, trace, 4/3 + He4(z1) + 2 He4(z2): SIE 4; the curvature along e at 0 is negative."""
    target = _text("4/3 + He4(z1) + 2*He4(z2)")
    without, found = escape(Model(target, _trace), 2), escape(Model(target, _trace, _pair), 2)
    assert (without.flatness, without.order) == (4, None)
    assert (found.flatness, found.order) == (2, 2)
    assert np.abs(found.direction).tolist() == pytest.approx([1, 0], abs=1e-9)


def test_a_positive_curvature_is_flatness_but_no_escape():
    found = escape(Model(_text("He4(z1) + He4(z2)"), _trace, _pair), 2)
    assert (found.flatness, found.order) == (2, None)


@pytest.mark.parametrize(
    ("model", "length", "flatness", "order"),
    [
        (Model(targets.hermite(1), students.tied("relu")), 3, 1, 1),
        (Model(targets.hermite(2), students.untied("relu")), 3, 2, 2),
        (Model(targets.hermite(3), students.tied("h3")), 2, 3, 3),
        (Model(targets.hermite(4), students.tied("h4")), 1, 4, 4),
        (Model(_text("z1*z2*z3"), students.untied("h3")), 3, 3, 3),
        (Model(_text("sum(z)"), _trace, _shift), 2, 1, 1),
        (Model(_text("z1*prod(1 + z[1:])"), students.tied("relu")), 40, 1, 1),
        (Model(_text("-He4(z1) - He4(z2)"), _trace), 2, 4, 4),
    ],
)
def test_orders_known_by_hand(model, length, flatness, order):
    found = escape(model, length)
    assert (found.flatness, found.order) == (flatness, order)


def test_the_rate_is_the_leading_coefficient():
    """R(rho v) - R(0) = rate rho^order + higher orders."""
    for model, length in (
        (Model(targets.hermite(3), students.tied("h3")), 2),
        (Model(_text("sum(He2(z))"), _trace, _pair), 2),
        (Model(_text("z1*z2"), students.untied("relu")), 2),
    ):
        found, surface = escape(model, length), landscape(model, length)
        x = 0.01 * np.array(found.direction)
        change = surface.risk(x) - surface.risk(0 * x)
        assert change == pytest.approx(found.rate * 0.01**found.order, rel=1e-2)


def test_the_lowest_direction_of_a_form_by_hand():
    """v1 v2 v3 is lowest at (-1, 1, 1) / sqrt(3) and its like: -1 / sqrt(27)."""
    form = Form(np.array([[1, 1, 1]]), np.array([1.0]), 0.0)
    v, value = lowest(form, 3, np.eye(3))
    assert value == pytest.approx(-(27**-0.5)) and np.abs(v).tolist() == pytest.approx([3**-0.5] * 3)


BLIND = {
    "relu, SIE 3": (Model(targets.hermite(3), students.tied("relu")), 2, "no Hermite component of order 3"),
    "relu, SIE 3, untied": (Model(targets.hermite(3), students.untied("relu")), 2, "no Hermite component of order 3"),
    "odd, attention": (Model(_text("sum(z)"), _trace), 2, "injected shift"),
    "odd, with an encoding": (Model(_text("sum(He3(z))"), _trace, _pair), 2, "injected shift"),
    "odd, long": (Model(_text("sum(He3(z))"), _trace), 6, "injected shift"),
    "z1 - z2": (Model(_text("z1 - z2"), students.tied("relu")), 2, "vanishes on (1,...,1)"),
    "squares": (Model(_text("(z1**2 - z2**2)/sqrt(2)"), students.tied("relu")), 2, "vanishes on (1,...,1)"),
    "constant": (Model(_text("4"), students.tied("relu")), 2, "constant"),
}


@pytest.mark.parametrize("name", BLIND)
def test_blind_pairs_are_named(name):
    model, length, reason = BLIND[name]
    found = learnability(model, length)
    assert found.verdict == "blind" and found.warns
    assert reason in found.reason and found.remedy
    assert noise_bound(model, length) is None


@pytest.mark.parametrize(
    ("model", "length"),
    [
        (Model(_text("He4(z1) + He4(z2)"), _trace), 2),
        (Model(targets.hermite(4), students.tied("relu")), 2),
        (Model(_text("-sum(He2(z))"), students.tied("relu")), 3),
    ],
)
def test_a_coupling_of_the_wrong_sign_shrinks(model, length):
    found = learnability(model, length)
    assert found.verdict == "shrinks" and "wrong sign" in found.reason


@pytest.mark.parametrize(
    ("model", "length"),
    [
        (Model(_text("z1 - z2"), students.untied("relu")), 2),
        (Model(_text("(z1**2 - z2**2)/sqrt(2)"), students.untied("relu")), 2),
        (Model(_text("sum(He3(z))"), _trace, _shift), 2),
        (Model(targets.hermite(2), students.tied("relu")), 8),
        (Model(_text("sum(He2(z))"), _trace), 6),
        (Model(targets.positional_semantic(0.5, 1.0), students.attention(), _pair, "frobenius"), 2),
    ],
)
def test_what_learns_is_not_called_blind(model, length):
    assert learnability(model, length).verdict == "learns"


def test_a_label_of_positions_alone_is_learned_along_e():
    model = Model(targets.positional_semantic(1.0, 1.0), students.attention(), _pair)
    assert learnability(model, 2).verdict == "learns" and "positional" in learnability(model, 2).reason
    assert np.abs(escape(model, 2).direction).tolist() == pytest.approx([1, 0], abs=1e-9)


def test_the_noise_bound_follows_the_escape_order():
    """Constant in d up to order 2, then ~ d^-(k/2 - 1)."""
    for model, power in (
        (Model(targets.hermite(2), students.tied("relu")), 0.0),
        (Model(targets.hermite(3), students.tied("h3")), -0.5),
        (Model(targets.hermite(4), students.tied("h4")), -1.0),
    ):
        few, many = (noise_bound(model, 1, d) for d in (10**4, 10**6))
        assert math.log(many / few) / math.log(100) == pytest.approx(power, abs=0.01)


def test_the_default_rate_has_three_digits():
    model = Model(targets.hermite(2), students.tied("relu"))
    rate = default_rate(model, 2, 1000)
    assert rate == float(f"{rate:.3g}") == pytest.approx(0.3 * noise_bound(model, 2, 1000), rel=6e-3)
    cubic = Model(targets.hermite(3), students.tied("h3"))
    assert default_rate(cubic, 2, 1000, starts.overlaps(m=0.2)) > 2 * default_rate(cubic, 2, 1000)
    assert default_rate(BLIND["z1 - z2"][0], 2, 1000) is None


def test_the_bound_needs_a_length():
    with pytest.raises(ConfigError, match="length"):
        noise_bound(Model(targets.hermite(2), students.tied("relu")))
