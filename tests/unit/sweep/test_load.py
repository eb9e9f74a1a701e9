"""Configuration files, and how they are refused."""

import pytest
import yaml

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import effective, expand, load_config, parse_config

from .example import REMOVED, STUDENTS, TIED, grid_of, mapping, refused, sweep_of


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "config.yaml"
        path.write_text(text)
        return path

    return write


def test_a_misspelt_key_is_refused_wherever_it_stands():
    """Case 19: `tresholds: 0.5` is an error that names the nearest valid key."""
    for place in ("", "sgd.", "model.", "grid.", "recovery."):
        line = refused({f"{place}tresholds": 0.5}, f"{place}tresholds")
        assert "nearest valid key is " in line and "threshold" in line
    with pytest.raises(ConfigError, match=r"^tresholds: 0.5: .*sweeps.<name>.recovery.threshold$"):
        parse_config({**mapping(), "tresholds": 0.5})


def test_a_misspelt_override_is_refused(write):
    """Case 19: also by `--config`."""
    path = write(yaml.safe_dump(mapping()))
    for overrides in ({"tresholds": 0.5}, {"sweeps": {"t": {"recovery": {"tresholds": "0.5"}}}}):
        with pytest.raises(ConfigError, match="threshold"):
            load_config(path, overrides)


def test_the_same_numbers_from_yaml_and_from_the_command_line(write):
    """Case 36: YAML 1.1 reads 3e5 and 5e-2 as text, `--config` as numbers."""
    path = write(yaml.safe_dump(mapping()))
    text = path.read_text().replace("learning_rate: 0.05", "learning_rate: 5e-2").replace("steps: 50", "steps: 3e5")
    assert "5e-2" in text and "3e5" in text
    from_yaml = load_config(write(text))
    from_command = load_config(path, {"sweeps": {"t": {"sgd": {"learning_rate": 0.05, "steps": 300000.0}}}})
    as_text = load_config(path, {"sweeps": {"t": {"sgd": {"learning_rate": "5e-2", "steps": "3e5"}}}})
    assert from_yaml == from_command == as_text


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"model.encoding": False}, "model.encoding"),
        ({"model.loss": False}, "model.loss"),
        ({"sgd.start": False}, "sgd.start"),
        ({"sgd.kernel": True}, "sgd.kernel"),
        ({"sgd.replicas": True}, "sgd.replicas"),
        ({"grid.omega": [0.5, False]}, "grid.omega"),
        ({**TIED, "model.student": {"kind": "tied", "activation": False}}, "model.student.activation"),
        ({**STUDENTS, "grid.student": [{"name": False, "kind": "tied"}]}, "grid.student.0.name"),
    ],
)
def test_booleans_of_yaml_are_refused_with_their_key(changes, key):
    """Case 36: `no` is false to YAML; where a word or a number belongs, the key is named and the reason given."""
    assert "YAML reads yes, no, on and off as booleans" in refused(changes, key)


def test_a_sweep_that_yaml_reads_as_a_boolean(write):
    """Case 36."""
    with pytest.raises(ConfigError, match=r"sweeps: False: .*quotes"):
        load_config(write("sweeps: {no: {}}"))


def test_a_key_that_is_there_twice(write):
    path = write("sweeps:\n  t:\n    grid:\n      d: 16\n      length: 2\n      d: 32\n")
    with pytest.raises(ConfigError, match=r"^sweeps.t.grid.d: '32': is there twice, in lines 4 and 6; keep one$"):
        load_config(path)


@pytest.mark.parametrize("text", ["", "sweeps:\n", "sweeps: {}\n", "sweeps: []\n", "results: here\n"])
def test_no_sweeps(write, text):
    with pytest.raises(ConfigError, match=r"^sweeps: "):
        load_config(write(text))


@pytest.mark.parametrize("text", ["- 1\n", "a: [1\n", "a: b: c\n", "a: 2024-13-45\n"])
def test_what_is_no_mapping_is_refused(write, text):
    with pytest.raises(ConfigError, match=r"^config: .*config.yaml"):
        load_config(write(text))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.yaml.*No such file"):
        load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("name", ["store", "a b", "a/b", "..", "", "ü", 7])
def test_names_of_sweeps(name):
    with pytest.raises(ConfigError, match=r"^sweeps: "):
        parse_config({"sweeps": {name: mapping()["sweeps"]["t"]}})


def test_overrides_are_merged_key_by_key(write):
    path = write(yaml.safe_dump(mapping()))
    config = load_config(path, {"results": "elsewhere", "sweeps": {"t": {"grid": {"d": ["3.2e1"]}}}})
    assert config.results == "elsewhere"
    assert config.sweeps["t"].grid.d == (32,)
    assert config.sweeps["t"].grid.omega == (0.1, 0.5)


@pytest.mark.parametrize("axis", ["d", "length", "omega", "a", "learning_rate", "student"])
def test_an_empty_axis_is_an_error_that_names_it(axis):
    """Case 14."""
    assert "is empty" in refused({f"grid.{axis}": []}, f"grid.{axis}")


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"grid": REMOVED}, "grid"),
        ({"grid.d": REMOVED}, "grid.d"),
        ({"sgd.steps": REMOVED}, "sgd.steps"),
        ({"sgd.learning_rate": REMOVED}, "sgd.learning_rate"),
        ({"model.target": REMOVED}, "model.target"),
        ({"model": REMOVED}, "model.target"),
        ({"grid.omega": REMOVED}, "grid.omega"),
        ({**TIED, "model.target": {"family": "hermite"}}, "grid.sie"),
    ],
)
def test_what_is_missing_is_named(changes, key):
    assert "is required" in refused(changes, key)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"grid.sie": 2}, "grid.sie"),
        ({**TIED, "grid.omega": 0.5}, "grid.omega"),
        ({"grid.learning_rate": [0.1]}, "sgd.learning_rate"),
        ({"grid.student": [{"name": "x", "kind": "attention"}]}, "model.student"),
        ({"grid.encoding": ["opposite-pair"]}, "model.encoding"),
        ({**STUDENTS, "grid.student": [{"name": "x", "kind": "tied"}] * 2}, "grid.student.1.name"),
        ({**STUDENTS, "grid.student": [{"kind": "tied"}]}, "grid.student.0.name"),
        ({**STUDENTS, "grid.student": ["tied"]}, "grid.student.0"),
        ({"model.encoding": REMOVED, "grid.encoding": ["opposite"]}, "grid.encoding.0.pattern"),
        ({"model.student.activation": "relu"}, "model.student.activation"),
        ({"model.target.expression": "z1"}, "model.target"),
        ({"model.target.version": "2"}, "model.target.version"),
        ({"model.encoding": {}}, "model.encoding"),
        ({"model.encoding": {"pattern": [[1], "x"]}}, "model.encoding.pattern"),
        ({"record": {"every": 5, "per_decade": 5}}, "record"),
        ({"recovery.threshold": [0.5, "2/sqrt(d)"]}, "recovery.threshold"),
        ({"recovery.threshold": [0.5, 0.5]}, "recovery.threshold"),
        ({"recovery.threshold": 1}, "recovery.threshold"),
        ({"recovery.threshold": "8/sqrt(d)"}, "recovery.threshold"),
        ({"recovery.decided": 1.0}, "recovery.decided"),
        ({"resources.gpu": -1}, "resources.gpu"),
        ({"sgd.replicas": 0}, "sgd.replicas"),
        ({"grid.length": 3}, "model.encoding"),
        ({"grid.d": 1}, "grid.d"),
        ({"sgd.start": {"m": 1, "e": "1/sqrt(2)"}}, "sgd.start"),
        ({"sgd.start": {"m": "1/(d - 16)"}}, "sgd.start.m"),
        ({"sgd.start": {"e": [0, 0.1]}}, "sgd.start.e"),
        ({**TIED, "sgd.start": {"e": 0.1}}, "sgd.start.e"),
        ({**TIED, "model.target": {"expression": "__import__('os')"}}, "model.target.expression"),
        ({**TIED, "model.target": {"expression": "z1*z3"}}, "model.target.expression"),
        ({**TIED, "model.target": {"callable": "nowhere:function"}}, "model.target.callable"),
        ({**STUDENTS, "grid.student": [{"name": "x", "kind": "attention"}]}, "grid.student.x"),
    ],
)
def test_what_does_not_fit_together_is_refused_at_once(changes, key):
    refused(changes, key)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        STUDENTS,
        {"sgd.start": {"m": "1/sqrt(d)", "e": [0.1]}, "sgd.steps": {"by_d": {16: 100, 64: "10*d"}}},
        {"model.encoding": {"pattern": [[1], [-1]], "injected": [0.5, "1/2"]}, "record": {"every": 10}},
        {"model.encoding": REMOVED, "grid.encoding": ["opposite-pair", {"name": "x", "pattern": "alternating"}]},
        {**STUDENTS, "sgd.learning_rate": {"tied": {"coefficient": 0.1, "d": -1}, "untied": 0.1}},
    ],
)
def test_the_effective_configuration_is_the_same_sweep(changes, tmp_path):
    sweep = sweep_of(changes)
    path = tmp_path / "effective.yaml"
    path.write_text(yaml.safe_dump({"sweeps": {"t": effective(sweep)}}))
    assert expand(load_config(path).sweeps["t"]).fingerprint == grid_of(changes).fingerprint
