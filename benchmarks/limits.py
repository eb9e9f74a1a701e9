"""How far a step is from what this core can do: the normals it draws alone, and the operations it consists of."""

from __future__ import annotations

import statistics
import time
from functools import lru_cache, partial

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ssi_kernels.kernels import gaussian, streams
from ssi_kernels.kernels.program import Loop, dynamics_of
from ssi_kernels.kernels.shape import LANES, shape_of
from ssi_kernels.kernels.threefry import ROUNDS, threefry
from ssi_kernels.kernels.unroll import operations

BLOCKS, STEPS = 2000, 64
CIPHER = ROUNDS * 5 + ROUNDS // 4 * 3 + 2
"""Integer operations of one cipher call: add, two shifts, or, xor a round, and the key every fourth."""


def measure(model, rounds: int) -> dict:
    """Of one step of `model` at L = 2, d = 1000: seconds for its normals alone, and vector operations by part."""
    shape = shape_of(model, d=1000, length=2, kernel="reduced", dtype="float32", thresholds=1, stop="horizon")
    loop = Loop(shape, dynamics_of(shape))
    pairs = loop.pairs
    drawing = statistics.median(_draw_seconds(pairs) for _ in range(rounds))
    return {
        "normals_per_second": round(2 * pairs * BLOCKS * STEPS * LANES / drawing),
        "normals_per_step": 2 * pairs,
        "nanoseconds_of_normals": round(drawing / (BLOCKS * STEPS * LANES) * 1e9, 2),
        "operations": {
            "cipher": CIPHER * pairs,
            "Box-Muller": _pair_operations() * pairs,
            "step, thresholds and divergence": _step_operations(loop),
        },
    }


def _draw_seconds(pairs: int) -> float:
    """Seconds to draw and add up all normals of BLOCKS blocks of STEPS steps on LANES lanes."""
    keys = jnp.asarray(streams.replica_keys("0123456789abcdef", 0, LANES))
    jax.block_until_ready(_draws(keys, pairs))
    began = time.perf_counter()
    jax.block_until_ready(_draws(keys, pairs))
    return time.perf_counter() - began


def _draws(keys, pairs: int):
    return _compiled(pairs)(keys)


@lru_cache
def _compiled(pairs: int):
    return jax.jit(partial(_loop, pairs=pairs))


def _loop(keys, pairs: int):
    key = streams.derived(keys, jnp.uint32(0), streams.STEP)
    shape = (STEPS, pairs, keys.shape[1])
    index = jnp.broadcast_to(jnp.arange(pairs, dtype=jnp.uint32)[None, :, None], shape)

    def block(i, total):
        step = (i * STEPS).astype(jnp.uint32) + jnp.arange(STEPS, dtype=jnp.uint32)[:, None, None]
        drawn = gaussian.pair(*threefry(key, (jnp.broadcast_to(step, shape), index)), np.float32)

        def add(j, total):
            mine = lax.dynamic_index_in_dim(drawn, j, 0, keepdims=False)
            return total + jnp.sum(lax.real(mine) * lax.imag(mine), axis=0)

        return lax.fori_loop(0, STEPS, add, total)

    return lax.fori_loop(0, BLOCKS, block, jnp.zeros(keys.shape[1], jnp.float32))


def _pair_operations() -> int:
    word = jax.ShapeDtypeStruct((), np.uint32)
    return operations(jax.make_jaxpr(lambda a, b: gaussian.halves(a, b, np.float32))(word, word).jaxpr)


def _step_operations(loop: Loop) -> int:
    """Operations of one lane's step as unrolled, before XLA simplifies them."""
    real = lambda *inner: jax.ShapeDtypeStruct(inner, np.float32)  # noqa: E731
    whole = jax.ShapeDtypeStruct((), np.int32)
    state = {"m": real(), "e": real(1), "m_rest": real(), "e_rest": real(1)}
    marks = {"recovery": jax.ShapeDtypeStruct((1,), np.int32), "diverged": whole, "stop": whole}
    names = ("inverse_h", "nu", "omega", "a", "decided")
    lane = {name: real() for name in names} | {"chi": real(12), "threshold_square": real(1)}
    arguments = (state, jax.ShapeDtypeStruct((), bool), marks, real(loop.pairs), real(loop.pairs), lane, whole)
    return operations(jax.make_jaxpr(loop._step)(*arguments).jaxpr)
