"""Unrolled over lanes, a function of one lane gives what `jax.vmap` gives."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax import numpy as jnp

from ssi_kernels import elementary
from ssi_kernels.kernels import unroll
from ssi_kernels.kernels.unroll import Arrays, Grid, NotUnrollable, Rows, fitting

WIDTH, LENGTH = 5, 3
Z = np.random.default_rng(0).standard_normal((LENGTH, WIDTH)).astype(np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def unrolled(function, *arguments):
    """The function over all lanes, unrolled."""
    form = Rows(arguments[0].shape[-1])
    return jax.jit(lambda *x: form.joined(form.over(function)(*form.split(x))))(*arguments)


def vmapped(function, *arguments):
    return jax.jit(jax.vmap(function, in_axes=-1, out_axes=-1))(*arguments)


def assert_agree(function, *arguments, rtol=1e-6):
    ours, theirs = unrolled(function, *arguments), vmapped(function, *arguments)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


ELEMENTWISE = {
    "arithmetic": lambda z: (z + 2) * z - z / 3 - (-z),
    "add_any": jax.grad(lambda z: jnp.sum(z * z + z)),
    "powers": lambda z: z**3 + jnp.abs(z) ** 1.5 + jnp.square(z) + jnp.cbrt(z),
    "roots": lambda z: jnp.sqrt(jnp.abs(z)) + lax.rsqrt(jnp.abs(z) + 1),
    "exponentials": lambda z: jnp.exp(z) + jnp.expm1(z) + jnp.exp2(z) + jnp.log(jnp.abs(z)) + jnp.log1p(jnp.abs(z)),
    "logistic": lambda z: jax.nn.sigmoid(z) + jnp.tanh(z),
    "trigonometric": lambda z: jnp.sin(z) + jnp.cos(z) + jnp.tan(z / 4) + jnp.arctan(z) + jnp.arctan2(z, z + 9),
    "inverse": lambda z: jnp.arcsin(jnp.tanh(z)) + jnp.arccos(jnp.tanh(z)),
    "hyperbolic": lambda z: jnp.sinh(z) + jnp.cosh(z) + jnp.arcsinh(z) + jnp.arccosh(z * z + 1) + jnp.arctanh(z / 9),
    "error function": lambda z: lax.erf(z) + lax.erfc(z) + lax.erf_inv(jnp.tanh(z) / 2) + lax.lgamma(jnp.abs(z) + 1),
    "rounding": lambda z: jnp.floor(z) + jnp.ceil(z) + jnp.round(z) + jnp.sign(z) + jnp.trunc(z),
    "extremes": lambda z: jnp.maximum(z, 0.1) + jnp.minimum(z, 0.2) + jnp.clip(z, -0.5, 0.5),
    "comparisons": lambda z: (z > 0) & ((z <= 1) | (z < -1)) ^ ~(z >= 0.5) & (z != 0) | (z == 3),
    "where": lambda z: jnp.where(z > 0, z, -1.0) + jnp.where(z[0] > 0, z, 2 * z),
    "bits": lambda z: (lax.bitcast_convert_type(z, jnp.uint32) >> 3 << 2) ^ jnp.uint32(7),
    "signed bits": lambda z: lax.bitcast_convert_type(z, jnp.int32) >> 2,
    "types": lambda z: z.astype(jnp.int32) % 2 + (z * 4).astype(jnp.int32) // 3,
    "finite": lambda z: jnp.isfinite(1 / (z * 0)),
    "stop_gradient": lambda z: lax.stop_gradient(z) * 2,
    "reduce_precision": lambda z: lax.reduce_precision(z, 8, 7),
    "nextafter": lambda z: jnp.nextafter(z, z + 1),
    "copy": lambda z: jnp.copy(z) + 1,
}
STRUCTURAL = {
    "first and last": lambda z: z[0] + z[-1],
    "slices": lambda z: (z[1:], z[::-1], z[::2]),
    "shapes": lambda z: (z[None] * z[:, None], z.reshape(3, 1), jnp.squeeze(z[None]), jnp.expand_dims(z, 1)),
    "transpose": lambda z: (z[None] + 2 * z[:, None]).T,
    "stack": lambda z: (jnp.stack([z, 2 * z], axis=1), jnp.concatenate([z, z[:1]]), jnp.tile(z, 2), jnp.repeat(z, 2)),
    "split": lambda z: jnp.split(jnp.concatenate([z, z]), 2),
    "pad": lambda z: (jnp.pad(z, (1, 2)), lax.pad(z, np.float32(7), [(0, 1, 1)])),
    "roll": lambda z: jnp.roll(z, 1),
    "diagonals": lambda z: (jnp.diag(z), jnp.trace(jnp.outer(z, z)), jnp.eye(3) @ z),
    "constants": lambda z: (jnp.arange(3) * z, jnp.ones(2), jnp.zeros((0,)), 3.0 * jnp.sum(z)),
    "dynamic slice of a known place": lambda z: lax.dynamic_slice(z, (1,), (2,)),
}
SUMS = {
    "sums": lambda z: (jnp.sum(z), jnp.mean(z), jnp.prod(z), jnp.max(z), jnp.min(z), jnp.var(z)),
    "all and any": lambda z: (jnp.all(z > 0), jnp.any(z > 0)),
    "by axis": lambda z: (jnp.sum(z[None] * z[:, None], axis=1), jnp.sum(jnp.zeros((0, 3)) * z, axis=0)),
    "products": lambda z: (z @ z, MATRIX @ z, jnp.outer(z, z), jnp.einsum("i,ij,j->", z, jnp.outer(z, z), z)),
    "cumulative": lambda z: (jnp.cumsum(z), jnp.cumsum(z[::-1])[::-1]),
    "softmax": lambda z: jax.nn.softmax(z),
    "norm": lambda z: jnp.linalg.norm(z),
}


@jax.custom_vjp
def doubled(z):
    """2 z, said to have the derivative 3."""
    return 2 * z


doubled.defvjp(lambda z: (2 * z, None), lambda _, cotangent: (3 * cotangent,))
DERIVED = {
    "relu": lambda z: jax.grad(lambda x: jnp.sum(jax.nn.relu(x) * x))(z),
    "own exponentials": lambda z: (elementary.exp(z), elementary.sigmoid(z), elementary.tanh(z), elementary.kept(z)),
    "gradient of softmax": lambda z: jax.grad(lambda x: jax.nn.softmax(jnp.outer(x, x), axis=1)[0, 1])(z),
    "gradient through pads": lambda z: jax.grad(lambda x: jnp.sum(x[1:] * x[:-1] ** 2))(z),
    "custom derivative": lambda z: jax.grad(lambda x: jnp.sum(elementary.tanh(x) ** 2))(z),
    "custom pullback": lambda z: (doubled(z), jax.grad(lambda x: jnp.sum(doubled(x) ** 2))(z)),
    "pullback": lambda z: jax.vjp(lambda x: jax.nn.softmax(MATRIX @ x), z)[1](z[:2])[0],
    "linearised": lambda z: jax.jvp(lambda x: jnp.cumsum(x) ** 2, (z,), (z[::-1],)),
    "checkpoint": lambda z: jax.grad(lambda x: jnp.sum(jax.checkpoint(jnp.tanh)(x)))(z),
    "nested jit": lambda z: jax.jit(lambda x: jax.jit(jnp.roll, static_argnums=1)(x, 1) * 2)(z),
}
ALL = ELEMENTWISE | STRUCTURAL | SUMS | DERIVED


@pytest.mark.parametrize("function", ALL.values(), ids=ALL)
def test_agrees_with_vmap(function):
    assert_agree(function, Z)


def test_every_rule_is_exercised():
    seen = set()

    def collect(jaxpr):
        for eqn in jaxpr.eqns:
            seen.add(eqn.primitive.name)
            for value in eqn.params.values():
                inner = getattr(value, "jaxpr", value)
                if hasattr(inner, "eqns"):
                    collect(inner)

    for function in ALL.values():
        collect(jax.make_jaxpr(function)(Z[:, 0]).jaxpr)
    rules = set(unroll._ELEMENTWISE) | set(unroll._STRUCTURAL) | set(unroll._REDUCTIONS)
    of_other_versions = {"expand_dims", "stack", "tile", "square", "acos", "asin"}  # of JAX: written otherwise in some
    assert rules - seen <= of_other_versions, rules - seen


def test_trees_with_nothing_in_them():
    def function(state, lane):
        return {"m": state["m"] * lane["h"], "none": None, "e": state["e"]}

    state = {"m": Z[0], "e": Z[1:]}
    form = Rows(WIDTH)
    found = form.joined(form.over(function)(*form.split((state, {"h": Z[2]}))))
    assert found["none"] is None
    np.testing.assert_array_equal(found["m"], Z[0] * Z[2])
    np.testing.assert_array_equal(found["e"], Z[1:])


def test_grid_round_trip():
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(Grid.of(array).array(4), array)
    assert Grid.of(np.zeros((0, 4), np.float32)).array(4).shape == (0, 4)


REFUSED = {
    "sort": lambda z: jnp.sort(z),
    "while": lambda z: lax.while_loop(lambda x: x[0] < 3, lambda x: x + 1, z),
    "scatter": lambda z: z.at[0].set(1.0),
    "index from data": lambda z: lax.dynamic_index_in_dim(z, (z[0] > 0).astype(int)),
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_has_no_elementwise_form_goes_to_vmap(function):
    form = fitting(function, WIDTH, Z)
    assert form == Arrays(WIDTH)
    np.testing.assert_allclose(form.over(function)(Z), vmapped(function, Z))


def test_too_many_operations_go_to_vmap(monkeypatch):
    monkeypatch.setattr(unroll, "MAX_OPERATIONS", 5)
    assert fitting(lambda z: z + 1, WIDTH, Z) == Rows(WIDTH)
    assert fitting(lambda z: (z + 1) * 2, WIDTH, Z) == Arrays(WIDTH)
    with pytest.raises(NotUnrollable, match="6 operations"):
        unroll.unroll(lambda z: (z + 1) * 2, jax.ShapeDtypeStruct((3,), np.float32))


STEPS = st.lists(
    st.sampled_from(
        [
            lambda z: z * z,
            lambda z: jnp.tanh(z),
            lambda z: z - jnp.sum(z),
            lambda z: jnp.roll(z, 1) * 0.5 + z,
            lambda z: jnp.where(z > 0, z, 0.1 * z),
            lambda z: z[::-1] + z[0],
            lambda z: jnp.sum(jnp.tanh(z[:, None] - z[None]), axis=1),
            lambda z: jnp.cumsum(z) / z.shape[0],
            lambda z: jnp.concatenate([z[1:], z[:1]]),
        ]
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=10, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_compositions_agree_with_vmap(steps, length):
    def function(z):
        for step in steps:
            z = jnp.tanh(step(z))
        return z, jax.grad(lambda x: jnp.sum(jnp.tanh(steps[0](x))))(z)

    z = np.random.default_rng(length).standard_normal((length, WIDTH)).astype(np.float32)
    assert_agree(function, z, rtol=2e-5)
