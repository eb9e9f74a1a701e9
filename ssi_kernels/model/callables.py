"""Targets that are Python functions: finding them, and what identifies them."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

from ssi_kernels.errors import ConfigError

_KEY = "target.callable"


@dataclass(frozen=True)
class Source:
    """Where a function is, and a digest of its source text.

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

        try:
            shape = jax.eval_shape(self.load(), jax.ShapeDtypeStruct((length,), "float32")).shape
        except ConfigError:
            raise
        except Exception as error:
            reason = f"cannot be traced by JAX at length {length}: {type(error).__name__}: {str(error)[:200]}"
            raise ConfigError(_KEY, self.reference, reason) from None
        if shape not in ((), (length, length)):
            raise ConfigError(_KEY, self.reference, f"returns shape {shape}; it must return () or ({length}, {length})")
        return len(shape)

    def canonical(self) -> dict:
        return {"callable": self.reference, "source": self.digest, "version": self.version}


def find(function: Callable | str, version: str | None = None) -> Source:
    """Locates a function given as "module:function" or as an object. Raises ConfigError where it cannot."""
    if isinstance(function, str):
        return Source(function, _digest(_import(function), function, version), _text(version))
    if not callable(function):
        raise ConfigError(_KEY, function, 'must be a function or text such as "mymodule:myfunction"')
    reference = f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', repr(function))}"
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
    except (ImportError, AttributeError) as error:
        raise ConfigError(_KEY, reference, f"cannot be imported ({error}); is its folder on PYTHONPATH?") from None
    if not callable(found):
        raise ConfigError(_KEY, reference, "is not a function")
    return found


def _digest(function: Callable, reference: str, version) -> str:
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        if version is None:
            raise ConfigError(_KEY, reference, "has no source to identify it; give a `version`") from None
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
