"""`full` is SGD: against a plain implementation with explicit samples, weights and automatic differentiation."""

import jax
import numpy as np
import pytest
from helpers import PAIR, TIED, UNTIED, UNTIED_ROW, prepare, simulate
from jax import numpy as jnp

import ssi_kernels as ssi
from ssi_kernels.kernels import gaussian, initial, streams
from ssi_kernels.kernels.threefry import threefry
from ssi_kernels.model import starts

D, STEPS, RATE = 12, 6, 0.7
RANK_TWO = ssi.Model(
    ssi.targets.expression("z1*z2"),
    ssi.students.tied("tanh"),
    ssi.encodings.pattern([[1, 0.5], [-1, 2]]) + ssi.encodings.injected([0.3, -0.2]),
)
TRACE = ssi.Model(ssi.targets.expression("sum(He2(z))"), ssi.students.attention("trace"), ssi.encodings.opposite_pair())
FROBENIUS = ssi.Model(PAIR.target, PAIR.student, PAIR.encoding, "frobenius")
MODELS = {
    "pair": PAIR,
    "frobenius": FROBENIUS,
    "trace": TRACE,
    "tied": TIED,
    "rank 2, injected": RANK_TWO,
    "joint": UNTIED,
    "row": UNTIED_ROW,
}


def plain_loss(model, W, X, w_star, P):
    """||y - f||^2 (or not squared) of one sample: X (L, d) with entries N(0, 1/d), W (L, d) or (d,), P (L, d)."""
    length, d = X.shape
    z_star = X @ w_star
    z = jnp.sum(X * W, axis=1) if W.ndim == 2 else X @ W + P @ W / jnp.sqrt(d) + model.encoding.shift(length)
    fields = jnp.sum(z)[None] / jnp.sqrt(length) if model.student.sees_sum else z
    parameters = {k: jnp.asarray(v) for k, v in model.target.parameters().items()}
    y = model.target.labeller(length, model.encoding, parameters)(z_star)
    square = jnp.sum((y - model.student.outputs(fields)) ** 2)
    return jnp.sqrt(square) if model.loss == "frobenius" else square


def sample(keys, step, length, lane):
    """The tokens of one step, from the stream's definition: (L, d) with entries N(0, 1/d)."""
    a, b = (x[lane] for x in streams.derived(keys, 0, streams.STEP))
    pairs = length * D // 2
    counter = np.full(pairs, step, np.uint32), np.arange(pairs, dtype=np.uint32)
    words = threefry((a[None], b[None]), counter)
    pair = np.asarray(gaussian.pair(jnp.asarray(words[0]), jnp.asarray(words[1]), np.float64))
    tokens = pair.reshape(length, D // 2)
    return np.concatenate([tokens.real, tokens.imag], axis=1) / np.sqrt(D)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_full_is_plain_sgd(model):
    length, lane = 2, 3
    begin = starts.overlaps(0.3, [0.2] * model.rank(length)) if model.rank(length) else starts.overlaps(0.3)
    options = dict(d=D, rate=RATE, kernel="full", dtype="float64", start=begin)
    run = simulate(model, STEPS, record=np.arange(STEPS + 1), **options)
    shape, lanes = prepare(model, **options)
    frame = initial.frame(shape, D, lanes.keys)
    with jax.enable_x64(True):
        w_star, p = np.sqrt(D) * frame["u"][:, lane], frame["p"][:, :, lane]
        P = model.encoding.matrix(length) @ p
        W = np.sqrt(D) * lanes.state["v"][..., lane]
        for step in range(STEPS + 1):
            np.testing.assert_allclose(run.records["m"][step, lane], overlap(W, w_star), rtol=1e-10)
            np.testing.assert_allclose(
                run.records["e"][step, :, lane], p @ W / np.sqrt(D) if W.ndim == 1 else [], rtol=1e-9
            )
            gradient = jax.grad(plain_loss, argnums=1)(model, W, sample(lanes.keys, step, length, lane), w_star, P)
            W = W - RATE * np.asarray(gradient)
            W = W * np.sqrt(D) / norm(model, W)


def overlap(W, w_star):
    m = W @ w_star / D
    return m if m.ndim == 0 else np.sqrt(np.mean(m**2))


def norm(model, W):
    if model.student.norm == "row":
        return np.linalg.norm(W, axis=1, keepdims=True)
    return np.linalg.norm(W) / np.sqrt(1 if W.ndim == 1 else W.shape[0])


@pytest.mark.parametrize(
    ("name", "d"), [("pair", 12), ("pair", 13), ("trace", 13), ("tied", 12), ("rank 2, injected", 13)]
)
def test_one_noise_keeps_the_weights_on_the_sphere(name, d):
    """In an even and an odd dimension. Its law: tests/statistical/test_one_noise.py."""
    run = simulate(MODELS[name], 300, (0, 16), kernel="one-noise", d=d, rate=1.0)
    v = run.lanes.state["v"].astype(float)
    assert v.shape == (d, 16)
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=0, atol=3e-6)
    overlaps = np.sum(run.lanes.data["u"] * v, axis=0)
    np.testing.assert_allclose(run.final["m"], overlaps, atol=1e-5)
    assert np.std(overlaps) > 0.01


def test_one_noise_draws_fewer_normals():
    from ssi_kernels.kernels.program import dynamics_of

    count = {k: dynamics_of(prepare(PAIR, d=200, kernel=k)[0]).normals for k in ("full", "one-noise")}
    assert count == {"full": 400, "one-noise": 206}


@pytest.mark.statistical
def test_tokens_and_start_do_not_share_their_numbers():
    """Case 21: every stream comes from one seed, yet cosines are of order 1/sqrt(d) (5 standard deviations)."""
    d = 4000
    shape, lanes = prepare(TIED, (0, 8), d=d, kernel="full")
    frame = initial.frame(shape, d, lanes.keys)
    tokens = np.stack([streams.host_normals(np.stack(streams.derived(lanes.keys, 0, streams.STEP)), 0, d)])[0]
    vectors = {"w*": frame["u"], "w": lanes.state["v"], "first token": tokens / np.linalg.norm(tokens, axis=0)}
    names = list(vectors)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            cosine = np.sum(vectors[one] * vectors[other], axis=0)
            assert np.abs(cosine).max() < 5 / np.sqrt(d), (one, other)
            assert np.abs(cosine).max() > 0.05 / np.sqrt(d)


@pytest.mark.parametrize("model", [PAIR, TIED, UNTIED, UNTIED_ROW])
def test_starts_have_the_overlaps_that_were_asked_for(model):
    run = simulate(model, 1, kernel="full", dtype="float64", start=starts.overlaps(0.25), d=40)
    np.testing.assert_allclose(run.records["m"][0], 0.25, rtol=1e-12)
