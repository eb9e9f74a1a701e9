"""Targets for test_callables.py, found as module:function."""

import functools

import jax
import numpy as np
from jax import numpy as jnp


def product(z):
    return jnp.prod(z)


def hard_attention(z):
    similarity = jnp.outer(z, z)
    return (similarity == similarity.max(axis=1, keepdims=True)).astype(z.dtype)


@jax.jit
def compiled(z):
    return jnp.max(z)


def scaled_by(factor):
    def scaled(z):
        return jnp.sum(z * np.asarray(factor))

    return scaled


class Holder:
    @staticmethod
    def first(z):
        return z[0]


def several(z):
    return z, z


def fields_themselves(z):
    return z


def complex_number(z):
    return z[0] * 1j


def raises(z):
    raise RuntimeError("first line\nsecond line")


def branches(z):
    return z[0] if z[0] > 0 else z[1]


double, triple, by_vector = scaled_by(2.0), scaled_by(3.0), scaled_by(np.array([1.0, 2.0]))
unknown = scaled_by(object())
one, other = (lambda z: z[0]), (lambda z: z[1])
partly = functools.partial(jnp.sum, axis=0)
number = 3
