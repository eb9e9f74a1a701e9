"""What theory says of points, trajectories and boundaries of a sweep."""

import types

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.model import Model, encodings, students, targets
from ssi_kernels.reduce.prediction import sweep_models
from ssi_kernels.reduce.runs import point_facts
from ssi_kernels.reduce.theory_boundaries import has_phase_diagram, theory_boundary_table
from ssi_kernels.reduce.theory_flow import flow_table
from ssi_kernels.reduce.theory_points import theory_point_table

from .synthetic import lognormal, synthetic
from .theory_examples import GAIN, PHASE, SCALING, readable, replace

TARGET, PAIR = targets.positional_semantic(0.3, 0.9), encodings.opposite_pair()


@pytest.mark.parametrize(
    ("model", "length", "has"),
    [
        (Model(TARGET, students.attention(), PAIR), 2, True),
        (Model(TARGET, students.attention(), PAIR, "frobenius"), 2, True),
        (Model(TARGET, students.attention(), encodings.alternating()), 2, True),
        (Model(TARGET, students.attention(), encodings.pattern([[1], [-1]])), 2, True),
        (Model(TARGET, students.attention(), encodings.alternating()), 3, False),
        (Model(TARGET, students.attention(), encodings.pattern([[1], [-2]])), 2, False),
        (Model(TARGET, students.attention(), PAIR + encodings.injected([0.5, 0])), 2, False),
        (Model(TARGET, students.linear_attention(), PAIR), 2, False),
        (Model(targets.mixed_logit(0.3, 0.9), students.attention(), PAIR), 2, False),
        (Model(targets.hermite(2), students.attention("trace"), PAIR), 2, False),
    ],
)
def test_which_models_have_a_phase_diagram(model, length, has):
    assert has_phase_diagram(model, length) is has


def test_boundaries_at_every_a_and_between():
    """At a = 1 the dynamics turn at omega = 0.64 (Arnaboldi et al. 2025, figure 4)."""
    table = theory_boundary_table(sweep_models(readable(PHASE)[0]))
    assert {0.9, 1.0} < set(table["a"]) and len(table) > 10
    last = table.iloc[-1]
    assert last["dynamics"] == pytest.approx(0.641, abs=1e-3)
    assert (table["loss"] == "squared").all() and (table["reason"] == "").all()


def test_other_models_have_no_boundaries():
    assert theory_boundary_table(sweep_models(readable(SCALING)[0])).empty
    assert theory_boundary_table(sweep_models(synthetic({"d": [64]}, lognormal(1, 0.1))[0])).empty


def test_a_verdict_and_a_bound_for_every_point(monkeypatch):
    asked = []

    def learnability(model, length):
        blind = model.target.sie == 2
        return types.SimpleNamespace(
            verdict="blind" if blind else "learns", reason="no component" if blind else "fine", remedy=""
        )

    def noise_bound(model, length, d, start, threshold):
        asked.append((model.target.sie, d))
        return None if model.target.sie == 2 else 6.0 / d

    replace(monkeypatch, "learnability", "learnability", learnability)
    replace(monkeypatch, "bound", "noise_bound", noise_bound)
    recovery, _ = readable(SCALING)
    table = theory_point_table(
        point_facts(recovery.assign(learning_rate=0.05 * xr.ones_like(recovery["horizon"]))), sweep_models(recovery)
    )
    assert table["verdict"].tolist() == ["learns", "blind"] * 2
    np.testing.assert_allclose(table["noise_bound"], [6 / 64, np.nan, 6 / 256, np.nan])
    np.testing.assert_allclose(table["noise_dominated"], [0, np.nan, 1, np.nan])
    assert sorted(asked) == [(1, 64), (1, 256), (2, 64), (2, 256)]


def test_points_without_a_prediction_say_why():
    recovery, _ = synthetic({"d": [64]}, lognormal(1, 0.1))
    table = theory_point_table(point_facts(recovery), sweep_models(recovery))
    assert table["reason"].item().startswith("no prediction: configuration: ")
    assert table["verdict"].item() == ""


def stand_in_flow(model, *, d, length, learning_rate, steps, m0, e0):
    stand_in_flow.asked.append((d, length, np.asarray(m0).tolist(), None if e0 is None else np.asarray(e0).tolist()))
    steps = np.array([0, 1, 10])
    variables = {"m": ("step", np.array([-0.1, -0.2, -0.3]))}
    if model.rank(length):
        variables["e"] = (("step", "component"), np.array([[0.3], [0.4], [-0.5]]))
    return xr.Dataset(variables, {"step": steps})


@pytest.fixture
def flows(monkeypatch):
    stand_in_flow.asked = []
    replace(monkeypatch, "flow", "flow", stand_in_flow)
    return stand_in_flow.asked


def test_the_flow_of_every_panel(flows):
    written = {**PHASE, "sgd": {**PHASE["sgd"], "start": {"m": 0.1, "e": 0.2}}}
    recovery, _ = readable(written)
    table = flow_table(recovery, sweep_models(recovery))
    assert len(table) == 4 * 3 and set(table["omega"]) == {0.5, 0.7}
    assert table["m"].tolist()[:3] == [0.1, 0.2, 0.3] and table["e"].tolist()[:3] == [0.3, 0.4, 0.5]
    assert flows[0] == (64, 2, 0.1, 0.2)


def test_a_start_at_0_has_no_flow(flows):
    written = {**PHASE, "sgd": {**PHASE["sgd"], "start": {"m": 0, "e": 0}}}
    recovery, _ = readable(written)
    table = flow_table(recovery, sweep_models(recovery))
    assert len(table) == 4 and table["m"].isna().all() and not flows
    assert "does not leave a start at 0" in table["reason"].iloc[0]


def test_untied_students_start_at_every_position(flows):
    written = {**GAIN, "sgd": {**GAIN["sgd"], "start": {"m": 0.1}}}
    recovery, _ = readable(written)
    table = flow_table(recovery, sweep_models(recovery))
    assert table["e"].isna().all()
    assert (64, 2, [0.1, 0.1], None) in flows and (64, 2, 0.1, None) in flows


def test_a_flow_that_fails_is_a_row_with_the_reason(monkeypatch):
    def broken(*_, **__):
        raise FloatingPointError("stiff")

    replace(monkeypatch, "flow", "flow", broken)
    recovery, _ = readable({**SCALING, "sgd": {**SCALING["sgd"], "start": {"m": 0.1}}})
    table = flow_table(recovery, sweep_models(recovery))
    assert len(table) == 4 and (table["reason"] == "no prediction: stiff").all()
