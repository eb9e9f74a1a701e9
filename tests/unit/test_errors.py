"""What a user reads when something is wrong."""

import pickle

import pytest

from ssi_kernels.errors import ConfigError, End, Outcome, Status, StoreError


class Unshowable:
    def __repr__(self):
        raise RuntimeError("cannot be shown")


def test_the_line_has_key_value_and_remedy():
    error = ConfigError("omega", 1.5, "must lie in [0, 1]")
    assert str(error) == "omega: 1.5: must lie in [0, 1]"
    assert (error.key, error.value, error.remedy) == ("omega", 1.5, "must lie in [0, 1]")
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    "value", ["a\nb", "a\r\nb\x0bc\u2028d\x85e", ["x"] * 1000, "x" * 5000, [10**5000], Unshowable(), None]
)
def test_it_stays_one_short_line(value):
    line = str(ConfigError("a\nkey", value, "one\nremedy\u2029here"))
    assert len(line.splitlines()) == 1
    assert line.startswith("a key: ") and line.endswith(": one remedy here")
    assert len(line) < 200


def test_within_puts_a_path_before_the_key():
    error = ConfigError("omega", 2, "r").within("model").within("sweeps.t")
    assert str(error) == "sweeps.t.model.omega: 2: r"
    assert ConfigError("", 2, "r").within("grid.d").key == "grid.d"


def test_it_travels_between_processes():
    error = pickle.loads(pickle.dumps(ConfigError("omega", [1, 2], "r").within("model")))
    assert type(error) is ConfigError and str(error) == "model.omega: [1, 2]: r"


def test_store_errors_are_no_config_errors():
    assert issubclass(StoreError, RuntimeError) and not issubclass(StoreError, ConfigError)


def test_codes_are_those_of_the_stored_files():
    assert {c.name: c.value for c in Outcome} == {"NOT_RUN": -1, "CENSORED": 0, "RECOVERED": 1, "DIVERGED": 2}
    assert [e.value for e in End] == [-1, 0, 1, 2, 3]
    assert [e.name for e in End] == ["NOT_RUN", "UNDECIDED", "SEMANTIC", "POSITIONAL", "ELSEWHERE"]
    assert {s.name: s.value for s in Status} == {"MISSING": 0, "COMPLETE": 1, "FAILED": 2}
