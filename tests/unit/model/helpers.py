"""Refusals, and plain numpy versions of what the pieces of a model compute for one sample."""

import numpy as np
import pytest

from ssi_kernels.errors import ConfigError


def refused(call, key, value=None, *words):
    """The one line with which `call` is refused: it names `key`, `value` and the remedy's `words`."""
    with pytest.raises(ConfigError) as caught:
        call()
    line, error = str(caught.value), caught.value
    assert len(line.splitlines()) == 1 and len(line) < 450
    assert error.key == key and line.startswith(f"{key}: "), line
    assert value is None or error.value == value, line
    assert error.remedy and all(word in line for word in words), line
    return line


def fields(length, *lanes, seed=0):
    """Standard normal fields of shape (L, *lanes)."""
    return np.random.default_rng([seed, length]).standard_normal((length, *lanes))


def softmax(row):
    weights = np.exp(row - row.max())
    return weights / weights.sum()


def attention(v):
    """Row-wise softmax of v v^T for one vector v, shape (L,)."""
    return np.array([softmax(row) for row in np.outer(v, v)])


def by_sample(function, z):
    """`function` of every sample of z, shape (L, W), the samples last."""
    return np.stack([function(z[:, w]) for w in range(z.shape[1])], axis=-1)
