"""Numbers as users write them: 300000, "3e5", "2/sqrt(d)".

YAML 1.1 reads 3e5 and 5e-2 as text, so every number may be text, and every text is arithmetic. It is read
through a whitelist over Python's `ast`; Python never evaluates it.

A *number* is a constant; a *quantity* may also use the dimension `d` and the length `L`.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Real

from ssi_kernels.model.numbers import canonical_number
from ssi_kernels.sweep.refusals import refusal

MAX_CHARACTERS = 200
_INTEGER = re.compile(r"[+-]?[0-9]+$")
_NAMES = {"d": "d", "L": "length", "length": "length"}
_FUNCTIONS = {"sqrt": math.sqrt, "log": math.log}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_NUMBER = 'give a number such as 0.3, 3e5 or "1/sqrt(2)"'
_QUANTITY = 'give a number or arithmetic such as "2/sqrt(d)"; it may use d, L, + - * / **, sqrt and log'


def read_number(value: object) -> int | float:
    """A finite constant, floats at 12 significant digits. Raises ConfigError for anything else."""
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refusal(value, _NUMBER)
    if isinstance(value, Integral):
        return int(value)
    if not math.isfinite(value):
        raise refusal(value, "must be a finite number")
    return canonical_number(value)


def read_integer(value: object) -> int:
    """An integer of at most 63 bits; 64.0 counts, 64.5 does not. Raises ConfigError for anything else."""
    number = int(value) if isinstance(value, str) and _INTEGER.match(value.strip()) else read_number(value)
    if not isinstance(number, int):
        raise refusal(value, "must be an integer")
    if abs(number) >= 2**63:
        raise refusal(value, "must be below 2**63")
    return number


def read_quantity(value: object) -> int | float | str:
    """A number, or text that depends on d or L and is checked but not yet computed. Raises ConfigError."""
    if isinstance(value, str) and _uses_names(value):
        return value.strip()
    return read_number(value)


def evaluate(quantity: float | str, d: int, length: int) -> int | float:
    """The number that a quantity is at one dimension and length, at 12 significant digits.

    Raises ConfigError where it has no finite value there.
    """
    if not isinstance(quantity, str):
        return quantity
    return _finite(quantity, {"d": float(d), "length": float(length)}, f"at d = {d}, L = {length}")


def _read_text(text: str) -> int | float:
    if _uses_names(text):
        raise refusal(text, f"may not depend on d or L here; {_NUMBER}")
    return _finite(text, {}, "as a number")


def _finite(text: str, names: dict[str, float], where: str) -> int | float:
    try:
        value = _compiled(text)(names)
    except (ArithmeticError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise refusal(text, f"has no finite value {where}")
    return canonical_number(value)


def _uses_names(text: str) -> bool:
    _compiled(text)
    return any(isinstance(node, ast.Name) and node.id in _NAMES for node in ast.walk(_parsed(text)))


def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise refusal(text, f"is longer than {MAX_CHARACTERS} characters; {_QUANTITY}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise refusal(text, _QUANTITY) from None


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Callable[[dict[str, float]], float]:
    return _compile(_parsed(text), text)


def _compile(node: ast.expr, text: str) -> Callable[[dict[str, float]], float]:
    """A function of the values of d and length. Raises ConfigError for any node outside the whitelist."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return lambda names: float(number)
        case ast.Name(id=name) if name in _NAMES:
            return operator.itemgetter(_NAMES[name])
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _applied(_OPERATORS[type(op)], [operand], text)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            return _applied(_OPERATORS[type(op)], [left, right], text)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _applied(_FUNCTIONS[name], [argument], text)
    raise refusal(text, _QUANTITY)


def _applied(function: Callable[..., float], nodes: list[ast.expr], text: str) -> Callable[[dict[str, float]], float]:
    parts = [_compile(node, text) for node in nodes]
    return lambda names: function(*(part(names) for part in parts))
