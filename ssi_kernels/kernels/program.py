"""The compiled time loop: draws, steps, thresholds, stops and recordings of one tile of lanes.

    for every interval between two recordings (scan)
        for every block of steps in it: draw the block's normals, then
            for every step of the block: one step of SGD, threshold crossings, divergence, stop rule

The length of an interval is data, so that one compilation serves every schedule and horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax
from jax import lax
from jax import numpy as jnp

from ssi_kernels.kernels import gaussian, streams
from ssi_kernels.kernels.full import SharedFull, UntiedFull
from ssi_kernels.kernels.reduced import JointReduced, RowReduced, SharedReduced
from ssi_kernels.kernels.shape import Shape
from ssi_kernels.kernels.threefry import threefry

NEVER = 2**31 - 1
INTERVALS = 32  # recordings per call of the compiled program
_ROWS = 512  # rows of normals held at once


def dynamics_of(shape: Shape):
    """The update rule that belongs to a shape."""
    if shape.kernel == "full":
        return (UntiedFull if shape.student.is_untied else SharedFull)(shape)
    if not shape.student.is_untied:
        return SharedReduced(shape)
    return {"joint": JointReduced, "row": RowReduced}[shape.student.norm](shape)


@lru_cache(maxsize=64)
def program(shape: Shape):
    """The jitted function of one shape: (lane, keys, state, alive, intervals) -> (state, alive, records).

    lane       arrays of the step: h, thresholds' squares, omega, a, ...; lanes last
    keys       uint32 (2, W), one per replica
    alive      bool (W,), False where the stop rule has frozen the lane
    intervals  high word, low word (uint32) of the first step, and number of steps (int32), each (INTERVALS,)
    records    at the end of every interval: m, e, m_position; and within it the offset (1, 2, ...; NEVER) of the
               first crossing of every threshold, of the divergence, and of the stop
    """
    loop = _Loop(shape, dynamics_of(shape))
    return jax.jit(loop.advance)


@dataclass(frozen=True)
class _Loop:
    shape: Shape
    dynamics: object

    @property
    def pairs(self) -> int:
        return (self.dynamics.normals + 1) // 2

    @property
    def block(self) -> int:
        """Steps whose normals are drawn at once: a power of two, so that they fit into the cache."""
        return max(1, 1 << max(0, (_ROWS // (2 * self.pairs)).bit_length() - 1))

    def advance(self, lane, keys, state, alive, intervals):
        parameters = {name: lane[name] for name in self.shape.target.parameters()}
        label = self.shape.target.labeller(self.shape.length, self.shape.encoding, parameters)

        def interval(carry, x):
            high, low, count = x
            return self._interval(lane, label, streams.derived(keys, high, streams.STEP), carry, low, count)

        (state, alive), records = lax.scan(interval, (state, alive), intervals)
        return state, alive, records

    def _interval(self, lane, label, key, carry, low, count):
        state, alive = carry
        never = jnp.full(alive.shape, NEVER, jnp.int32)
        marks = {
            "recovery": jnp.full((self.shape.thresholds, *alive.shape), NEVER, jnp.int32),
            "diverged": never,
            "stop": never,
        }

        def block(carry):
            first, state, alive, marks = carry
            normals = self._draw(key, low + first.astype(jnp.uint32), lane["h"].dtype)

            def step(j, carry):
                return self._step(lane, label, normals[j], first + j + 1, *carry)

            many = jnp.minimum(jnp.int32(self.block), count - first)
            carry = lax.fori_loop(jnp.int32(0), many, step, (state, alive, marks))
            return (first + jnp.int32(self.block), *carry)

        def unfinished(carry):
            first, _, alive, _ = carry
            waiting = first < count
            return waiting if self.shape.stop == "horizon" else waiting & jnp.any(alive)

        _, state, alive, marks = lax.while_loop(unfinished, block, (jnp.int32(0), state, alive, marks))
        m, e, m_position = self.dynamics.overlaps(state, lane)
        record = {"m": m, "e": e, **marks}
        if m_position is not None:
            record["m_position"] = m_position
        return (state, alive), record

    def _draw(self, key, low, dtype):
        """Normals of one block of steps, shape (block, 2 pairs, W)."""
        u32 = jnp.uint32
        step = (low + jnp.arange(self.block, dtype=u32))[:, None, None]
        index = jnp.arange(self.pairs, dtype=u32)[None, :, None]
        shape = (self.block, self.pairs, key[0].shape[0])
        counter = jnp.broadcast_to(step, shape), jnp.broadcast_to(index, shape)
        words = threefry((key[0][None, None], key[1][None, None]), counter)
        both = lax.optimization_barrier(gaussian.pair(*words, dtype.type))
        return lax.optimization_barrier(jnp.concatenate([lax.real(both), lax.imag(both)], axis=1))

    def _step(self, lane, label, normals, offset, state, alive, marks):
        new, probe = self.dynamics.step(state, normals, lane, label)
        finite = jnp.isfinite(probe)
        new = jax.tree.map(lambda x: jnp.where(finite, x, jnp.nan), new)
        if self.shape.stop != "horizon":
            finite = finite | ~alive
            new = jax.tree.map(lambda x, old: jnp.where(alive, x, old), new, state)
        m, e, _ = self.dynamics.overlaps(new, lane)
        m_square, e_square = m * m, jnp.sum(e * e, axis=0)
        crossed = m_square + e_square >= lane["threshold_square"]
        marks = {
            "recovery": jnp.where(crossed, jnp.minimum(marks["recovery"], offset), marks["recovery"]),
            "diverged": jnp.where(finite, marks["diverged"], jnp.minimum(marks["diverged"], offset)),
            "stop": marks["stop"],
        }
        if self.shape.stop != "horizon":
            done = self._done(lane, crossed, m, e, e_square)
            marks["stop"] = jnp.where(alive & done, offset, marks["stop"])
            alive = alive & ~done
        return new, alive, marks

    def _done(self, lane, crossed, m, e, e_square):
        """Whether the stop rule holds: above the largest threshold, or one overlap above `decided`."""
        if self.shape.stop == "recovered":
            return jnp.all(crossed, axis=0)
        positional = jnp.abs(e[0]) if e.shape[0] == 1 else jnp.sqrt(e_square)
        return (jnp.abs(m) > lane["decided"]) | (positional > lane["decided"])
