"""Thresholds, stop rules and divergence in the time loop."""

import jax
import numpy as np
import pytest
from helpers import PAIR, TIED, UNTIED, UNTIED_ROW, assert_same, prepare, simulate
from jax import numpy as jnp

import ssi_kernels as ssi
from ssi_kernels.kernels import lanes as lanes_module
from ssi_kernels.kernels.lanes import _intervals
from ssi_kernels.kernels.program import program
from ssi_kernels.model import starts

EVERY = np.arange(401)
TRACE = ssi.Model(ssi.targets.hermite(2), ssi.students.attention("trace"))


def rarely_infinite(z):
    """1/0 on about one sample in 2,000, else an ordinary label."""
    return jnp.where(z[0] > 3.3, jnp.inf, z[0])


INFINITE = ssi.Model(ssi.targets.from_callable(rarely_infinite), ssi.students.tied("relu"))


def norms(result):
    return np.sqrt(result.records["m"] ** 2 + np.sum(result.records["e"] ** 2, axis=1))


@pytest.mark.parametrize(("model", "rate"), [(PAIR, 2.0), (TIED, 2.0), (UNTIED, 0.3)])
def test_recovery_is_found_at_step_resolution(model, rate):
    run = simulate(model, 400, record=EVERY, rate=rate, d=60, thresholds=(0.3, 0.6))
    for i, eta in enumerate((0.3, 0.6)):
        above = norms(run) >= np.float32(eta)
        first = np.where(above.any(axis=0), above.argmax(axis=0), np.nan)
        assert np.isfinite(first).any()
        np.testing.assert_array_equal(run.lanes.recovery[i], first)


def test_a_start_above_the_threshold_has_recovered_at_step_zero():
    """Case 15."""
    run = simulate(TIED, 10, start=starts.overlaps(0.9), thresholds=(0.5, 0.95))
    assert (run.lanes.recovery[0] == 0).all()
    assert not (run.lanes.recovery[1] == 0).any()


@pytest.mark.parametrize("stop", ["recovered", "decided"])
def test_a_stopped_replica_keeps_the_values_of_its_stop(stop):
    options = dict(record=np.arange(2001), rate=2.0, d=60, thresholds=(0.4, 0.55), decided=0.6)
    free, frozen = simulate(PAIR, 2000, **options), simulate(PAIR, 2000, stop=stop, **options)
    at = frozen.lanes.stop
    assert np.isfinite(at).all() and len(set(at)) > 1
    for lane, step in enumerate(at.astype(int)):
        m, e = free.records["m"][:, lane], free.records["e"][:, 0, lane]
        rule = norms(free)[:, lane] >= 0.55 if stop == "recovered" else np.maximum(abs(m), abs(e)) > 0.6
        assert rule.argmax() == step
        np.testing.assert_array_equal(frozen.records["m"][: step + 1, lane], m[: step + 1])
        assert np.isnan(frozen.records["m"][step + 1 :, lane]).all()
        assert frozen.final["m"][lane] == m[step]
        assert frozen.final["e"][0, lane] == e[step]


def test_a_stop_at_step_zero():
    run = simulate(TIED, 50, start=starts.overlaps(0.9), stop="recovered")
    assert (run.lanes.stop == 0).all()
    np.testing.assert_array_equal(run.final["m"], np.float32(0.9))


def test_an_absurd_learning_rate_diverges_and_says_so():
    """Case 15: float32 overflows at the first gradient that is not 0; the state itself would stay finite."""
    run = simulate(TIED, 40, rate=1e30, record=np.arange(41))
    assert (run.lanes.diverged <= 40).all()
    gone = np.arange(41)[:, None] >= run.lanes.diverged
    np.testing.assert_array_equal(np.isnan(run.records["m"]), gone)
    assert np.isnan(run.lanes.recovery).all()


@pytest.mark.parametrize("kernel", ["reduced", "full"])
def test_divergence_is_found_at_its_step_and_leaves_the_neighbours_alone(kernel):
    """Case 18."""
    run = simulate(INFINITE, 400, replicas=(0, 16), record=EVERY, rate=0.1, d=40, kernel=kernel)
    diverged = np.isfinite(run.lanes.diverged)
    assert 0 < diverged.sum() < 16
    for lane in np.flatnonzero(diverged):
        step = int(run.lanes.diverged[lane])
        assert np.isfinite(run.records["m"][:step, lane]).all() and np.isnan(run.records["m"][step:, lane]).all()
    for lane in np.flatnonzero(~diverged):
        alone = simulate(INFINITE, 400, replicas=(lane, lane + 1), record=EVERY, rate=0.1, d=40, kernel=kernel)
        assert_same(run, alone, slice(lane, lane + 1))


def test_a_frozen_replica_does_not_diverge():
    run = simulate(INFINITE, 400, replicas=(0, 64), start=starts.overlaps(0.9), stop="recovered", rate=0.1)
    assert np.isnan(run.lanes.diverged).all()


@pytest.mark.parametrize("start", [starts.overlaps(1.0), starts.overlaps(0.0, 1.0), starts.overlaps(-1.0)])
@pytest.mark.parametrize("kernel", ["reduced", "full"])
def test_starts_on_the_poles(start, kernel):
    run = simulate(PAIR, 100, start=start, kernel=kernel, d=50)
    assert np.isfinite(run.records["m"]).all()
    assert (norms(run) <= 1 + 1e-5).all()


def test_one_compilation_serves_all_numbers_of_a_shape():
    compiled = []

    def listen(event, duration, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    encoding = ssi.encodings.pattern([[1], [-0.25]])  # a shape that no other test has compiled
    for d, rate, omega, steps in ((64, 0.1, 0.2, 10), (10**6, 0.3, 0.9, 3000), (999, 5.0, 0.0, 77)):
        model = ssi.Model(ssi.targets.positional_semantic(omega, 1 + omega), ssi.students.attention(), encoding)
        simulate(model, steps, d=d, rate=rate)
    assert len(compiled) == 1


def test_compensated_float32_follows_float64():
    """Same streams, 20,000 steps of a small rate: without compensation the drift would be a thousand times this."""
    single, double = (
        simulate(PAIR, 20_000, dtype=t, d=1000, rate=0.01, start=starts.overlaps(0.3, 0.2))
        for t in ("float32", "float64")
    )
    assert np.abs(single.records["m"] - double.records["m"]).max() < 2e-6
    assert np.ptp(double.records["m"][:, 0]) > 1e-3


def test_x64_is_not_left_switched_on():
    """Case 24: the float64 path does not change what other code sees."""
    simulate(TIED, 10, dtype="float64")
    assert jnp.zeros(1).dtype == np.float32 and not jax.config.jax_enable_x64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("encoding", [ssi.encodings.opposite_pair(), ssi.encodings.pattern([[1, 0.5], [-1, 1]])])
def test_a_perfectly_learned_target_is_a_resting_place(encoding, dtype):
    """At omega = 0 the loss vanishes at m = 1, where 1 - m^2 and e are nothing but rounding errors."""
    target = ssi.targets.positional_semantic(0.0, 1.0, pattern=[[1], [-1]])
    model = ssi.Model(target, ssi.students.attention(), encoding)
    run = simulate(model, 40_000, replicas=(0, 64), d=50, dtype=dtype, start=starts.overlaps(0.3))
    np.testing.assert_allclose(run.final["m"], 1, atol=1e-5)
    np.testing.assert_allclose(run.final["e"], 0, atol=1e-3)
    assert np.isnan(run.lanes.diverged).all()


@pytest.mark.parametrize("d", [20, 64])
@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("model", [TIED, UNTIED, UNTIED_ROW, TRACE])
def test_every_length_with_few_and_many_degrees_of_freedom(model, length, d):
    """Normals come in pairs, so that an odd number of them leaves one over."""
    if model is TRACE and length == 1:
        pytest.skip("softmax attention needs two tokens")
    run = simulate(model, 50, length=length, d=d, rate=0.05)
    assert np.isfinite(run.records["m"]).all() and np.std(run.records["m"][-1] - run.records["m"][0]) > 0


def test_lanes_that_stop_leave_and_the_others_are_packed_again(monkeypatch):
    """Case 15's stop rules over several tiles: the same bits when tiles are looked at after every few steps."""
    options = dict(
        replicas=(0, 70), rate=2.0, d=60, thresholds=(0.55,), stop="recovered", record=np.arange(0, 2001, 40)
    )
    whole = simulate(PAIR, 2000, **options)
    widths = []

    def watched(shape, lanes, running, choose=lanes_module.launcher):
        widths.append(running)
        return choose(shape, lanes, running)

    monkeypatch.setattr(lanes_module, "launcher", watched)
    monkeypatch.setattr(lanes_module, "_BETWEEN_COMPACTIONS", 50)
    often = simulate(PAIR, 2000, **options)
    assert widths[0] == 70 and widths[-1] < 16 and len(set(widths)) > 5
    assert_same(often, whole)


def test_a_sweep_compiles_once_for_each_shape():
    """d, omega, a, the learning rate, thresholds, horizon and start are data; L and the stop rule are not."""
    program.cache_clear()
    compiled = []
    for length in (2, 4):
        for d, omega, rate, steps in ((60, 0.2, 0.3, 100), (600, 0.7, 0.1, 317), (10**6, 0.9, 1.0, 5)):
            target = ssi.targets.positional_semantic(omega, 0.5 + omega, [[1.0]] + [[-1.0]] * (length - 1))
            model = ssi.Model(target, ssi.students.attention())
            simulate(model, steps, length=length, d=d, rate=rate, thresholds=(omega / 2,))
        compiled.append(program.cache_info().currsize)
    assert compiled == [1, 2]
    shape, _ = prepare(model, length=4)
    assert program(shape)._cache_size() == 1


def test_memory_does_not_follow_the_horizon():
    """What a program holds is known when it is compiled; horizons are data."""
    shape, lanes = prepare(PAIR, (0, 16))
    compiled = program(shape).lower(lanes.data, lanes.keys, lanes.state, np.ones(16, bool), _intervals([])).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 2**20
