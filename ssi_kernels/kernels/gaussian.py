"""Pairs of standard normals from pairs of 32-bit words, by Box-Muller.

In float32 the logarithm and the sine are short polynomials (Cephes' single-precision ones), because XLA's
own were the bottleneck of the whole kernel. A pair is returned as one complex number: XLA:CPU has no fusion
with two outputs and would run the cipher once for each.
"""

from __future__ import annotations

import math

from jax import lax
from jax import numpy as jnp

_SQRT_HALF_BITS = 0x3F3504F3
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def pair(a, b, dtype):
    """Two independent N(0, 1) as real and imaginary part, from uint32 words of any one shape."""
    return lax.complex(*halves(a, b, dtype))


def halves(a, b, dtype):
    """The two numbers of `pair`. float32 and float64 make the same of the same words, up to rounding."""
    single = dtype == jnp.float32
    uniform = a.astype(dtype) * dtype(2.0**-32) + dtype(2.0**-33)
    radius = jnp.sqrt(jnp.maximum(-2 * (_log(uniform) if single else jnp.log(uniform)), 0))
    cosine, sine = _circle(b, dtype)
    return radius * cosine, radius * sine


def _horner(coefficients, x):
    total = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + x.dtype.type(c)
    return total


def _log(u):
    """Natural logarithm of float32 u in [2^-33, 1], to 1e-7 relative."""
    f32, i32 = jnp.float32, jnp.int32
    bits = lax.bitcast_convert_type(u, i32)
    exponent = (bits - i32(_SQRT_HALF_BITS)) >> i32(23)
    x = lax.bitcast_convert_type(bits - (exponent << i32(23)), f32) - f32(1)
    square = x * x
    tail = x * square * _horner(_LOG, x) - f32(0.5) * square
    return x + tail + exponent.astype(f32) * f32(math.log(2))


def _circle(word, dtype):
    """(cos, sin) of a uniform angle: the top two bits choose the quadrant, the rest an angle in [-pi/4, pi/4)."""
    u32 = jnp.uint32
    angle = (word << u32(2)).astype(jnp.int32).astype(dtype) * dtype(math.pi / 4 * 2.0**-31)
    cosine, sine = _near_zero(angle) if dtype == jnp.float32 else (jnp.cos(angle), jnp.sin(angle))
    quadrant = word >> u32(30)
    swap = (quadrant & u32(1)) != 0
    sign = jnp.where(quadrant >= u32(2), dtype(-1), dtype(1))
    return sign * jnp.where(swap, sine, cosine), sign * jnp.where(swap, cosine, sine)


def _near_zero(angle):
    """(cos, sin) of float32 angles in [-pi/4, pi/4]."""
    f32 = jnp.float32
    square = angle * angle
    cosine = f32(1) - f32(0.5) * square + square * square * _horner(_COS, square)
    return cosine, angle * (f32(1) + square * _horner(_SIN, square))
