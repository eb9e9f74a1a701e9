"""Students: what is trained, seen as a function f of its local fields.

A student with one direction w for all positions (`attention`, `linear-attention`, `tied`) has fields
z_i = X_i . w + (B e)_i + c_i; an `untied` one has z_i = X_i . w_i. `tied` and `untied` see their fields
only through u = sum_i z_i / sqrt(L), which is what `sees_sum` tells the kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import activations
from ssi_kernels.model.numbers import canonical_number, vector
from ssi_kernels.model.softmax import attention_matrix, attention_pullback, outer, trace_pullback

REDUCTIONS = ("identity", "trace", "projection")
NORMS = ("joint", "row")


@dataclass(frozen=True)
class Student:
    """Base of all students: `outputs` maps fields of shape (K, ...) to f, shape (...) or (L, L, ...).

    K is 1 (the sum u) for students that see only the sum, else L.
    """

    kind: ClassVar[str]
    sees_sum: ClassVar[bool] = False
    is_untied: ClassVar[bool] = False
    norm: ClassVar[str | None] = None

    @property
    def is_matrix(self) -> bool:
        """Whether f is an L x L matrix."""
        return False

    @property
    def label(self) -> str:
        """A short name for figures and tables."""
        raise NotImplementedError

    def outputs(self, fields):
        raise NotImplementedError

    def pullback(self, fields):
        """f for one sample, and the function from a cotangent G = dL/df to q = dL/dz, shape (K,).

        By automatic differentiation of `outputs` unless a student writes its own.
        """
        import jax

        output, pull = jax.vjp(self.outputs, fields)
        return output, lambda cotangent: pull(cotangent)[0]

    def check(self, length: int) -> None:
        """Raises ConfigError where the student does not fit sequences of this length."""

    def canonical(self) -> dict:
        raise NotImplementedError


@dataclass(frozen=True)
class _Reduced(Student):
    """A student that computes an L x L matrix S and reduces it.

    `identity`: f = S; `trace`: f = Tr S / sqrt(L); `projection`: f = a_l^T S a_r.
    """

    reduction: str = "identity"
    a_left: tuple[float, ...] | None = None
    a_right: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.reduction not in REDUCTIONS:
            raise ConfigError("student.reduction", self.reduction, f"use one of {', '.join(REDUCTIONS)}")
        for side in ("a_left", "a_right"):
            value = getattr(self, side)
            if (value is not None) != (self.reduction == "projection"):
                remedy = "is only for reduction: projection; leave it out"
                if value is None:
                    remedy = "is needed by reduction: projection; give one number per position"
                raise ConfigError(f"student.{side}", value, remedy)
            if value is not None:
                object.__setattr__(self, side, vector(f"student.{side}", value))
                if not any(getattr(self, side)):
                    raise ConfigError(f"student.{side}", value, "is zero, and f would be constant; choose another")

    @property
    def is_matrix(self) -> bool:
        return self.reduction == "identity"

    @property
    def label(self) -> str:
        return f"{self.kind}-{self.reduction}"

    def check(self, length: int) -> None:
        for side in ("a_left", "a_right"):
            value = getattr(self, side)
            if value is not None and len(value) != length:
                remedy = f"has {len(value)} numbers, but the sequence has length {length}; give {length}"
                raise ConfigError(f"student.{side}", list(value), remedy)

    def scores(self, z):
        raise NotImplementedError

    def outputs(self, fields):
        return self.reduced(self.scores(fields))

    def reduced(self, scores):
        """f from the matrix S, shape (L, L, ...)."""
        from jax import numpy as jnp

        length = scores.shape[0]
        if self.reduction == "identity":
            return scores
        if self.reduction == "trace":
            return sum(scores[i, i] for i in range(length)) / math.sqrt(length)
        weights = np.outer(self.a_left, self.a_right)
        weights = weights.astype(scores.dtype).reshape((length, length) + (1,) * (scores.ndim - 2))
        return jnp.sum(weights * scores, axis=(0, 1))

    def canonical(self) -> dict:
        sides = {
            side: None if getattr(self, side) is None else [canonical_number(x) for x in getattr(self, side)]
            for side in ("a_left", "a_right")
        }
        return {"kind": self.kind, "reduction": self.reduction, **sides}


@dataclass(frozen=True)
class Attention(_Reduced):
    """Single-layer tied attention: S = row-wise softmax of z z^T (Arnaboldi et al. 2025, equation 2)."""

    kind: ClassVar[str] = "attention"

    def check(self, length: int) -> None:
        super().check(length)
        if length < 2:
            raise ConfigError("length", length, "softmax attention over one token is constant; use length 2 or more")
        if self.a_right is not None and len({canonical_number(x) for x in self.a_right}) == 1:
            remedy = "is proportional to (1,...,1), and rows of softmax sum to 1: f would be constant; choose another"
            raise ConfigError("student.a_right", list(self.a_right), remedy)

    def scores(self, z):
        return attention_matrix(z)

    def pullback(self, fields):
        scores, length = self.scores(fields), fields.shape[0]
        output = self.reduced(scores)
        if self.reduction == "trace":
            return output, lambda cotangent: trace_pullback(fields, scores) * (cotangent / math.sqrt(length))
        if self.reduction == "projection":
            weights = np.outer(self.a_left, self.a_right).astype(fields.dtype)
            return output, lambda cotangent: attention_pullback(fields, scores, weights) * cotangent
        return output, lambda cotangent: attention_pullback(fields, scores, cotangent)


@dataclass(frozen=True)
class LinearAttention(_Reduced):
    """Attention without softmax: S = z z^T."""

    kind: ClassVar[str] = "linear-attention"

    def scores(self, z):
        return outer(z)


@dataclass(frozen=True)
class _Summing(Student):
    """f = sigma(u), u = sum_i z_i / sqrt(L)."""

    activation: str = "relu"
    sees_sum: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", activations.canonical_name(self.activation))

    @property
    def label(self) -> str:
        return f"{self.kind}-{self.activation}"

    def outputs(self, fields):
        return activations.evaluate(self.activation, fields[0])

    def canonical(self) -> dict:
        return {"kind": self.kind, "activation": self.activation}


@dataclass(frozen=True)
class Tied(_Summing):
    """One direction w for all positions."""

    kind: ClassVar[str] = "tied"


@dataclass(frozen=True)
class Untied(_Summing):
    """A direction w_i per position. `joint` keeps |W|_F^2 = L d, `row` keeps every |w_i|^2 = d."""

    norm: str = "joint"
    kind: ClassVar[str] = "untied"
    is_untied: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in NORMS:
            raise ConfigError("student.norm", self.norm, "use joint or row")

    @property
    def label(self) -> str:
        return f"{super().label}-{self.norm}"

    def canonical(self) -> dict:
        return {**super().canonical(), "norm": self.norm}


def attention(reduction: str = "identity", a_left=None, a_right=None) -> Attention:
    """Softmax attention with one direction. Raises ConfigError for unknown reductions or misplaced vectors."""
    return Attention(reduction, a_left, a_right)


def linear_attention(reduction: str = "identity", a_left=None, a_right=None) -> LinearAttention:
    """Attention without softmax; with the uniform projection it equals `tied` with activation `square`."""
    return LinearAttention(reduction, a_left, a_right)


def tied(activation: str = "relu") -> Tied:
    """f = sigma(sum_i X_i . w / sqrt(L)). Raises ConfigError for unknown activations."""
    return Tied(activation)


def untied(activation: str = "relu", norm: str = "joint") -> Untied:
    """f = sigma(sum_i X_i . w_i / sqrt(L)). Raises ConfigError for unknown activations and norms."""
    return Untied(activation=activation, norm=norm)
