"""One lane's arithmetic for many lanes: a number becomes a vector over the lanes, an array a grid of them.

A step of SGD is written for one lane, with arrays of a few numbers (L fields, r overlaps). XLA:CPU runs such arrays
badly: each small axis is a loop of its own, and what several consumers need is computed for each of them.
Unrolled, a step is elementwise arithmetic on vectors, which is vectorised over lanes; and it is all that a Triton
kernel can express. The jaxpr of the function is interpreted, so that gradients by autodiff are unrolled as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.extend.core
import numpy as np
from jax import numpy as jnp

MAX_OPERATIONS = 6000
"""Beyond this many vector operations a step is left to `jax.vmap`: compiling it would take too long."""

_ELEMENTWISE = frozenset(
    "abs acos acosh add add_any and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clamp "
    "convert_element_type copy cos cosh div eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite "
    "le lgamma log log1p logistic lt max min mul ne neg nextafter not or pow reduce_precision rem round rsqrt "
    "select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub "
    "tan tanh xor ".split()
)
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr",
          "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}  # fmt: skip


class NotUnrollable(Exception):
    """The function uses an operation that has no elementwise form, or too many operations."""


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class Grid:
    """An array (..., W) as the tuple of its rows: lane vectors, in C order, of which `shape` is the arrangement."""

    shape: tuple[int, ...]
    dtype: np.dtype
    rows: tuple

    @classmethod
    def of(cls, array) -> Grid:
        """The rows of an array (..., W), or one number for all lanes."""
        shape = tuple(array.shape[:-1])
        return cls(shape, array.dtype, tuple(array[index] for index in np.ndindex(shape)) if array.ndim else (array,))

    def array(self, width: int):
        """The array (..., W) again."""
        if not self.rows:
            return jnp.zeros((*self.shape, width), self.dtype)
        return jnp.stack(self.rows).reshape(*self.shape, width)

    def objects(self) -> np.ndarray:
        """The rows in an object array of the grid's shape."""
        grid = np.empty(self.shape, object)
        for index, row in zip(np.ndindex(self.shape), self.rows, strict=True):
            grid[index] = row
        return grid

    def tree_flatten(self):
        return self.rows, (self.shape, self.dtype)

    @classmethod
    def tree_unflatten(cls, kind, rows):
        return cls(*kind, tuple(rows))


def unroll(function: Callable, *shapes) -> Callable:
    """The function over Grids that `function` is over arrays of `shapes`. Raises NotUnrollable."""
    closed, outputs = jax.make_jaxpr(function, return_shape=True)(*shapes)
    tree = jax.tree.structure(outputs)
    if (count := operations(closed.jaxpr)) > MAX_OPERATIONS:
        raise NotUnrollable(f"{count} operations")

    def apply(*grids):
        flat = [grid.objects() for grid in jax.tree.leaves(grids, is_leaf=_is_grid)]
        results = _interpret(closed.jaxpr, closed.consts, flat)
        types = [v.aval.dtype for v in closed.jaxpr.outvars]
        grids = [Grid(x.shape, dtype, tuple(x.ravel())) for x, dtype in zip(results, types, strict=True)]
        return jax.tree.unflatten(tree, grids)

    return apply


def fitting(function: Callable, width: int, *arguments) -> Rows | Arrays:
    """Rows where `function` of one lane can be unrolled without being too much, else Arrays; `arguments` (..., W)."""
    rows = Rows(width)
    try:
        jax.eval_shape(lambda *lanes: rows.over(function)(*rows.split(lanes)), *arguments)
    except NotUnrollable:
        return Arrays(width)
    return rows


@dataclass(frozen=True)
class Rows:
    """Lanes as Grids of vectors of `width` lanes, functions of one lane unrolled."""

    width: int

    def split(self, tree):
        """Arrays (..., W) as the loop carries them."""
        return jax.tree.map(Grid.of, tree)

    def joined(self, tree):
        """What the loop carried as arrays (..., W)."""
        return jax.tree.map(lambda g: g.array(self.width), tree, is_leaf=_is_grid)

    def over(self, function: Callable) -> Callable:
        """A function of one lane's arrays over Grids."""

        def apply(*arguments):
            one = jax.tree.map(lambda g: jax.ShapeDtypeStruct(g.shape, g.dtype), arguments, is_leaf=_is_grid)
            spread = lambda x: jnp.broadcast_to(x, (self.width,))  # noqa: E731
            return jax.tree.map(spread, unroll(function, *one)(*arguments))

        return apply


@dataclass(frozen=True)
class Whole:
    """Lanes as arrays (..., W), functions written for all lanes at once."""

    width: int

    def split(self, tree):
        """Arrays (..., W) as the loop carries them."""
        return tree

    def joined(self, tree):
        """What the loop carried as arrays (..., W)."""
        return tree

    def over(self, function: Callable) -> Callable:
        """The function itself."""
        return function


@dataclass(frozen=True)
class Arrays(Whole):
    """Lanes as arrays (..., W), functions of one lane by `jax.vmap`: where unrolling would be too much."""

    def over(self, function: Callable) -> Callable:
        """A function of one lane's arrays over arrays (..., W)."""

        def apply(*arguments):
            axes = jax.tree.map(lambda x: -1 if jnp.ndim(x) else None, arguments)
            return jax.vmap(function, in_axes=axes, out_axes=-1)(*arguments)

        return apply


def _is_grid(x) -> bool:
    return isinstance(x, Grid)


def operations(jaxpr) -> int:
    """Number of vector operations of a jaxpr once it is unrolled. Raises NotUnrollable for what has no rule."""
    total = 0
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in _CALLS:
            total += operations(_inner(eqn).jaxpr)
        elif name in _ELEMENTWISE:
            total += math.prod(eqn.outvars[0].aval.shape)
        elif name in _REDUCTIONS or name == "dot_general":
            total += math.prod(eqn.invars[0].aval.shape)
        elif name not in _STRUCTURAL:
            raise NotUnrollable(name)
    return total


def _inner(eqn):
    found = eqn.params[_CALLS[eqn.primitive.name]]
    return found if hasattr(found, "consts") else jax.extend.core.ClosedJaxpr(found, ())


def _interpret(jaxpr, consts, arguments) -> list[np.ndarray]:
    known = dict(zip(jaxpr.constvars, map(_constant, consts), strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))
    read = lambda v: _constant(v.val) if hasattr(v, "val") else known[v]  # noqa: E731
    for eqn in jaxpr.eqns:
        known |= zip(eqn.outvars, _evaluate(eqn, [read(v) for v in eqn.invars]), strict=True)
    return [read(v) for v in jaxpr.outvars]


def _constant(value) -> np.ndarray:
    """A grid of scalars that are the same for all lanes."""
    value = np.asarray(value)
    grid = np.empty(value.shape, object)
    for index in np.ndindex(value.shape):
        grid[index] = value[index]
    return grid


def _evaluate(eqn, operands: list[np.ndarray]) -> list[np.ndarray]:
    name = eqn.primitive.name
    if name in _CALLS:
        inner = _inner(eqn)
        return _interpret(inner.jaxpr, inner.consts, operands)
    if name in _ELEMENTWISE:
        return [_elementwise(eqn, operands)]
    if name in _REDUCTIONS:
        return [_reduce(_REDUCTIONS[name], operands[0], eqn.params["axes"])]
    if name == "dot_general":
        return [_dot(operands, eqn.params["dimension_numbers"])]
    result = _STRUCTURAL[name](eqn, *operands)
    return result if isinstance(result, list) else [result]


def _elementwise(eqn, operands) -> np.ndarray:
    shape = eqn.outvars[0].aval.shape
    result = np.empty(shape, object)
    operands = [np.broadcast_to(x, shape) for x in operands]
    for index in np.ndindex(shape):
        result[index] = _apply(eqn, [x[index] for x in operands])
    return result


def _apply(eqn, values):
    """One operation on lane vectors and scalars; adding a constant zero and multiplying by one leave no trace."""
    name, neutral = eqn.primitive.name, {"add": 0, "add_any": 0, "mul": 1}.get(eqn.primitive.name)
    if neutral is not None:
        for x, other in itertools.permutations(values):
            if _is_constant(x) and x == neutral:
                return other
    if name in ("stop_gradient", "copy"):
        return values[0]
    if all(map(_is_constant, values)):
        with jax.ensure_compile_time_eval():
            return np.asarray(eqn.primitive.bind(*map(jnp.asarray, values), **eqn.params))[()]
    shape = next((x.shape for x in values if np.ndim(x)), ())
    spread = [x if np.shape(x) == shape else jnp.broadcast_to(jnp.asarray(x), shape) for x in values]
    return eqn.primitive.bind(*spread, **eqn.params)


def _is_constant(x) -> bool:
    return isinstance(x, (np.ndarray, np.generic, int, float)) and not np.ndim(x)


def _fold(combine, values):
    """Pairwise from the left, in a fixed order."""
    total = values[0]
    for x in values[1:]:
        total = combine(total, x)
    return total


def _plus(x, y):
    return y if _is_constant(x) and x == 0 else x if _is_constant(y) and y == 0 else x + y


_REDUCTIONS = {
    "reduce_sum": _plus,
    "reduce_prod": lambda x, y: x * y,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
    "reduce_and": lambda x, y: x & y,
    "reduce_or": lambda x, y: x | y,
}
_NEUTRAL = {"reduce_sum": 0.0, "reduce_prod": 1.0}


def _reduce(combine, grid, axes) -> np.ndarray:
    kept = tuple(n for i, n in enumerate(grid.shape) if i not in axes)
    moved = np.moveaxis(grid, axes, range(-len(axes), 0)).reshape(*kept, -1)
    result = np.empty(kept, object)
    for index in np.ndindex(kept):
        row = list(moved[index])
        result[index] = _fold(combine, row) if row else np.float32(0 if combine is _plus else 1)
    return result


def _dot(operands, numbers) -> np.ndarray:
    (left_axes, right_axes), (left_batch, right_batch) = numbers
    if left_batch or right_batch:
        raise NotUnrollable("batched dot_general")
    left = np.moveaxis(operands[0], left_axes, range(-len(left_axes), 0))
    right = np.moveaxis(operands[1], right_axes, range(-len(right_axes), 0))
    outer = left.shape[: left.ndim - len(left_axes)], right.shape[: right.ndim - len(right_axes)]
    left, right = left.reshape(*outer[0], -1), right.reshape(*outer[1], -1)
    result = np.empty(outer[0] + outer[1], object)
    for i in np.ndindex(outer[0]):
        for j in np.ndindex(outer[1]):
            result[i + j] = _fold(_plus, [x * y for x, y in zip(left[i], right[j], strict=True)])
    return result


def _broadcast(eqn, grid, *_):
    shape, axes = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    view = [1] * len(shape)
    for axis, size in zip(axes, grid.shape, strict=True):
        view[axis] = size
    return np.broadcast_to(grid.reshape(view), shape)


def _slice(eqn, grid):
    p = eqn.params
    steps = p["strides"] or (1,) * grid.ndim
    return grid[tuple(slice(*s) for s in zip(p["start_indices"], p["limit_indices"], steps, strict=True))]


def _dynamic_slice(eqn, grid, *starts):
    """A slice whose place is known when the program is built, as that of z[0]."""
    first = []
    for start, size, extent in zip(starts, eqn.params["slice_sizes"], grid.shape, strict=True):
        if not _is_constant(start[()]):
            raise NotUnrollable("dynamic_slice")
        first.append(min(max(int(start[()]), 0), extent - size))
    return grid[tuple(slice(i, i + n) for i, n in zip(first, eqn.params["slice_sizes"], strict=True))]


def _pad(eqn, grid, value):
    config = eqn.params["padding_config"]
    if any(low < 0 or high < 0 for low, high, _ in config):
        raise NotUnrollable("negative padding")
    inner = [n + (n - 1) * gap if n else 0 for n, (_, _, gap) in zip(grid.shape, config, strict=True)]
    shape = [low + n + high for n, (low, high, _) in zip(inner, config, strict=True)]
    result = np.empty(shape, object)
    result.fill(value[()])
    place = tuple(slice(low, low + n, gap + 1) for n, (low, _, gap) in zip(inner, config, strict=True))
    result[place] = grid
    return result


def _cumulate(eqn, grid):
    axis, back = eqn.params["axis"], -1 if eqn.params["reverse"] else 1
    result = np.empty(grid.shape, object)
    source, target = np.moveaxis(grid, axis, -1)[..., ::back], np.moveaxis(result, axis, -1)[..., ::back]
    for index in np.ndindex(source.shape[:-1]):
        for i, total in enumerate(itertools.accumulate(source[index], _plus)):
            target[(*index, i)] = total
    return result


def _split(eqn, grid):
    cuts = np.cumsum(eqn.params["sizes"])[:-1]
    return list(np.split(grid, cuts, axis=eqn.params["axis"]))


def _iota(eqn):
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    return _constant(np.indices(shape)[axis].astype(eqn.params["dtype"]))


_STRUCTURAL = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda eqn, *grids: np.concatenate(grids, axis=eqn.params["dimension"]),
    "dynamic_slice": _dynamic_slice,
    "expand_dims": lambda eqn, grid: np.expand_dims(grid, eqn.params["dimensions"]),
    "iota": _iota,
    "pad": _pad,
    "reshape": lambda eqn, grid, *_: grid.reshape(eqn.params["new_sizes"]),
    "rev": lambda eqn, grid: np.flip(grid, eqn.params["dimensions"]),
    "slice": _slice,
    "split": _split,
    "squeeze": lambda eqn, grid: np.squeeze(grid, eqn.params["dimensions"]),
    "cumsum": _cumulate,
    "stack": lambda eqn, *grids: np.stack(grids, axis=eqn.params["axis"]),
    "tile": lambda eqn, grid: np.tile(grid, eqn.params["reps"]),
    "transpose": lambda eqn, grid: np.transpose(grid, eqn.params["permutation"]),
}
