"""Minima, regimes and boundaries of the positional-semantic target."""

from __future__ import annotations

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.theory import arc_table, product
from ssi_kernels.theory.arc_minima import critical_omega, turning_points
from ssi_kernels.theory.boundaries import boundaries
from ssi_kernels.theory.diagram import BOUNDARIES, phase_diagram
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.phase import REGIMES, curvatures, phase
from ssi_kernels.theory.searched import disc_minima, searched_landscape, searched_phase


def test_the_dynamics_turn_at_the_published_omega():
    """0.64 in the paper (figures 4 and 5), 0.64096 by our calculation."""
    assert round(boundaries(1.0).dynamics, 5) == 0.64096


def test_boundaries_do_not_depend_on_any_resolution(monkeypatch):
    """Other Chebyshev nodes, Hermite degree, step, reach and arc nodes: all boundaries move by less than 1e-10.

    This is how we know that they are converged to 1e-8; a coarse table shows that the comparison can fail.
    """
    strengths = (0.78, 0.9, 1.0)
    found = [list(boundaries(a).as_dict().values()) for a in strengths]

    def again(nodes: int, arc_nodes: int, degree: int, rule: tuple[float, float]) -> float:
        monkeypatch.setattr(arc_table, "_NODES", nodes)
        monkeypatch.setattr(arc_table, "_ARC_NODES", arc_nodes)
        monkeypatch.setitem(product.DEGREES, 2, degree)
        monkeypatch.setitem(product._RULES, 2, rule)
        _forget()
        return float(np.abs(np.array([list(boundaries(a).as_dict().values()) for a in strengths]) - found).max())

    try:
        assert again(61, 129, 300, (16.0, 0.08)) < 1e-10
        assert again(9, 17, 24, (8.0, 0.4)) > 1e-8
    finally:
        monkeypatch.undo()
        _forget()


def _forget() -> None:
    from ssi_kernels.theory import arc_minima
    from ssi_kernels.theory.boundaries import boundaries as lines

    for function in (arc_table.arc_table, arc_minima._scanned, turning_points, phase, lines):
        function.cache_clear()


@pytest.mark.parametrize(("omega", "a"), [(0.97, 0.76), (0.6, 1.0), (0.75, 1.0), (0.95, 0.76), (0.3, 0.5), (0.9, 1.0)])
def test_minima_are_those_of_a_search_of_the_disc(omega, a):
    """The general search, on the general landscape, knows nothing of the arc."""
    expected = sorted(disc_minima(searched_landscape(omega, a, "squared", "positional-semantic")), key=lambda x: x.risk)
    found = phase(omega, a).minima
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.hypot(one.e - other.e, one.m - other.m) < 1e-5
        assert one.risk == pytest.approx(other.risk, rel=1e-10)


@pytest.mark.parametrize(
    ("omega", "a", "regime"),
    [
        (0.3, 1.0, "unique-semantic"),
        (0.95, 0.76, "unique-semantic-misaligned"),
        (0.6, 1.0, "global-semantic"),
        (0.7, 1.0, "global-semantic-positional-dynamics"),
        (0.8, 1.0, "global-positional"),
        (0.9, 1.0, "unique-positional"),
    ],
)
def test_the_six_regimes(omega, a, regime):
    assert phase(omega, a).regime == regime


def test_a_mixed_minimum_near_the_edge_of_the_diagram():
    """About (0.86, 0.51) at a = 0.76, omega = 0.97."""
    mixed = phase(0.97, 0.76).minima[0]
    assert mixed.kind == "mixed" and mixed.side == "positional"
    assert (round(mixed.e, 2), round(mixed.m, 2)) == (0.86, 0.51)


@pytest.mark.parametrize("a", [0.76, 0.8, 0.9, 1.0, 1.3])
def test_every_boundary_is_where_its_property_changes(a):
    step = 1e-7
    for name, omega in boundaries(a).as_dict().items():
        before, after = (_properties(phase(omega + sign * step, a))[name] for sign in (-1, 1))
        assert (before, after) == (False, True), name


def _properties(found) -> dict[str, bool]:
    sides = [minimum.side for minimum in found.minima]
    return {
        "dynamics": found.steepest == "positional",
        "global": sides[0] == "positional",
        "positional_appears": "positional" in sides,
        "semantic_disappears": "semantic" not in sides,
    }


def test_two_minima_are_equally_deep_at_the_global_boundary():
    for a in (0.76, 1.0):
        first, second = phase(boundaries(a).global_, a).minima
        assert first.risk == pytest.approx(second.risk, abs=1e-12)


def test_folds_are_found_where_two_critical_points_meet():
    """At a = 0.76 the mixed minimum appears at a turning point of omega_c(u), between the ends of the arc."""
    (u,) = turning_points(0.76)
    assert boundaries(0.76).positional_appears == pytest.approx(float(critical_omega(u, 0.76)), abs=1e-12)
    around = critical_omega(u + np.array([-1e-4, 0, 1e-4]), 0.76)
    assert around[1] < min(around[0], around[2])


def test_curvatures_are_those_of_the_landscape():
    for omega, a in ((0.2, 0.8), (0.7, 1.1)):
        model = Model(targets.positional_semantic(omega, a), students.attention(), encodings.opposite_pair())
        hessian = landscape(model, 2).hessian(np.zeros(2))
        across, along = curvatures(omega, a)
        np.testing.assert_allclose(hessian, [[along, 0], [0, across]], atol=1e-10)


def test_the_diagram_is_that_of_its_points():
    omega, a = np.linspace(0, 1, 13), np.array([0.0, 0.3, 0.76, 1.0])
    diagram = phase_diagram(omega, a)
    for i, strength in enumerate(a):
        lines = boundaries(strength).as_dict()
        for name in BOUNDARIES:
            value = diagram[f"boundary_{name}"].values[i]
            assert np.isnan(value) if lines[name] is None else value == lines[name]
        for j, weight in enumerate(omega):
            found, here = phase(weight, strength), diagram.isel(a=i, omega=j)
            assert REGIMES[int(here.regime)] == found.regime
            assert int(here.steepest) == ["semantic", "positional"].index(found.steepest)
            e = here.e.values[np.isfinite(here.e.values)]
            np.testing.assert_allclose(e, [minimum.e for minimum in found.minima], atol=1e-9)
    assert diagram.degenerate.values[:, -1].all() and not diagram.degenerate.values[:, :-1].any()


def test_at_omega_1_minima_are_limits_from_below():
    for a in (0.75, 0.9, 1.2):
        limit, below = phase(1.0, a), phase(1 - 1e-7, a)
        assert limit.degenerate and not below.degenerate
        places = [np.array([(x.e, x.m) for x in found.minima]) for found in (limit, below)]
        np.testing.assert_allclose(*places, atol=1e-4)


def test_the_control_target_moves_without_a_transition():
    """The minimum of mixed-logit is unique and its e grows in small steps."""
    places = [searched_phase(float(omega), 1.0, "squared", "mixed-logit").minima for omega in np.linspace(0.1, 0.9, 9)]
    assert all(len(minima) == 1 for minima in places)
    e = np.array([minima[0].e for minima in places])
    assert (np.diff(e) > 0).all() and np.diff(e).max() < 0.25
    assert phase(0.6, 1.0).minima[0].e == 0 and phase(0.8, 1.0).minima[0].e == 1


def test_frobenius_has_its_own_risk_and_says_that_it_is_estimated():
    found = searched_phase(0.6, 1.0, "frobenius")
    assert "estimate" in found.note and found.regime == "global-semantic"
    assert abs(found.minima[0].risk - phase(0.6, 1.0).minima[0].risk) > 0.1


@pytest.mark.parametrize(("omega", "a"), [(1.2, 1.0), (-0.1, 1.0), (0.5, -1.0), (float("nan"), 1.0)])
def test_numbers_out_of_range_are_refused(omega, a):
    with pytest.raises(ConfigError):
        phase(omega, a)
    with pytest.raises(ConfigError):
        phase_diagram([omega], [a])
