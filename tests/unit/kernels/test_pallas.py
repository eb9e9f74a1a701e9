"""The GPU kernel, interpreted on the CPU and lowered for CUDA: the same functions of one lane, so the same numbers.

Pallas' interpreter compiles other loops than the CPU program, in which products and sums may be contracted otherwise:
of the models here all but `tied` agree to the bit, and that one to a unit in the last place per step.
"""

import jax
import numpy as np
import pytest
from helpers import PAIR, TIED, UNTIED, UNTIED_ROW, prepare
from jax import numpy as jnp

import ssi_kernels as ssi
from ssi_kernels.kernels import launch, pallas
from ssi_kernels.kernels.lanes import _intervals
from ssi_kernels.kernels.program import program
from ssi_kernels.kernels.unroll import NotUnrollable

BLOCK, LANES = 8, 16
SQUARES = ssi.Model(ssi.targets.expression("sum(He2(z))/sqrt(2)"), ssi.students.tied("relu"))
TRACE = ssi.Model(ssi.targets.hermite(2), ssi.students.attention("trace"))
MODELS = {
    "pair": (PAIR, 2),
    "trace": (TRACE, 3),
    "joint": (UNTIED, 2),
    "row": (UNTIED_ROW, 3),
}
SCHEDULE = [(0, 0, True), (0, 7, True), (7, 100, True), (107, 93, True)]


def prepared(model, length, **options):
    """Shape, and the arguments of a program but its intervals."""
    shape, lanes = prepare(model, (0, LANES), length=length, rate=1.0, decided=0.3, **options)
    return shape, (lanes.data, lanes.keys, lanes.state, np.ones(LANES, bool))


def assert_equal(ours, theirs, exactly=True):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        if exactly:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def chosen(cases, default):
    """Those not named in `default` only in the slow run."""
    return [pytest.param(*c, marks=[] if name in default else pytest.mark.slow, id=name) for name, c in cases.items()]


STOPS = {f"{name}, {stop}": (*m, stop) for name, m in MODELS.items() for stop in ("horizon", "decided", "recovered")}


@pytest.mark.parametrize(("model", "length", "stop"), chosen(STOPS, ("pair, decided", "row, horizon")))
def test_the_same_bits_as_the_cpu_program(model, length, stop):
    shape, arguments = prepared(model, length, stop=stop, thresholds=(0.2, 0.3))
    intervals = _intervals(SCHEDULE)
    expected = program(shape)(*arguments, intervals)
    assert_equal(pallas.program(shape, BLOCK, True)(*arguments, intervals), expected)
    if stop == "decided" and model is PAIR:
        assert (np.asarray(expected[2]["stop"]) < 200).any()


def test_the_same_numbers_up_to_rounding_where_sums_are_contracted_otherwise():
    shape, arguments = prepared(SQUARES, 4)
    intervals = _intervals(SCHEDULE[:3])
    assert_equal(
        pallas.program(shape, BLOCK, True)(*arguments, intervals), program(shape)(*arguments, intervals), exactly=False
    )


def test_resumed_at_any_step_and_beyond_32_bits():
    shape, arguments = prepared(PAIR, 2)
    run = pallas.program(shape, BLOCK, True)
    start = 2**32 - 40
    whole, _, _ = run(*arguments, _intervals([(start, 40, True), (2**32, 60, True)]))
    data, keys, state, alive = arguments
    first, _, _ = run(data, keys, state, alive, _intervals([(start, 33, True)]))
    second, _, _ = run(data, keys, first, alive, _intervals([(start + 33, 7, True), (2**32, 60, True)]))
    assert_equal(second, whole)
    low, _, _ = run(*arguments, _intervals([(2**32 - 40 - 2**31, 40, True), (2**32 - 2**31, 60, True)]))
    assert not np.array_equal(low["m"], whole["m"])


def test_a_lane_does_not_depend_on_its_block():
    shape, (data, keys, state, alive) = prepared(PAIR, 2)
    intervals = _intervals(SCHEDULE)
    flipped = jax.tree.map(lambda x: x[..., ::-1], (data, keys, state, alive))
    one = pallas.program(shape, BLOCK, True)(data, keys, state, alive, intervals)
    other = pallas.program(shape, LANES, True)(*flipped, intervals)
    assert_equal(jax.tree.map(lambda x: x[..., ::-1], other), one)


LOWERED = MODELS | {"squares": (SQUARES, 4), "tied": (TIED, 1)}


@pytest.mark.parametrize(("model", "length"), chosen(LOWERED, ("pair",)))
def test_lowers_for_cuda_without_a_gpu(model, length):
    shape, (data, keys, state, _) = prepared(model, length, stop="decided")
    wide = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*x.shape[:-1], pallas.BLOCK), x.dtype), (data, keys, state))
    intervals = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), _intervals([]))
    traced = pallas.program(shape).trace(*wide, jax.ShapeDtypeStruct((pallas.BLOCK,), bool), intervals)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert "triton" in text


def sorted_sum(z):
    return jnp.sort(z)[0]


def rounded(z):
    return jnp.round(z[0]) + z[1]


def test_what_cannot_be_unrolled_is_left_to_the_other_program():
    model = ssi.Model(ssi.targets.from_callable(sorted_sum), ssi.students.tied("relu"))
    shape, arguments = prepared(model, 2)
    assert not pallas.supports(shape, arguments[0], arguments[2])
    with pytest.raises(NotUnrollable):
        pallas.program(shape, BLOCK, True)(*arguments, _intervals(SCHEDULE))


def test_what_triton_lacks_is_left_to_the_other_program():
    model = ssi.Model(ssi.targets.from_callable(rounded), ssi.students.tied("relu"))
    shape, arguments = prepared(model, 2)
    assert not pallas.supports(shape, arguments[0], arguments[2])


def test_lanes_must_fill_the_blocks():
    shape, arguments = prepared(PAIR, 2)
    with pytest.raises(ValueError, match="16 lanes are no multiple of the block, 12"):
        pallas.program(shape, 12, True)(*arguments, _intervals(SCHEDULE))


def test_the_gpu_kernel_is_chosen_on_a_gpu(monkeypatch):
    shape, lanes = prepare(PAIR, (0, 300))
    assert launch.launcher(shape, lanes, 300) == (program(shape), 16)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert launch.launcher(shape, lanes, 300) == (pallas.program(shape), 512)
    assert launch.launcher(shape, lanes, 3_000_000)[1] == launch.GPU_MOST
    shape, lanes = prepare(PAIR, (0, 4), kernel="full", d=12)
    assert launch.launcher(shape, lanes, 300)[0] == program(shape)
