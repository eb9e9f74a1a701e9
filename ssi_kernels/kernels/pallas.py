"""The time loop as one kernel for a GPU: lanes over the grid, streams inline, the same pieces as `program`.

On a GPU every operation of a loop written in XLA is a launch of its own. Here a block of lanes runs all its intervals
within one launch: its state stays in registers, and its normals are made where they are used. Triton has neither
slices nor complex numbers, so the one-lane functions of `program` are unrolled over vectors of lanes, as on a CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from ssi_kernels.kernels import gaussian, streams
from ssi_kernels.kernels.program import INTERVALS, NEVER, Loop, dynamics_of
from ssi_kernels.kernels.shape import Shape
from ssi_kernels.kernels.threefry import threefry
from ssi_kernels.kernels.unroll import Grid, Rows, fitting

BLOCK = 128
"""Lanes of one program instance: one lane for each thread of four warps."""

_PATIENCE = 64
"""Steps between two looks at whether any lane of a block still runs: a look is a sum over the block."""


def supports(shape: Shape, data: dict, state: dict) -> bool:
    """Whether the shape has this kernel: reduced, float32, and a step that can be unrolled and that Triton knows."""
    if shape.kernel != "reduced" or shape.dtype != "float32":
        return False
    loop = Loop(shape, dynamics_of(shape))
    width = data["inverse_h"].shape[-1]
    normals = jax.ShapeDtypeStruct((2 * loop.pairs, width), np.float32)
    if not isinstance(fitting(loop.dynamics.step, width, state, normals, data), Rows):
        return False
    kinds = lambda tree: tuple((name, x.shape[:-1], np.dtype(x.dtype)) for name, x in tree.items())  # noqa: E731
    return _lowers(shape, kinds(data), kinds(state))


@lru_cache(maxsize=64)
def _lowers(shape: Shape, data: tuple, state: tuple) -> bool:
    """Whether Triton has all functions that the step uses; erf and round, for two, it lacks."""
    data, state = (
        {name: jax.ShapeDtypeStruct((*inner, BLOCK), dtype) for name, inner, dtype in kinds} for kinds in (data, state)
    )
    keys, alive = jax.ShapeDtypeStruct((2, BLOCK), np.uint32), jax.ShapeDtypeStruct((BLOCK,), bool)
    words = [jax.ShapeDtypeStruct((INTERVALS,), t) for t in (np.uint32, np.uint32, np.int32)]
    launch = jax.jit(partial(_launch, shape, BLOCK, False))
    try:
        launch.trace(data, keys, state, alive, tuple(words)).lower(lowering_platforms=("cuda",))
    except NotImplementedError:
        return False
    return True


@lru_cache(maxsize=64)
def program(shape: Shape, block: int = BLOCK, interpret: bool = False):
    """As `ssi_kernels.kernels.program.program`, for a multiple of `block` lanes.

    Raises NotUnrollable or NotImplementedError, when called, where `supports` is False, ValueError for other numbers
    of lanes.
    """
    return jax.jit(partial(_launch, shape, block, interpret))


def _launch(shape: Shape, block: int, interpret: bool, data, keys, state, alive, intervals):
    lanes = keys.shape[1]
    if lanes % block:
        raise ValueError(f"{lanes} lanes are no multiple of the block, {block}")
    inputs = (data, keys, state, alive.astype(jnp.int32), intervals)
    outputs = _outputs(shape, state, lanes)
    kernel = partial(_kernel, shape, block, jax.tree.structure(inputs), jax.tree.structure(outputs))
    options = {} if interpret else {"compiler_params": plgpu.CompilerParams(num_warps=max(1, block // 32))}
    flat = pl.pallas_call(
        kernel, grid=(lanes // block,), out_shape=jax.tree.leaves(outputs), interpret=interpret, **options
    )(*map(_padded, jax.tree.leaves(inputs)))
    shapes = [x.shape for x in jax.tree.leaves(_real_outputs(shape, state, lanes))]
    state, alive, records = jax.tree.unflatten(
        jax.tree.structure(outputs), [x[tuple(map(slice, s))] for x, s in zip(flat, shapes, strict=True)]
    )
    return state, alive.astype(bool), records


def _padded(x):
    """No axis of length zero: a kernel's array has at least one row."""
    return x if x.size else jnp.zeros(tuple(max(n, 1) for n in x.shape), x.dtype)


def _outputs(shape: Shape, state, lanes: int):
    """State, alive and records as the kernel writes them."""
    one = lambda x: jax.ShapeDtypeStruct(tuple(max(n, 1) for n in x.shape), x.dtype)  # noqa: E731
    return jax.tree.map(one, _real_outputs(shape, state, lanes))


def _real_outputs(shape: Shape, state, lanes: int):
    """State, alive and records as they are returned."""

    def recorded(dtype, *inner):
        return jax.ShapeDtypeStruct((INTERVALS, *inner, lanes), dtype)

    untied = shape.student.is_untied
    records = {
        "m": recorded(np.float32),
        "e": recorded(np.float32, 0 if untied else shape.rank),
        "recovery": recorded(np.int32, shape.thresholds),
        "diverged": recorded(np.int32),
        "stop": recorded(np.int32),
    }
    if untied:
        records["m_position"] = recorded(np.float32, shape.length)
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), state)
    return like, jax.ShapeDtypeStruct((lanes,), np.int32), records


def _kernel(shape: Shape, block: int, inputs, outputs, *refs):
    """All intervals of one block of lanes."""
    read, written = refs[: inputs.num_leaves], refs[inputs.num_leaves :]
    data, keys, state, alive, intervals = jax.tree.unflatten(inputs, read)
    final, final_alive, records = jax.tree.unflatten(outputs, written)
    lanes = _Block(Loop(shape, dynamics_of(shape)), block, pl.ds(pl.program_id(0) * block, block))
    lane = {
        name: lanes.load(ref, (shape.thresholds,) if name == "threshold_square" else None) for name, ref in data.items()
    }
    key = keys[0, lanes.mine], keys[1, lanes.mine]

    def interval(i, carry):
        high, low, count = (x[i] for x in intervals)
        carry, record = lanes.interval(lane, streams.derived(key, high, streams.STEP), carry, low, count)
        for name, grid in record.items():
            lanes.store(records[name], grid, (i,))
        return carry

    start = {name: lanes.load(ref, inner) for (name, ref), inner in zip(state.items(), lanes.inner(state), strict=True)}
    running = Grid((), np.dtype(bool), (alive[lanes.mine] > 0,))
    carry = lax.fori_loop(jnp.int32(0), jnp.int32(INTERVALS), interval, (start, running))
    for name, grid in carry[0].items():
        lanes.store(final[name], grid)
    final_alive[lanes.mine] = carry[1].rows[0].astype(jnp.int32)


@dataclass(frozen=True)
class _Block:
    """The lanes of one program instance, as vectors."""

    loop: Loop
    width: int
    mine: object

    @property
    def form(self) -> Rows:
        return Rows(self.width)

    def inner(self, tree) -> list[tuple[int, ...]]:
        """Shapes of one lane's state: an encoding of rank 0 has no e, whose array is padded."""
        rank = self.loop.shape.rank
        return [(rank,) if name in ("e", "e_rest") else ref.shape[:-1] for name, ref in tree.items()]

    def load(self, ref, inner=None) -> Grid:
        """Rows of these lanes from an array (..., N)."""
        inner = ref.shape[:-1] if inner is None else inner
        return Grid(inner, np.dtype(ref.dtype), tuple(ref[(*index, self.mine)] for index in np.ndindex(*inner)))

    def store(self, ref, grid: Grid, first: tuple = ()) -> None:
        """Rows of these lanes into an array (..., N), or (I, ..., N) at `first`."""
        for index, row in zip(np.ndindex(*grid.shape), grid.rows, strict=True):
            ref[(*first, *index, self.mine)] = row

    def interval(self, lane, key, carry, low, count):
        """One interval between two recordings: the carry at its end, and the record."""
        state, alive = carry
        never = jnp.full((self.width,), NEVER, jnp.int32)
        mark = lambda *inner: Grid(inner, np.dtype(np.int32), (never,) * int(np.prod(inner)))  # noqa: E731
        marks = {"recovery": mark(self.loop.shape.thresholds), "diverged": mark(), "stop": mark()}
        over, observe = self.form.over, self.loop._observe

        def step(j, carry):
            real, imaginary = self._draw(key, low + j.astype(jnp.uint32))
            return over(self.loop._step)(*carry, real, imaginary, lane, _number(j))

        state, alive, marks = self._repeat(step, count, (state, alive, marks))
        alive, marks = over(observe)(state, alive, marks, lane, _number(count))
        m, e, m_position = over(self.loop.dynamics.overlaps)(state, lane)
        record = {"m": m, "e": e, **marks}
        if m_position is not None:
            record["m_position"] = m_position
        return (state, alive), record

    def _repeat(self, step, count, carry):
        """Steps 0..count-1; frozen lanes stay as they are, so whether all are is asked now and then only."""
        if self.loop.shape.stop == "horizon":
            return lax.fori_loop(jnp.int32(0), count, step, carry)

        def some(carry):
            first, *carry = carry
            last = jnp.minimum(first + _PATIENCE, count)
            return (last, *lax.fori_loop(first, last, step, tuple(carry)))

        def unfinished(carry):
            first, _, alive, _ = carry
            return (first < count) & (jnp.max(alive.rows[0].astype(jnp.int32)) > 0)

        return lax.while_loop(unfinished, some, (jnp.int32(0), *carry))[1:]

    def _draw(self, key, step) -> tuple[Grid, Grid]:
        """The two halves of one step's normals."""
        pairs = range(self.loop.pairs)
        low = jnp.full((self.width,), step, jnp.uint32)
        words = [threefry(key, (low, jnp.full((self.width,), k, jnp.uint32))) for k in pairs]
        drawn = [gaussian.halves(*pair, np.float32) for pair in words]
        return tuple(Grid((len(drawn),), np.dtype(np.float32), tuple(x[h] for x in drawn)) for h in (0, 1))


def _number(x) -> Grid:
    """One number for all lanes."""
    return Grid((), np.dtype(np.int32), (x,))
