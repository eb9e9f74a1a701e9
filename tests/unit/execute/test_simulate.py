"""`ssi.simulate`: what it returns, and what it refuses. The numbers themselves are tested with the kernels."""

import doctest
import json
import warnings

import numpy as np
import pytest
import xarray as xr

import ssi_kernels as ssi
from ssi_kernels.errors import End, Outcome
from ssi_kernels.execute import simulate as module
from ssi_kernels.execute.trajectories import as_dataset
from ssi_kernels.schedule import Schedule
from ssi_kernels.store import Segment
from ssi_kernels.sweep import expand, parse_config

ATTENTION = ssi.Model(
    ssi.targets.positional_semantic(0.5, 1.0), ssi.students.attention(), ssi.encodings.opposite_pair()
)
UNTIED = ssi.Model(ssi.targets.hermite(2), ssi.students.untied("square"))
SETTINGS = {"d": 16, "length": 2, "learning_rate": 0.05, "steps": 50, "replicas": 3}
DEFAULTS = {
    **{"replicas": 16, "seed": 0, "kernel": "auto", "dtype": "float32", "start": "random", "stop": "horizon"},
    **{"record": None, "threshold": 0.5, "decided": 0.7},
}


def point(model=ATTENTION, **changes):
    return module.point_of(model, **{**DEFAULTS, **SETTINGS, **changes})


@pytest.fixture(scope="module")
def attention():
    return ssi.simulate(
        ATTENTION, **SETTINGS, start={"m": 0.6, "e": "2/d"}, threshold=[0.9, "2/sqrt(d)"], record={"every": 20}
    )


@pytest.fixture(scope="module")
def untied():
    return ssi.simulate(UNTIED, **SETTINGS, dtype="float64", kernel="full", seed=3)


def test_the_example_of_the_documentation():
    found = doctest.DocTestFinder().find(module.simulate, "simulate")
    results = [doctest.DocTestRunner().run(test) for test in found]
    assert sum(r.attempted for r in results) == 4 and sum(r.failed for r in results) == 0


def test_dimensions_with_an_encoding(attention):
    assert dict(attention.sizes) == {"replica": 3, "step": 3, "component": 1, "threshold": 2}
    assert attention.m.dims == attention.norm.dims == ("replica", "step")
    assert attention.e.dims == ("replica", "step", "component") and "m_position" not in attention
    assert attention.recovery_step.dims == attention.outcome.dims == ("replica", "threshold")
    assert attention.end.dims == attention.final_m.dims == attention.final_step.dims == ("replica",)
    assert attention.final_e.dims == ("replica", "component")
    assert attention.step.values.tolist() == [0, 20, 40]
    assert attention.threshold.values.tolist() == [0.5, 0.9]


def test_dimensions_of_an_untied_student(untied):
    assert untied.m_position.dims == ("replica", "step", "position") and untied.sizes["position"] == 2
    assert not {"e", "final_e"} & set(untied)
    np.testing.assert_allclose(untied.m, np.sqrt((untied.m_position**2).mean("position")), rtol=1e-12)
    np.testing.assert_array_equal(untied.norm, untied.m)
    assert untied.step.values.tolist() == Schedule().steps(50).tolist()


def test_types(attention, untied):
    assert attention.m.dtype == attention.e.dtype == attention.norm.dtype == attention.final_m.dtype == np.float32
    assert untied.m.dtype == untied.m_position.dtype == untied.final_m.dtype == np.float64
    assert attention.recovery_step.dtype == attention.final_step.dtype == np.float64
    assert attention.outcome.dtype == attention.end.dtype == np.int8
    assert attention.replica.dtype == attention.step.dtype == np.int64


def test_starts_are_exact_and_a_threshold_may_be_crossed_at_once(attention):
    first = attention.isel(step=0)
    np.testing.assert_allclose(first.m, 0.6, rtol=1e-6)
    np.testing.assert_allclose(first.e, 2 / 16, rtol=1e-6)
    np.testing.assert_allclose(first.norm, np.hypot(0.6, 2 / 16), rtol=1e-6)
    assert (attention.recovery_step.sel(threshold=0.5) == 0).all()
    assert (attention.outcome.sel(threshold=0.5) == Outcome.RECOVERED).all()


def test_final_values_are_those_of_the_last_recording(attention, untied):
    for run in (attention, untied):
        assert (run.final_step == run.step[-1]).all() and (run.observed_until == 50).all()
        np.testing.assert_array_equal(run.final_m, run.m.isel(step=-1))


def test_every_variable_is_described(attention, untied):
    for run in (attention, untied):
        for name in {*run.data_vars, *run.coords}:
            assert run[name].attrs["long_name"] and run[name].attrs["units"], name
    assert attention.outcome.attrs["flag_meanings"] == "not_run censored recovered diverged"
    assert list(attention.end.attrs["flag_values"]) == [-1, 0, 1, 2, 3]


def test_the_attributes_say_where_the_numbers_come_from(attention):
    assert attention.attrs.keys() >= {
        "package_version",
        "jax",
        "jaxlib",
        "numpy",
        "ray",
        "device",
        "xla_flags",
        "commit",
    }
    configuration = json.loads(attention.attrs["configuration"])
    assert configuration["model"] == ATTENTION.canonical(2) and configuration["d"] == 16
    assert configuration["start"] == {"m": 0.6, "e": [0.125]} and configuration["thresholds"] == [0.5, 0.9]
    assert {key: configuration[key] for key in ("steps", "replicas", "seed")} == {"steps": 50, "replicas": 3, "seed": 0}


def test_it_can_be_written_without_a_warning(attention, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attention.to_zarr(tmp_path / "run.zarr", consolidated=False)
        assert xr.open_zarr(tmp_path / "run.zarr", consolidated=False).identical(attention)


def test_the_point_is_that_of_the_same_sweep():
    sweep = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "opposite-pair",
        },
        "grid": {"d": 16, "length": 2, "omega": 0.5, "a": 1},
        "sgd": {
            "learning_rate": {"coefficient": 0.2, "d": -0.5},
            "steps": "3*d",
            "start": {"m": "1/sqrt(d)"},
            "replicas": 3,
        },
        "recovery": {"threshold": ["2/sqrt(d)", 0.7], "decided": 0.8},
        "record": {"every": 10},
    }
    (planned,) = expand(parse_config({"sweeps": {"t": sweep}}).sweeps["t"]).points
    changes = {"learning_rate": sweep["sgd"]["learning_rate"], "steps": "3*d", "start": {"m": "1/sqrt(d)"}}
    asked = point(**changes, threshold=[0.7, "2/sqrt(d)"], decided=0.8, record={"every": 10})
    assert asked.point_id == planned.point_id and asked.stream_id == planned.stream_id
    resolved = ("d", "length", "learning_rate", "steps", "replicas", "thresholds", "decided", "start", "kernel", "seed")
    assert {key: getattr(asked, key) for key in resolved} == {key: getattr(planned, key) for key in resolved}


def test_spellings_of_one_point():
    same = [
        point(),
        point(d=16.0, learning_rate="5e-2", steps="5e1", seed=0.0, threshold="2/sqrt(d)", record=Schedule()),
    ]
    same += [point(steps=np.int64(50), threshold=np.array([0.5]), record={"per_decade": 20.0}, kernel="reduced")]
    same += [point(learning_rate={"attention": 0.05, "tied": 1}, steps={"coefficient": 50}, start=ssi.starts.random())]
    assert len({p.point_id for p in same}) == 1 and {p.steps for p in same} == {50}
    assert point(seed=2**62 + 1).point_id != point(seed=2**62).point_id


REFUSED = {
    "d": [2, 2.5, -1, "16", True, np.nan, None],
    "length": [0, 2.5, "2", None, True],
    "learning_rate": [0, -0.1, np.nan, np.inf, True, "fast", "1/(d - 16)", [0.1], {"tied": 0.1}, {}],
    "steps": [0, -5, 10.5, np.nan, True, None, "many", 1e300, 2**53],
    "replicas": [0, 2.5, "3", True, None],
    "seed": [0.5, "x", None, True, np.nan, 2**63],
    "kernel": ["gpu", None, 3, ["full"]],
    "dtype": ["float16", np.float32, None],
    "stop": ["never", None, True],
    "start": ["here", None, 0.5, {"x": 1}, {"m": 1, "e": 1}, {"m": 2}, ["random"]],
    "threshold": [0, 1, 1.5, -0.5, True, None, [], [[0.5]], [0.5, 0.5], [0.5, "2/sqrt(d)"], "1/0", "x", np.nan],
    "decided": [0, 1, -0.5, np.nan, "x", None, True],
    "record": [5, "every", {}, {"every": 1, "per_decade": 2}, {"evry": 3}, []],
}
DEEPER = [
    ("encoding", {"length": 3}),
    ("learning_rate.coefficent", {"learning_rate": {"coefficent": 0.1}}),
    *(("start.m", {"start": {"m": value}}) for value in (True, "x", [0.1], np.inf, None)),
    *(("start.e", {"start": {"e": value}}) for value in ([0.1, 0.2], [], None, [True])),
    ("start.e", {"start": ssi.starts.overlaps(e=[0, 1])}),
    *(("record.every", {"record": {"every": value}}) for value in (0, 2.5, "x", None, True)),
]
CASES = [(key, {key: value}) for key, values in REFUSED.items() for value in values] + DEEPER


@pytest.mark.parametrize("key, changes", CASES, ids=repr)
def test_what_is_refused(key, changes):
    with pytest.raises(ssi.ConfigError) as caught:
        ssi.simulate(ATTENTION, **{**SETTINGS, **changes})
    line = str(caught.value)
    assert line.startswith(f"{key}: ") and len(line.splitlines()) == 1, line
    assert len(caught.value.remedy) > 10


def test_a_model_is_needed_and_checked():
    with pytest.raises(ssi.ConfigError, match=r"^model: 'attention': must be an ssi_kernels.Model"):
        ssi.simulate("attention", **SETTINGS)
    with pytest.raises(ssi.ConfigError, match=r"^student: 'tied-relu': gives a number"):
        ssi.simulate(ssi.Model(ATTENTION.target, ssi.students.tied(), ATTENTION.encoding), **SETTINGS)


def segment(events, m, e, recovery):
    """One point, one replica per column: (diverged_step, stop_step) pairs, m and e at steps 0, 10, 20."""
    diverged, stop = np.array(events, float).T[:, None]
    stopped = ~np.isnan(stop)
    arrays = {
        **{"m": np.array([m], np.float32), "e": np.array([e], np.float32)[..., None]},
        **{"diverged_step": diverged, "stop_step": stop, "recovery_step": np.array([recovery], float)[..., None]},
        **{"stop_m": np.where(stopped, 0.8, np.nan), "stop_e": np.where(stopped, 0.1, np.nan)[..., None]},
    }
    return Segment(
        ({},), (0, len(m)), (0, 20), np.array([0, 10, 20]), arrays, {"device": "cpu", "measured": {"seconds": 1.0}}
    )


def test_what_became_of_each_replica():
    nan = np.nan
    events = [(nan, nan), (5, nan), (15, nan), (nan, 7), (nan, nan)]
    m = [[0, 0.1, 0.2], [0.9, nan, nan], [0.6, 0.9, nan], [0, nan, nan], [0, 0.9, 0.1]]
    e = [[0, 0, 0.9], [0, nan, nan], [0, 0, nan], [0, nan, nan], [0, 0, 0]]
    run = as_dataset(segment(events, m, e, [18, nan, 0, 7, nan]), point(steps=20, replicas=5))
    outcomes = [Outcome.RECOVERED, Outcome.DIVERGED, Outcome.DIVERGED, Outcome.RECOVERED, Outcome.CENSORED]
    ends = [End.POSITIONAL, End.UNDECIDED, End.UNDECIDED, End.SEMANTIC, End.UNDECIDED]
    assert run.outcome.values[:, 0].tolist() == outcomes and run.end.values.tolist() == ends
    np.testing.assert_array_equal(run.recovery_step[:, 0], [18, nan, nan, 7, nan])
    np.testing.assert_array_equal(run.final_step, [20, nan, nan, 7, 20])
    np.testing.assert_allclose(run.final_m, [0.2, nan, nan, 0.8, 0.1], rtol=1e-6)
    np.testing.assert_allclose(run.final_e[:, 0], [0.9, nan, nan, 0.1, 0], rtol=1e-6)
    np.testing.assert_array_equal(run.observed_until, [20, 5, 15, 7, 20])
    assert "measured" not in run.attrs and run.attrs["device"] == "cpu"


def test_a_rate_beyond_all_measure_diverges():
    run = ssi.simulate(ATTENTION, **{**SETTINGS, "learning_rate": 1e30}, record={"every": 20})
    assert (run.outcome == Outcome.DIVERGED).all() and (run.end == End.UNDECIDED).all()
    assert run.final_m.isnull().all() and run.final_e.isnull().all() and run.final_step.isnull().all()
    assert run.m.isel(step=slice(1, None)).isnull().all() and run.m.isel(step=0).notnull().all()
