"""The compiled time loop: draws, steps, thresholds, stops and recordings of one tile of lanes.

    for every interval between two recordings (scan)
        for every block of steps in it: draw the block's normals, then
            for every step of the block: threshold crossings, divergence, stop rule, one step of SGD

The length of an interval is data, so that one compilation serves every schedule and horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ssi_kernels.kernels import gaussian, streams
from ssi_kernels.kernels.full import OneNoiseFull, SharedFull, UntiedFull
from ssi_kernels.kernels.reduced import JointReduced, RowReduced, SharedReduced
from ssi_kernels.kernels.shape import Shape
from ssi_kernels.kernels.threefry import threefry
from ssi_kernels.kernels.unroll import Whole, fitting
from ssi_kernels.kernels.xla import compiler_options

NEVER = 2**31 - 1
INTERVALS = 32  # recordings per call of the compiled program
RUNS = 2  # runs of steps in a block; of a single one, XLA would see that it is the whole
_ROWS = 512  # rows of normals of a run


def dynamics_of(shape: Shape):
    """The update rule that belongs to a shape."""
    if shape.kernel == "one-noise":
        return OneNoiseFull(shape)
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
    records    at the end of every interval: m, e, m_position; and within it the offset (0, 1, ...; NEVER) of the
               first crossing of every threshold, of the divergence, and of the stop
    """
    loop = Loop(shape, dynamics_of(shape))
    return jax.jit(loop.advance, compiler_options=compiler_options())


@dataclass(frozen=True)
class Loop:
    """The loop of one shape; `_step` and `_observe` are functions of one lane, which the GPU kernel uses too."""

    shape: Shape
    dynamics: object

    @property
    def pairs(self) -> int:
        """Pairs of normals per step."""
        return (self.dynamics.normals + 1) // 2

    @property
    def run(self) -> int:
        """Steps of one run: a power of two, so that their normals fit into the cache."""
        return max(1, 1 << max(0, (_ROWS // (2 * self.pairs)).bit_length() - 1))

    @property
    def block(self) -> int:
        """Steps whose normals are drawn at once: several runs, see `_advance_block`."""
        return RUNS * self.run

    def advance(self, lane, keys, state, alive, intervals):
        form = self._form(lane, state, alive.shape[-1])
        if self.shape.kernel != "reduced":
            halves = self.dynamics.halves
            lane = lane | {name: halves(lane[name]) for name in ("u", "p")}
            state = {name: halves(x) for name, x in state.items()}

        def interval(carry, x):
            return self._interval(form, lane, carry, *x)

        high, low, count = intervals
        step_keys = streams.derived(keys[:, None], high[:, None], streams.STEP)  # of all intervals before any begins
        carry, records = lax.scan(interval, (form.split(state), form.split(alive)), (step_keys, low, count))
        state, alive = form.joined(carry)
        if self.shape.kernel != "reduced":
            state = {name: self.dynamics.whole(x) for name, x in state.items()}
        return state, alive, records

    def _form(self, lane, state, width: int):
        """Unrolled where that is possible and not too much."""
        if self.shape.kernel != "reduced":
            return Whole(width)
        normals = jax.ShapeDtypeStruct((2 * self.pairs, width), lane["inverse_h"].dtype)
        return fitting(self.dynamics.step, width, state, normals, lane)

    def _interval(self, form, lane, carry, key, low, count):
        state, alive = carry
        width = form.width
        never = jnp.full(width, NEVER, jnp.int32)
        recovery = jnp.full((self.shape.thresholds, width), NEVER, jnp.int32)
        marks = form.split({"recovery": recovery, "diverged": never, "stop": never})

        tables = self._tables(key)

        def block(carry):
            first, *carry = carry
            carry = self._advance_block(form, lane, tables, low + first.astype(jnp.uint32), first, count, tuple(carry))
            return (first + jnp.int32(self.block), *carry)

        def unfinished(carry):
            first, _, alive, _ = carry
            waiting = first < count
            return waiting if self.shape.stop == "horizon" else waiting & jnp.any(form.joined(alive))

        _, state, alive, marks = lax.while_loop(unfinished, block, (jnp.int32(0), state, alive, marks))
        alive, marks = form.over(self._observe)(state, alive, marks, form.split(lane), form.split(count))
        m, e, m_position = form.joined(form.over(self.dynamics.overlaps)(state, form.split(lane)))
        record = {"m": m, "e": e, **form.joined(marks)}
        if m_position is not None:
            record["m_position"] = m_position
        return (state, alive), record

    def _advance_block(self, form, lane, tables, low, first, count, carry):
        """One block of steps, or what is left of `count` of them.

        XLA:CPU fuses across everything but a loop's boundary: normals used by the step would be drawn again for each
        of its operations. Hence two loops: the runs of a block read their normals from what the block has drawn, and
        the steps of a run from what the run has taken apart.
        """
        drawn = self._draw(tables, low, np.dtype(self.shape.dtype))

        def run(k, carry):
            start = first + k * self.run
            shape = (self.pairs, self.run, form.width)
            mine = lax.dynamic_index_in_dim(drawn, k, 0, keepdims=False)
            halves = lax.real(mine).reshape(shape), lax.imag(mine).reshape(shape)

            def step(j, carry):
                normals = [form.split(lax.dynamic_index_in_dim(half, j, 1, keepdims=False)) for half in halves]
                return form.over(self._step)(*carry, *normals, form.split(lane), form.split(start + j))

            if self.run == 1:
                return step(0, carry)
            many = jnp.minimum(jnp.int32(self.run), count - start)
            return lax.fori_loop(jnp.int32(0), many, step, carry)

        runs = jnp.minimum(jnp.int32(RUNS), (count - first + (self.run - 1)) // self.run)
        return lax.fori_loop(jnp.int32(0), runs, run, carry)

    def _tables(self, key):
        """Both words of the key, and the step within a block, of every step and lane of a block: (block * W,)."""
        width = key[0].shape[0]
        step = jnp.repeat(jnp.arange(self.block, dtype=jnp.uint32), width)
        return *(jnp.tile(word, self.block) for word in key), step

    def _draw(self, key, low, dtype):
        """Pairs of normals of one block of steps as complex numbers: (RUNS, pairs, run * W), steps before lanes.

        One long last axis, because a loop that reads the real parts of few complex numbers leaves the last ones to
        scalar instructions.
        """
        u32 = jnp.uint32
        shape = (RUNS, self.pairs, key[0].size // RUNS)
        over_steps = lambda x: jnp.broadcast_to(x.reshape(RUNS, 1, shape[2]), shape)  # noqa: E731
        index = jnp.broadcast_to(jnp.arange(self.pairs, dtype=u32)[:, None], shape)
        words = threefry(tuple(map(over_steps, key[:2])), (over_steps(key[2] + low), index))
        return gaussian.pair(*words, dtype.type)

    def _step(self, state, alive, marks, real, imaginary, lane, offset):
        """One lane: marks of the state that the step starts from, then the step. A frozen lane stays as it is."""
        alive, marks = self._observe(state, alive, marks, lane, offset)
        normals = (real, imaginary) if self.shape.kernel != "reduced" else jnp.concatenate([real, imaginary])
        new = self.dynamics.step(state, normals, lane)
        if self.shape.stop != "horizon":
            new = jax.tree.map(lambda x, old: jnp.where(alive, x, old), new, state)
        return new, alive, marks

    def _observe(self, state, alive, marks, lane, offset):
        """One lane: threshold crossings, divergence and stop of the state after `offset` steps of the interval."""
        m, e, _ = self.dynamics.overlaps(state, lane)
        e_square = jnp.sum(e * e, axis=0)
        crossed = m * m + e_square >= lane["threshold_square"]
        lost = m != m
        stop = marks["stop"]
        if self.shape.stop != "horizon":  # a frozen lane has its marks
            done = alive & self._done(lane, crossed, m, e, e_square)
            crossed, lost = crossed & alive, lost & alive
            stop, alive = jnp.where(done, offset, stop), alive & ~lost & ~done
        recovery, diverged = marks["recovery"], marks["diverged"]
        marks = {
            "recovery": jnp.where(crossed, jnp.minimum(recovery, offset), recovery),
            "diverged": jnp.where(lost, jnp.minimum(diverged, offset), diverged),
            "stop": stop,
        }
        return alive, marks

    def _done(self, lane, crossed, m, e, e_square):
        """Whether the stop rule holds: above the largest threshold, or one overlap above `decided`."""
        if self.shape.stop == "recovered":
            return jnp.all(crossed, axis=0)
        positional = jnp.abs(e[0]) if e.shape[0] == 1 else jnp.sqrt(e_square)
        return (jnp.abs(m) > lane["decided"]) | (positional > lane["decided"])
