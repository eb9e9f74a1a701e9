"""Positional encodings P_i = sum_k B_ik p_k, with p_k orthonormal and orthogonal to w*.

Position i of the student is shifted by (B e)_i, e_k = p_k . w / sqrt(d); an injected encoding adds a
constant c_i to the field whatever w is (Arnaboldi et al. 2025, section 2 and appendix D).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import canonical_number, vector
from ssi_kernels.model.numbers import matrix as checked_matrix


@dataclass(frozen=True)
class Encoding:
    """A pattern B, shape (L, r), named or explicit, and an optional injected shift c, shape (L,)."""

    name: str = "none"
    rows: tuple[tuple[float, ...], ...] | None = None
    injected: tuple[float, ...] | None = None

    @property
    def is_none(self) -> bool:
        return self.name == "none" and self.injected is None

    @property
    def shown(self) -> object:
        """The encoding as a configuration would write it, for error messages."""
        pattern = self.name if self.rows is None else [list(row) for row in self.rows]
        if self.injected is None:
            return pattern
        given = {"pattern": pattern, "injected": list(self.injected)}
        return given if self.name != "none" else {"injected": given["injected"]}

    def rank(self, length: int) -> int:
        """Number r of directions p_k."""
        return self.matrix(length).shape[1]

    def matrix(self, length: int) -> np.ndarray:
        """B, float64 of shape (L, r). Raises ConfigError where the encoding does not fit `length`."""
        if self.name == "none":
            return np.zeros((length, 0))
        if self.name == "alternating":
            return (-1.0) ** np.arange(length)[:, None]
        rows = ((1.0,), (-1.0,)) if self.name == "opposite-pair" else self.rows
        if len(rows) != length:
            remedy = f"has {len(rows)} positions, but the sequence has length {length}; give a pattern of {length} rows"
            raise ConfigError("encoding", self.shown, remedy if self.rows else f"{remedy}, or alternating")
        return np.array(rows)

    def shift(self, length: int) -> np.ndarray:
        """c, float64 of shape (L,). Raises ConfigError where it does not fit `length`."""
        if self.injected is None:
            return np.zeros(length)
        if len(self.injected) != length:
            remedy = f"has {len(self.injected)} numbers, but the sequence has length {length}; give {length}"
            raise ConfigError("encoding.injected", list(self.injected), remedy)
        return np.array(self.injected)

    def canonical(self, length: int) -> dict:
        """What identifies the encoding at this length: two spellings of one B are one encoding."""
        rows = [[canonical_number(x) for x in row] for row in self.matrix(length)]
        shift = [canonical_number(x) for x in self.shift(length)]
        return {"pattern": rows if self.name != "none" else None, "injected": shift if any(shift) else None}

    def __add__(self, other: Encoding) -> Encoding:
        """A pattern together with an injected shift."""
        if self.name != "none" and other.name != "none":
            raise ConfigError("encoding", f"{self.name} + {other.name}", "combine one pattern with one injected shift")
        if self.injected is not None and other.injected is not None:
            raise ConfigError("encoding.injected", list(other.injected), "is given twice; add the shifts yourself")
        patterned = other if self.name == "none" else self
        return Encoding(patterned.name, patterned.rows, self.injected if other.injected is None else other.injected)


def none() -> Encoding:
    """No encoding."""
    return Encoding()


def opposite_pair() -> Encoding:
    """B = (1, -1) for L = 2: P_1 = p, P_2 = -p."""
    return Encoding("opposite-pair")


def alternating() -> Encoding:
    """B_i = (-1)^i, i = 0, 1, ..., for any L."""
    return Encoding("alternating")


def pattern(rows) -> Encoding:
    """An explicit B of shape (L, r). Raises ConfigError for anything but a matrix of finite numbers."""
    return Encoding("explicit", checked_matrix("encoding.pattern", rows))


def injected(shift) -> Encoding:
    """A constant shift c of shape (L,) of the local fields: z_i = X_i . w + (B e)_i + c_i."""
    return Encoding(injected=vector("encoding.injected", shift))
