"""What a target written as text may consist of: text to a checked tree, and to its canonical spelling.

Python's `ast` splits the text and every node is checked against the few forms below. Nothing is evaluated here.

Allowed: numbers, `pi`, `L`, `z` (all local fields), `z1`..`zL`, slices of `z` (`z[1:]` is all but the
first, as in Python), + - * / **, and the functions in FUNCTIONS together with He0, He1, ... and h0, h1, ...
"""

from __future__ import annotations

import ast
import re

from ssi_kernels.errors import ConfigError

ELEMENTWISE = ("sqrt", "exp", "log", "sin", "cos", "tanh", "abs", "sign", "relu")
REDUCING = ("sum", "prod", "cumprod")
FUNCTIONS = (*ELEMENTWISE, *REDUCING)
MAX_CHARACTERS = 4000
MAX_DEPTH = 100
MAX_DEGREE = 64
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_FIELD = re.compile(r"z([1-9][0-9]{0,5})")
_HERMITE = re.compile(r"(He|h)_?([0-9]{1,3})")
_REMEDY = f"use numbers, L, z, z1..zL, + - * / **, He1, h1, He2, h2, ... and {', '.join(FUNCTIONS)}"


class Refused(Exception):
    """Why a piece of text is not an expression of ours."""


def parse(text: str) -> ast.expr:
    """The tree of `text` in its canonical spelling, which holds nothing but the allowed forms.

    Raises ConfigError (key `expression`).
    """
    if not isinstance(text, str):
        raise ConfigError("expression", text, "must be text such as 'sum(He2(z))/sqrt(2)'")
    try:
        return _Canonical().visit(_checked(text.strip()))
    except Refused as reason:
        raise ConfigError("expression", text, str(reason)) from None


def normalise(text: str) -> str:
    """The same expression in its canonical spelling: spacing, parentheses, 2.0 for 2, He_2 for He2.

    Raises ConfigError (key `expression`) where it is not an expression.
    """
    return ast.unparse(parse(text))


def field_index(name: str) -> int | None:
    """k for the name zk of a field, else None."""
    match = _FIELD.fullmatch(name)
    return int(match[1]) if match else None


def hermite_of(name: str) -> tuple[str, int] | None:
    """Family "He" or "h" and degree for the name of a Hermite polynomial, else None."""
    match = _HERMITE.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def _checked(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise Refused(f"is longer than {MAX_CHARACTERS} characters; use a callable target")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(f"does not parse; {_REMEDY}") from None
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Refused(f"nests more than {MAX_DEPTH} operations; use sum(...), prod(...), or a callable target")
        waiting += [(part, depth + 1) for part in _parts(node, text)]
    return tree


def _parts(node: ast.expr, text: str) -> list[ast.expr]:
    """What an allowed node is made of."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return []
        case ast.Name(id=name) if name in ("z", "L", "pi") or field_index(name):
            return []
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return [operand]
        case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _OPERATORS):
            return [left, right]
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=step)):
            return [value, *(bound for bound in (lower, upper, step) if bound is not None)]
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS or hermite_of(name):
            _check_degree(name)
            return [argument]
    raise Refused(f"{_source(node, text)!r} is not allowed; {_REMEDY}")


def _check_degree(name: str) -> None:
    found = hermite_of(name)
    if found and found[1] > MAX_DEGREE:
        raise Refused(f"{name}: the degree may be at most {MAX_DEGREE}")


def _source(node: ast.expr, text: str) -> str:
    """The part of `text` that a node was read from, shortened."""
    part = ast.get_source_segment(text, node) or text
    return part if len(part) <= 60 else part[:57] + "..."


class _Canonical(ast.NodeTransformer):
    def visit_Constant(self, node):
        integral = isinstance(node.value, float) and node.value.is_integer() and node.value < 2**53
        return ast.Constant(int(node.value)) if integral else node

    def visit_Name(self, node):
        found = hermite_of(node.id)
        return ast.Name(f"{found[0]}{found[1]}", node.ctx) if found else node
