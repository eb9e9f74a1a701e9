"""Case 25: a replica's numbers depend on nothing but (point, replica, step)."""

import numpy as np
import pytest
from helpers import PAIR, TIED, UNTIED, UNTIED_ROW, assert_same, prepare, simulate

from ssi_kernels.kernels import assemble, lanes

MODELS = {"attention": PAIR, "tied": TIED, "untied joint": UNTIED, "untied row": UNTIED_ROW}
pytestmark = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_batch_width(model, dtype):
    whole = simulate(model, replicas=(0, 130), dtype=dtype)
    assert np.std(whole.records["m"][-1]) > 0
    for first, last in ((0, 1), (3, 10), (64, 128), (129, 130)):
        assert_same(whole, simulate(model, replicas=(first, last), dtype=dtype), slice(first, last))


def test_packing_and_order(model):
    options = [dict(name="a", d=100, rate=0.3), dict(name="b", d=4000, rate=0.1), dict(name="c", d=77, rate=0.5)]
    recorded = np.array([0, 1, 10, 200])
    alone = [simulate(model, record=recorded, **o) for o in options]
    for order in ([0, 1, 2], [2, 0, 1]):
        prepared = [prepare(model, **options[i]) for i in order]
        packed = lanes.run(prepared[0][0], assemble.beside([p[1] for p in prepared]), (0, 200), recorded)
        for place, i in enumerate(order):
            assert_same(packed, alone[i], slice(8 * place, 8 * place + 8))


@pytest.mark.parametrize("kernel", ["reduced", "full", "one-noise"])
def test_resumption_at_any_step(model, kernel):
    skip_untied(model, kernel)
    options = dict(kernel=kernel, d=40, rate=0.5)
    whole = simulate(model, record=[0, 1, 50, 63, 64, 65, 128, 200], **options)
    shape, batch = prepare(model, **options)
    seen = []
    for begin, end, recorded in (
        (0, 1, [0, 1]),
        (1, 63, [50, 63]),
        (63, 64, [64]),
        (64, 150, [65, 128]),
        (150, 200, [200]),
    ):
        part = lanes.run(shape, batch, (begin, end), np.array(recorded))
        seen.append(part.records["m"])
        _, batch = prepare(model, **options)
        batch.state, batch.recovery = part.lanes.state, part.lanes.recovery
        batch.diverged, batch.stop = part.lanes.diverged, part.lanes.stop
    np.testing.assert_array_equal(np.concatenate(seen), whole.records["m"])
    np.testing.assert_array_equal(part.lanes.recovery, whole.lanes.recovery)


def test_recording_schedule(model):
    sparse, dense = simulate(model, record=[0, 200]), simulate(model, record=np.arange(201))
    np.testing.assert_array_equal(sparse.records["m"], dense.records["m"][[0, 200]])
    np.testing.assert_array_equal(sparse.lanes.recovery, dense.lanes.recovery)


@pytest.mark.parametrize("kernel", ["full", "one-noise"])
def test_batch_width_with_explicit_weights(model, kernel):
    skip_untied(model, kernel)
    whole = simulate(model, replicas=(0, 20), kernel=kernel, d=31)
    assert_same(whole, simulate(model, replicas=(17, 18), kernel=kernel, d=31), slice(17, 18))


def skip_untied(model, kernel):
    if kernel == "one-noise" and model.student.is_untied:
        pytest.skip("one noise vector is for one direction")
