"""Targets that are Python functions: finding them, and what identifies them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from ssi_kernels.errors import ConfigError

_KEY = "target.callable"


@dataclass(frozen=True)
class Source:
    """Where a function is, and a digest of its source text and of the values it carries along.

    Only the reference travels to workers for `module:function`; a function object travels itself.
    """

    reference: str
    digest: str
    version: str | None
    function: Callable | None = field(default=None, compare=False)

    def load(self) -> Callable:
        """The function, imported where only its reference is known."""
        return self.function if self.function is not None else _import(self.reference)

    def output_rank(self, length: int) -> int:
        """0 for a scalar label, 2 for an (L, L) matrix. Raises ConfigError for anything else."""
        import jax

        function = self.load()
        try:
            label = jax.eval_shape(function, jax.ShapeDtypeStruct((length,), "float32"))
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).partition('. ')[0][:200]}"
            raise ConfigError(_KEY, self.reference, f"cannot be traced by JAX at length {length}: {reason}") from None
        shape = getattr(label, "shape", None)
        if shape not in ((), (length, length)) or label.dtype.kind == "c":
            returned = type(label).__name__ if shape is None else f"{label.dtype} of shape {shape}"
            remedy = f"it must return a real number, shape (), or a matrix, shape ({length}, {length})"
            raise ConfigError(_KEY, self.reference, f"returns {returned}; {remedy}")
        return len(shape)

    def canonical(self) -> dict:
        return {"callable": self.reference, "source": self.digest, "version": self.version}


def find(function: Callable | str, version: str | None = None) -> Source:
    """Locates a function given as "module:function" or as an object. Raises ConfigError where it cannot."""
    if isinstance(function, str):
        return Source(function, _digest(_import(function), function, version), _text(version))
    if not callable(function):
        raise ConfigError(_KEY, function, 'must be a function or text such as "mymodule:myfunction"')
    name = getattr(function, "__qualname__", type(function).__qualname__)
    reference = f"{getattr(function, '__module__', '?')}:{name}"
    return Source(reference, _digest(function, reference, version), _text(version), function)


def _text(version) -> str | None:
    return None if version is None else str(version)


def _import(reference: str) -> Callable:
    module, _, name = reference.partition(":")
    if not module or not name:
        raise ConfigError(_KEY, reference, 'must look like "mymodule:myfunction"')
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        reason = f"cannot be imported ({type(error).__name__}: {error}); is its folder on PYTHONPATH?"
        raise ConfigError(_KEY, reference, reason) from None
    if not callable(found):
        raise ConfigError(_KEY, reference, "is not a function")
    return found


def _digest(function: Callable, reference: str, version: object) -> str:
    """16 hex digits of the function's source text and of the values it carries along.

    Raises ConfigError where these do not identify it, and there is no `version` to do so.
    """
    inner = inspect.unwrap(function)
    text = _source(function)
    carried = {**_carried(inner), **_place(inner, text)}
    lacking = _lacking(text, carried)
    if lacking and version is None:
        raise ConfigError(_KEY, reference, f"{lacking}; give a `version` to identify it")
    values = [f"{name}={_shown(value)}" for name, value in carried.items() if not isinstance(value, ModuleType)]
    return hashlib.sha256("\n".join([text, *values]).encode()).hexdigest()[:16]


def _source(function: Callable) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def _carried(function: Callable) -> dict[str, object]:
    """Values of default arguments and of an enclosing function, which the source text does not show."""
    if not inspect.isfunction(function):
        return {}
    defaults = dict(enumerate(function.__defaults__ or ())) | (function.__kwdefaults__ or {})
    return {f"default {key}": value for key, value in defaults.items()} | inspect.getclosurevars(function).nonlocals


def _place(function: Callable, text: str) -> dict[str, object]:
    """Where in its source text a lambda is that shares this text with other lambdas."""
    if getattr(function, "__name__", "") != "<lambda>" or text.count("lambda") == 1:
        return {}
    first = function.__code__.co_firstlineno
    positions = [(line - first, column) for line, _, column, _ in function.__code__.co_positions() if line and column]
    return {"the position of a lambda among others": max(positions, default=object)}


def _shown(value: object) -> str | None:
    """Text that tells numbers, texts and arrays of them apart; None for anything else."""
    if value is None or isinstance(value, ModuleType):
        return repr(value)
    try:
        array = np.asarray(value)
    except Exception:
        return None
    return repr(array.tolist()) if array.dtype.kind in "biufcSU" else None


def _lacking(text: str, carried: dict[str, object]) -> str:
    """Why the function cannot be told from others by its text and the values it carries; empty where it can."""
    if not text:
        return "has no source text"
    unknown = [name for name, value in carried.items() if _shown(value) is None]
    return f"depends on {', '.join(unknown)}, which is neither a number nor an array" if unknown else ""
