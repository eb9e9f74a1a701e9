"""A sweep without a learning rate takes a fraction of the noise bound, and remembers it."""

from __future__ import annotations

import json

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model, starts, students, targets
from ssi_kernels.sweep import expand, parse_config
from ssi_kernels.sweep.default_rate import default_rate


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    default_rate.cache_clear()
    yield tmp_path / "ssi-kernels" / "rates.json"
    default_rate.cache_clear()


def sweep(target: dict, **grid):
    student = {"kind": "attention"} if target.get("family") == "mixed-logit" else {"kind": "tied"}
    encoding = "opposite-pair" if target.get("family") == "mixed-logit" else "none"
    model = {"target": target, "student": student, "encoding": encoding}
    one = {"model": model, "grid": {"d": [100, 10_000], "length": 2, **grid}, "sgd": {"steps": 1000}}
    return parse_config({"sweeps": {"s": one}}).sweeps["s"]


def test_the_rate_is_that_of_theory():
    from ssi_kernels.theory import noise_bound

    for point in expand(sweep({"family": "hermite"}, sie=[1, 2])).points:
        bound = noise_bound(point.model, point.length, point.d, point.start)
        assert point.learning_rate == float(f"{0.3 * bound:.3g}")


def test_it_is_remembered(cache):
    first = [point.learning_rate for point in expand(sweep({"family": "hermite"}, sie=2)).points]
    known = json.loads(cache.read_text())
    assert sorted(set(known.values())) == sorted(set(first))
    cache.write_text(json.dumps({key: 0.123 for key in known}))
    default_rate.cache_clear()
    assert {point.learning_rate for point in expand(sweep({"family": "hermite"}, sie=2)).points} == {0.123}


def test_a_damaged_or_read_only_memory_only_costs_time(cache, monkeypatch):
    model, start = Model(targets.hermite(2), students.tied("relu")), starts.random()
    expected = default_rate(model, 2, 100, start)
    cache.write_text("{ not json")
    default_rate.cache_clear()
    assert default_rate(model, 2, 100, start) == expected
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    default_rate.cache_clear()
    assert default_rate(model, 2, 100, start) == expected


def test_what_cannot_learn_has_no_default():
    with pytest.raises(ConfigError, match=r"sweeps\.s\.sgd\.learning_rate.*no Hermite component of order 3"):
        sweep({"family": "hermite"}, sie=3)


def test_where_the_bound_depends_on_omega_and_a_a_rate_is_needed():
    with pytest.raises(ConfigError, match=r"sweeps\.s\.sgd\.learning_rate.*depends on omega and a"):
        sweep({"family": "mixed-logit"}, omega=0.5, a=1.0)
