"""`ssi sie`, `ssi risk`, `ssi phase`, `ssi flow`, and what `ssi plan` warns of."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from ssi_kernels import theory
from ssi_kernels.cli import cli
from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, encodings, students, targets


def ask(*arguments: str) -> dict:
    done = CliRunner().invoke(cli, [*map(str, arguments), "--json"], catch_exceptions=False, standalone_mode=False)
    return json.loads(done.stdout)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "sweeps: {s: {model: {target: {family: hermite}, student: {kind: tied}},"
        " grid: {d: [100, 1000], length: 2, sie: [1, 2, 3]}, sgd: {learning_rate: 0.4, steps: 1e5}}}"
    )
    return path


def test_sie():
    found = ask("sie", "He4(z1) + 2*He4(z2)", "--length", 2)
    assert found["sie"] == 4 and found["leading_tensor_norm"] == pytest.approx(24 * 5**0.5)
    assert ask("sie", "3", "--length", 2)["sie"] is None


def test_risk():
    model = Model(targets.positional_semantic(0.5, 1.0), students.attention(), encodings.opposite_pair())
    found = ask("risk", "--omega", 0.5, "--a", 1, "--e", 0.3, "--m", 0.4)
    assert found["risk"] == pytest.approx(float(theory.risk(model, e=0.3, m=0.4)), rel=1e-15)
    assert ask("risk", "--omega", 0.5, "--a", 1, "--m", 0.4, "--loss", "frobenius")["error"] > 0


def test_phase():
    found = ask("phase", "--omega", 0.97, "--a", 0.76)
    assert (found["regime"], found["steepest"]) == ("global-positional", "positional")
    assert [minimum["kind"] for minimum in found["minima"]] == ["mixed", "semantic"]
    assert {"e", "m", "risk", "kind"} <= found["minima"][0].keys()


def test_boundaries():
    found = ask("phase", "--a", 1.0, "--boundaries")
    assert found["dynamics"] == pytest.approx(0.64096, abs=5e-6)
    assert ask("phase", "--a", 0.5, "--boundaries")["global"] is None


def test_flow(config):
    found = ask("flow", config, "--sweep", "s", "--point", "sie=2", "--point", "d=1000")
    assert found["verdict"] == "learns" and found["start"] == pytest.approx([1000**-0.5])
    assert found["recovery"][0]["step"] is None  # the rate is above the noise bound
    assert len(found["m"]) == len(found["step"])


def test_plan_warns_of_blind_and_of_too_fast_points(config):
    warnings = ask("plan", config)["warnings"]
    kinds = {(warning["coords"]["sie"], warning["kind"]) for warning in warnings}
    assert kinds == {(2, "noise-dominated"), (3, "blind")}
    words = CliRunner().invoke(cli, ["plan", str(config)], standalone_mode=False).stdout
    assert "warning: d=100 length=2 sie=3: blind: relu has no Hermite component of order 3" in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("phase", "--a", "1"), "--omega"),
        (("phase", "--a", "1", "--omega", "0.5", "--boundaries"), "--omega"),
        (("phase", "--a", "1", "--boundaries", "--target", "mixed-logit"), "no transition"),
        (("risk", "--omega", "2", "--a", "1"), "omega"),
        (("risk", "--omega", "0.5", "--a", "1", "--e", "0.9", "--m", "0.9"), "m, e"),
        (("risk", "--omega", "0.5", "--a", "1", "--loss", "cubic"), "loss"),
        (("sie", "__import__('os')", "--length", "2"), "not allowed"),
        (("sie", "z3", "--length", "2"), "length 2"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(ConfigError, match=message.replace("-", "\\-")):
        CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)


def test_a_blind_point_has_no_flow(config):
    with pytest.raises(ConfigError, match="does not move"):
        ask("flow", config, "--sweep", "s", "--point", "sie=3", "--point", "d=100")
