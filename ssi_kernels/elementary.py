"""exp, the logistic function and tanh in float32, as few operations that every device rounds alike.

XLA's own are the bottleneck of a step, and may round differently in the vectorised and in the remaining part of a
loop. In float64 they are JAX's. Each has its derivative in terms of its value.
"""

from __future__ import annotations

from functools import lru_cache

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # Cody and Waite: n * high is exact for the n in use
_ROUND = 12582912.0  # 1.5 * 2^23: adding it rounds a float32 to an integer, found in the low bits
_ROUND_BITS = 0x4B400000
_LIMIT = 87.0  # e^87 is near the largest float32


def _single(x) -> bool:
    from jax import numpy as jnp

    return jnp.result_type(x) == jnp.float32


def _even_odd(x):
    """(E, O, s) with e^x = s (E + O) / (E - O).

    The Pade approximant (3, 3) on [-ln 2 / 2, ln 2 / 2], exact to 6e-9, times the power of two s.
    """
    import numpy as np
    from jax import lax
    from jax import numpy as jnp

    f32, i32 = np.float32, np.int32
    x = lax.clamp(f32(-_LIMIT), x, f32(_LIMIT))
    bits = lax.bitcast_convert_type(x * f32(_LOG2_E) + f32(_ROUND), jnp.int32)
    n = (bits - i32(_ROUND_BITS)).astype(jnp.float32)  # XLA would cancel a subtraction of _ROUND
    r = (x - n * f32(_LN2_HIGH)) - n * f32(_LN2_LOW)
    square = r * r
    scale = lax.bitcast_convert_type((bits << i32(23)) + i32(0x3F800000), jnp.float32)
    return f32(0.1) * square + f32(1), r * (f32(1 / 120) * square + f32(0.5)), scale


@lru_cache(maxsize=1)
def _functions() -> dict:
    """The float32 functions by name; JAX is imported with the first use."""
    import jax

    def ratio(name, value, derivative):
        function = jax.custom_jvp(value)

        @function.defjvp
        def _(primals, tangents):
            y = function(*primals)
            return y, derivative(y) * tangents[0]

        return name, function

    def exp_of(x):
        even, odd, scale = _even_odd(x)
        return (scale * (even + odd)) / (even - odd)

    def sigmoid_of(x):
        even, odd, scale = _even_odd(x)
        grown = scale * (even + odd)
        return grown / (grown + (even - odd))

    def tanh_of(x):
        even, odd, scale = _even_odd(2 * x)
        return ((scale - 1) * even + (scale + 1) * odd) / ((scale + 1) * even + (scale - 1) * odd)

    return dict(
        [
            ratio("exp", exp_of, lambda y: y),
            ratio("sigmoid", sigmoid_of, lambda y: y * (1 - y)),
            ratio("tanh", tanh_of, lambda y: (1 - y) * (1 + y)),
        ]
    )


def exp(x):
    """e^x; float32 within 3e-7 relative for |x| <= 87, and constant beyond."""
    from jax import numpy as jnp

    return _functions()["exp"](x) if _single(x) else jnp.exp(x)


def sigmoid(x):
    """1 / (1 + e^-x); float32 within 3e-7 relative for |x| <= 87, and constant beyond."""
    import jax

    return _functions()["sigmoid"](x) if _single(x) else jax.nn.sigmoid(x)


def tanh(x):
    """tanh x; float32 within 3e-7 relative."""
    from jax import numpy as jnp

    return _functions()["tanh"](x) if _single(x) else jnp.tanh(x)


def kept(x):
    """x itself, computed once: XLA:CPU keeps the result of a division, but makes a cheaper one anew for each use."""
    return x / (1 + 0 * x)
