"""Initial states on the host, in float64, from streams of their own.

`reduced` needs only the overlaps; a uniform start on the sphere S^(n-1) has overlaps x_k / |x| with k normals
and one chi-square variable for the other n - k coordinates. `full` draws its frame and weights.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from ssi_kernels.kernels import streams
from ssi_kernels.kernels.shape import Shape
from ssi_kernels.model.starts import Start


def reduced_start(shape: Shape, start: Start, d: int, keys: np.ndarray) -> dict[str, np.ndarray]:
    """Overlaps of every lane: m (W,) and e (r, W), or m_position (L, W) for untied students; float64."""
    width, length, rank = keys.shape[1], shape.length, shape.rank
    if shape.student.is_untied:
        if not start.random:
            return {"m_position": np.full((length, width), start.m)}
        return {"m_position": _untied_random(shape.student.norm, length, d, keys)}
    if not start.random:
        e = np.array(start.components(rank))[:, None] * np.ones((1, width))
        return {"m": np.full(width, start.m), "e": e}
    x = _sphere(keys, rank + 1, d)
    return {"m": x[0], "e": x[1:]}


def _untied_random(norm: str, length: int, d: int, keys: np.ndarray) -> np.ndarray:
    if norm == "joint":
        return np.sqrt(length) * _sphere(keys, length, length * d)
    normals = streams.host_normals(keys, streams.START, length)
    rest = stats.chi2.ppf(streams.host_uniforms(keys, streams.FRAME, length), d - 1)
    return normals / np.sqrt(normals**2 + rest)


def _sphere(keys: np.ndarray, count: int, dimension: int) -> np.ndarray:
    """`count` coordinates of a uniform point on S^(dimension - 1), shape (count, W)."""
    normals = streams.host_normals(keys, streams.START, count)
    rest = stats.chi2.ppf(streams.host_uniforms(keys, streams.FRAME, 1)[0], dimension - count)
    return normals / np.sqrt(np.sum(normals**2, axis=0) + rest)


def frame(shape: Shape, d: int, keys: np.ndarray) -> dict[str, np.ndarray]:
    """Random orthonormal u (d, W) and p (r, d, W), the directions of w* and of the encoding."""
    rank, width = shape.rank, keys.shape[1]
    drawn = streams.host_normals(keys, streams.FRAME, (rank + 1) * d).reshape(rank + 1, d, width)
    basis = _orthonormal(drawn)
    return {"u": basis[0], "p": basis[1:]}


def full_start(shape: Shape, start: Start, d: int, keys: np.ndarray, directions: dict) -> dict[str, np.ndarray]:
    """Unit weights v (d, W), or (L, d, W) for untied students, with the overlaps that `start` asks for."""
    rows = shape.length if shape.student.is_untied else 1
    drawn = streams.host_normals(keys, streams.START, rows * d).reshape(rows, d, keys.shape[1])
    if start.random:
        together = shape.student.norm == "joint"
        norm = np.sqrt(np.sum(drawn**2, axis=(0, 1) if together else 1, keepdims=True) / (rows if together else 1))
        v = drawn / norm
    else:
        basis = np.concatenate([directions["u"][None], directions["p"]])
        wanted = np.array([start.m, *start.components(shape.rank)])
        rest = np.stack([_orthonormal(np.concatenate([basis, row[None]]))[-1] for row in drawn])
        v = np.einsum("k,kdw->dw", wanted, basis) + np.sqrt(max(0.0, 1 - np.sum(wanted**2))) * rest
    return {"v": v if shape.student.is_untied else v[0]}


def _orthonormal(vectors: np.ndarray) -> np.ndarray:
    """Gram-Schmidt along the first axis of (k, d, W), twice for full accuracy."""
    basis = []
    for x in vectors:
        for _ in range(2):
            for b in basis:
                x = x - b * np.sum(b * x, axis=0)
        basis.append(x / np.sqrt(np.sum(x**2, axis=0)))
    return np.stack(basis)
