"""Targets y = g(z*): what the student has to learn from the local fields of the hidden direction."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ssi_kernels import expressions
from ssi_kernels.errors import ConfigError
from ssi_kernels.grammar import MAX_DEGREE
from ssi_kernels.hermite import normalised
from ssi_kernels.model import callables
from ssi_kernels.model.numbers import canonical_number, finite, matrix, whole
from ssi_kernels.model.softmax import attention_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ssi_kernels.model.encodings import Encoding

FAMILIES = ("positional-semantic", "mixed-logit", "hermite", "expression", "callable")


@dataclass(frozen=True)
class Target:
    """Base of all targets. A new one states its family, its numbers and its label function."""

    family: ClassVar[str]

    def is_matrix(self, length: int) -> bool:
        """Whether y is an L x L matrix."""
        return False

    def parameters(self) -> dict[str, float]:
        """The numbers that vary from point to point without another compilation."""
        return {}

    def static(self) -> Target:
        """The target without its parameters: what a compiled program depends on."""
        return self

    def check(self, length: int, encoding: Encoding) -> None:
        """Raises ConfigError where the target does not fit the length or the encoding."""

    def canonical(self, length: int, encoding: Encoding) -> dict:
        """What identifies the target, as JSON."""
        raise NotImplementedError

    def labeller(self, length: int, encoding: Encoding, parameters: dict) -> Callable:
        """The function from fields z*, shape (L, ...), to y, shape (...) or (L, L, ...), in JAX.

        `parameters` has the arrays of `parameters()`, each of the shape of one field.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class _TwoFeature(Target):
    """A target that mixes semantic and positional attention with weights 1 - omega and omega."""

    omega: float = 0.0
    a: float = 1.0
    pattern: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        omega, a = finite("omega", self.omega), finite("a", self.a)
        if not 0 <= omega <= 1:
            raise ConfigError("omega", self.omega, "must lie in [0, 1]")
        if a <= 0:
            raise ConfigError("a", self.a, "must be positive")
        object.__setattr__(self, "omega", omega)
        object.__setattr__(self, "a", a)
        if self.pattern is not None:
            rows = matrix("target.pattern", self.pattern)
            if len(rows[0]) != 1:
                remedy = "must have one column: the positional part has rank one"
                raise ConfigError("target.pattern", [list(r) for r in rows], remedy)
            object.__setattr__(self, "pattern", rows)

    def is_matrix(self, length: int) -> bool:
        return True

    def parameters(self) -> dict[str, float]:
        return {"omega": self.omega, "a": self.a}

    def static(self) -> Target:
        return replace(self, omega=0.0, a=1.0)

    def column(self, length: int, encoding: Encoding) -> np.ndarray:
        """B as shape (L,): the target's own pattern, else that of an encoding of rank one."""
        if self.pattern is None:
            b = encoding.matrix(length)
            if b.shape[1] != 1:
                remedy = f"is needed where the encoding has {b.shape[1]} columns: give one column such as [[1], [-1]]"
                raise ConfigError("target.pattern", None, remedy)
            return b[:, 0]
        if len(self.pattern) != length:
            remedy = f"has {len(self.pattern)} positions, but the sequence has length {length}; give {length} rows"
            raise ConfigError("target.pattern", [list(r) for r in self.pattern], remedy)
        return np.array(self.pattern)[:, 0]

    def check(self, length: int, encoding: Encoding) -> None:
        if length < 2:
            raise ConfigError(
                "length", length, f"the target {self.family} is constant over one token; use length 2 or more"
            )
        self.column(length, encoding)

    def canonical(self, length: int, encoding: Encoding) -> dict:
        return {
            "family": self.family,
            "omega": canonical_number(self.omega),
            "a": canonical_number(self.a),
            "pattern": [canonical_number(b) for b in self.column(length, encoding)],
        }

    def _positional(self, length, encoding, scale):
        """B_i times a factor per lane: shape (L, ...)."""
        from jax import numpy as jnp

        column = jnp.asarray(self.column(length, encoding), scale.dtype)
        return column.reshape((length,) + (1,) * scale.ndim) * scale


@dataclass(frozen=True)
class PositionalSemantic(_TwoFeature):
    """y = (1 - omega) softmax(z z^T) + omega softmax(a^2 B B^T), row-wise (Arnaboldi et al. 2025, section 4)."""

    family: ClassVar[str] = "positional-semantic"

    def labeller(self, length, encoding, parameters):
        omega = parameters["omega"]
        positional = omega * attention_matrix(self._positional(length, encoding, parameters["a"]))
        return lambda z: (1 - omega) * attention_matrix(z) + positional


@dataclass(frozen=True)
class MixedLogit(_TwoFeature):
    """y = softmax(v v^T) row-wise with v = (1 - omega) z + omega a B (Arnaboldi et al. 2025, appendix F.3)."""

    family: ClassVar[str] = "mixed-logit"

    def labeller(self, length, encoding, parameters):
        omega = parameters["omega"]
        positional = self._positional(length, encoding, omega * parameters["a"])
        return lambda z: attention_matrix((1 - omega) * z + positional)


@dataclass(frozen=True)
class Hermite(Target):
    """g = sum_i h_k(z_i) / sqrt(L) with k = sie: unit variance, sequence information exponent k."""

    sie: int = 1
    family: ClassVar[str] = "hermite"

    def __post_init__(self) -> None:
        sie = whole("sie", self.sie, 1)
        if sie > MAX_DEGREE:
            raise ConfigError("sie", self.sie, f"may be at most {MAX_DEGREE}")
        object.__setattr__(self, "sie", sie)

    def canonical(self, length: int, encoding: Encoding) -> dict:
        return {"family": self.family, "sie": self.sie}

    def labeller(self, length, encoding, parameters):
        return lambda z: normalised(self.sie, z).sum(axis=0) / math.sqrt(length)


@dataclass(frozen=True)
class Expression(Target):
    """A scalar expression of the fields; see `ssi_kernels.expressions` for what it may use."""

    text: str = ""
    family: ClassVar[str] = "expression"

    def __post_init__(self) -> None:
        with _inside_target():
            object.__setattr__(self, "text", expressions.normalise(self.text))

    def check(self, length: int, encoding: Encoding) -> None:
        with _inside_target():
            expressions.to_sympy(self.text, length)

    def canonical(self, length: int, encoding: Encoding) -> dict:
        return {"family": self.family, "expression": self.text}

    def labeller(self, length, encoding, parameters):
        return expressions.to_jax(self.text, length)


@contextmanager
def _inside_target() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise error.within("target") from None


@dataclass(frozen=True)
class FromCallable(Target):
    """A JAX-traceable function of one sample's fields, shape (L,), to a number or an (L, L) matrix."""

    source: callables.Source = None
    family: ClassVar[str] = "callable"

    def is_matrix(self, length: int) -> bool:
        return self.source.output_rank(length) == 2

    def check(self, length: int, encoding: Encoding) -> None:
        self.source.output_rank(length)

    def canonical(self, length: int, encoding: Encoding) -> dict:
        return {"family": self.family, **self.source.canonical()}

    def labeller(self, length, encoding, parameters):
        import jax
        from jax import numpy as jnp

        function = self.source.load()

        def label(z):
            if z.ndim == 1:
                return jnp.asarray(function(z), z.dtype)
            y = jax.vmap(function, in_axes=-1, out_axes=-1)(z.reshape(length, -1))
            return jnp.asarray(y.reshape(*y.shape[:-1], *z.shape[1:]), z.dtype)

        return label


def positional_semantic(omega: float, a: float, pattern=None) -> PositionalSemantic:
    """The target of the phase diagram; `pattern` (L, 1), or None for that of the encoding.

    Raises ConfigError for omega outside [0, 1], a <= 0, or a pattern of more than one column.
    """
    return PositionalSemantic(omega, a, pattern)


def mixed_logit(omega: float, a: float, pattern=None) -> MixedLogit:
    """The control target whose minimum moves without a transition; arguments as `positional_semantic`."""
    return MixedLogit(omega, a, pattern)


def hermite(sie: int) -> Hermite:
    """The named family with sequence information exponent `sie`. Raises ConfigError unless 1 <= sie <= 64."""
    return Hermite(sie)


def expression(text: str) -> Expression:
    """A target given as text, such as "sum(He2(z))/sqrt(2)". Raises ConfigError where it is not an expression."""
    return Expression(text)


def from_callable(function, version: str | None = None) -> FromCallable:
    """A target given as a function or as "module:function"; its source is part of its identity.

    Raises ConfigError where it cannot be found, or where it has no source and no `version`.
    """
    return FromCallable(callables.find(function, version))
