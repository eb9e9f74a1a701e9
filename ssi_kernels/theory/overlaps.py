"""Overlaps as users give them, and as arrays over the coordinates of a landscape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import ConfigError

if TYPE_CHECKING:
    from ssi_kernels.model import Model


def length_of(model: Model, length: int | None) -> int:
    """The length given, or the one that the encoding, the target's pattern or the student's projection fixes.

    Raises ConfigError where there is neither.
    """
    if length is not None:
        return length
    encoding, target, student = model.encoding, model.target, model.student
    fixed = [
        2 if encoding.name == "opposite-pair" else None,
        *(len(part) for part in (encoding.rows, encoding.injected, getattr(target, "pattern", None)) if part),
        *(len(part) for part in (getattr(student, "a_left", None),) if part),
    ]
    for found in fixed:
        if found:
            return found
    raise ConfigError("length", None, "is needed: nothing in this model fixes the length of the sequence")


def _components(e, rank: int) -> np.ndarray:
    """e as an array of shape (..., rank); for rank one it comes without that axis."""
    if e is None or not rank:
        return np.zeros(rank)
    e = np.asarray(e, dtype=float)
    return e[..., None] if rank == 1 else e


def argument(model: Model, length: int, e, m) -> np.ndarray:
    """(e, m) as an array over the coordinates of a landscape; e and m broadcast.

    `e` has shape (...) for rank one, (..., r) beyond; for untied students `m` is one number for all positions or has
    shape (..., L). Raises ConfigError outside the unit ball.
    """
    m = np.asarray(m, dtype=float)
    if model.student.is_untied:
        x = m if m.ndim and m.shape[-1] == length else np.repeat(m[..., None], length, axis=-1)
        inside = (x**2).sum(axis=-1) <= length * (1 + 1e-9)
    else:
        e = _components(e, model.rank(length))
        shape = np.broadcast_shapes(e.shape[:-1], m.shape)
        x = np.concatenate(
            [np.broadcast_to(e, (*shape, e.shape[-1])), np.broadcast_to(m[..., None], (*shape, 1))], axis=-1
        )
        inside = (x**2).sum(axis=-1) <= 1 + 1e-9
    if not np.all(inside):
        worst = x.reshape(-1, x.shape[-1])[np.argmin(inside.ravel())]
        raise ConfigError("m, e", [float(f"{v:.6g}") for v in worst], "must satisfy m^2 + |e|^2 <= 1")
    return x
