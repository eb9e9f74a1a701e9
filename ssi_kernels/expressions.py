"""Targets written as text, read through a whitelist into sympy.

sympy's own parser evaluates Python code, so it never sees the text. Python's `ast` splits it, every
node is checked against the few forms below, and the sympy expression is built from the checked tree.

Allowed: numbers, `pi`, `L`, `z` (all local fields), `z1`..`zL`, slices of `z` (`z[1:]` is all but the
first, as in Python), + - * / **, and the functions in FUNCTIONS together with He0, He1, ... and h0, h1, ...
A list of fields is worked on element by element; `sum`, `prod` and `cumprod` reduce it.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ssi_kernels.errors import ConfigError
from ssi_kernels.hermite import he

ELEMENTWISE = ("sqrt", "exp", "log", "sin", "cos", "tanh", "abs", "sign", "relu")
REDUCING = ("sum", "prod", "cumprod")
FUNCTIONS = (*ELEMENTWISE, *REDUCING)
MAX_CHARACTERS = 4000
MAX_DEGREE = 64
_FIELD = re.compile(r"z([1-9][0-9]*)$")
_HERMITE = re.compile(r"(He|h)_?([0-9]+)$")
_REMEDY = "use numbers, L, z, z1..zL, + - * / **, He1, He2, ..., h1, h2, ... and " + ", ".join(FUNCTIONS)


class _Refused(Exception):
    """Why a piece of text is not an expression of ours."""


class _Fields(tuple):
    """Several sympy expressions, one per position."""


def normalise(text: str) -> str:
    """The same expression with canonical spacing and parentheses, for the identity of a point.

    Raises ConfigError where the text does not parse.
    """
    return ast.unparse(_parse(text))


@lru_cache(maxsize=256)
def to_sympy(text: str, length: int):
    """The sympy expression in the symbols z1..z`length` (real) that `text` stands for.

    Raises ConfigError (key `expression`) for text that does not parse, that names or calls anything
    outside the whitelist, that uses a field beyond `length`, or that is not one finite number per sample.
    """
    import sympy

    try:
        value = _Builder(length).visit(_parse(text).body)
        if isinstance(value, _Fields):
            raise _Refused("it gives one value per position; reduce it with sum(...) or prod(...)")
        value = sympy.sympify(value)
        if value.has(sympy.zoo, sympy.oo, -sympy.oo, sympy.nan) or value.has(sympy.I):
            raise _Refused("it is not a finite real number")
    except _Refused as reason:
        raise ConfigError("expression", text, str(reason)) from None
    return value


def to_jax(text: str, length: int):
    """A JAX function of the fields, shape (L, ...), to the label, shape (...)."""
    import sympy
    from jax import numpy as jnp

    symbols = _symbols(length)
    compiled = sympy.lambdify(symbols, to_sympy(text, length), modules="jax", cse=True)

    def label(z):
        return jnp.broadcast_to(compiled(*(z[i] for i in range(length))), z.shape[1:]).astype(z.dtype)

    return label


def _symbols(length: int):
    import sympy

    return sympy.symbols(f"z1:{length + 1}", real=True)


def _parse(text: str) -> ast.Expression:
    if not isinstance(text, str):
        raise ConfigError("expression", text, "must be text such as 'sum(He2(z))/sqrt(2)'")
    if len(text) > MAX_CHARACTERS:
        raise ConfigError("expression", text, f"is longer than {MAX_CHARACTERS} characters; use a callable target")
    try:
        return ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConfigError("expression", text, f"does not parse; {_REMEDY}") from None


class _Builder(ast.NodeVisitor):
    """Walks the checked tree and builds sympy values; any node without a method here is refused."""

    def __init__(self, length: int):
        self.length = length
        self.fields = _Fields(_symbols(length))

    def generic_visit(self, node):
        raise _Refused(f"{ast.unparse(node)[:60]!r} is not allowed; {_REMEDY}")

    def visit_Constant(self, node):
        import sympy

        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return self.generic_visit(node)
        return sympy.Integer(node.value) if isinstance(node.value, int) else sympy.Float(node.value)

    def visit_Name(self, node):
        import sympy

        if node.id == "z":
            return self.fields
        if node.id == "L":
            return sympy.Integer(self.length)
        if node.id == "pi":
            return sympy.pi
        match = _FIELD.match(node.id)
        if not match:
            return self.generic_visit(node)
        index = int(match[1])
        if index > self.length:
            raise _Refused(f"it uses {node.id}, but the sequence has length {self.length}")
        return self.fields[index - 1]

    def visit_Subscript(self, node):
        value = self.visit(node.value)
        if not isinstance(value, _Fields) or not isinstance(node.slice, ast.Slice):
            return self.generic_visit(node)
        bounds = [
            None if b is None else self._integer(b) for b in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        chosen = _Fields(value[slice(*bounds)])
        if not chosen:
            raise _Refused(f"{ast.unparse(node)!r} is empty at length {self.length}")
        return chosen

    def _integer(self, node) -> int:
        value = self.visit(node)
        if isinstance(value, _Fields) or not value.is_Integer:
            raise _Refused(f"{ast.unparse(node)!r} must be an integer")
        return int(value)

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            return _elementwise(lambda x: -x, value)
        return value if isinstance(node.op, ast.UAdd) else self.generic_visit(node)

    def visit_BinOp(self, node):
        left, right = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Add():
                return _elementwise(lambda a, b: a + b, left, right)
            case ast.Sub():
                return _elementwise(lambda a, b: a - b, left, right)
            case ast.Mult():
                return _elementwise(lambda a, b: a * b, left, right)
            case ast.Div():
                return _elementwise(_divide, left, right)
            case ast.Pow():
                return _elementwise(_power, left, right)
        return self.generic_visit(node)

    def visit_Call(self, node):
        if not isinstance(node.func, ast.Name) or node.keywords or len(node.args) != 1:
            return self.generic_visit(node)
        name, hermite = node.func.id, _HERMITE.match(node.func.id)
        if name not in FUNCTIONS and not hermite:
            return self.generic_visit(node)
        value = self.visit(node.args[0])
        if hermite:
            return _elementwise(lambda x: _hermite(hermite[1], int(hermite[2]), x), value)
        if name in REDUCING:
            return _reduce(name, value)
        return _elementwise(lambda x: _function(name, x), value)


def _elementwise(function, *values):
    lengths = {len(v) for v in values if isinstance(v, _Fields)}
    if not lengths:
        return function(*values)
    if len(lengths) > 1:
        raise _Refused(f"it combines lists of fields of different lengths {sorted(lengths)}")
    count = lengths.pop()
    columns = [v if isinstance(v, _Fields) else (v,) * count for v in values]
    return _Fields(function(*row) for row in zip(*columns, strict=True))


def _divide(a, b):
    if b == 0:
        raise _Refused("it divides by zero")
    return a / b


def _power(base, exponent):
    if not exponent.is_number or abs(exponent) > MAX_DEGREE:
        raise _Refused(f"exponents must be numbers between -{MAX_DEGREE} and {MAX_DEGREE}")
    if base.is_number and abs(base) > 1e6:
        raise _Refused(f"the number {base} is too large to be raised to a power")
    return base**exponent


def _hermite(family: str, degree: int, x):
    import sympy

    if degree > MAX_DEGREE:
        raise _Refused(f"{family}{degree}: the degree may be at most {MAX_DEGREE}")
    polynomial = he(degree, x)
    return polynomial if family == "He" else polynomial / sympy.sqrt(sympy.factorial(degree))


def _reduce(name: str, value):
    import sympy

    if not isinstance(value, _Fields):
        raise _Refused(f"{name}(...) needs a list of fields such as z or He2(z)")
    if name == "sum":
        return sympy.Add(*value)
    if name == "prod":
        return sympy.Mul(*value)
    return _Fields(sympy.Mul(*value[: i + 1]) for i in range(len(value)))


def _function(name: str, x):
    import sympy

    if name == "relu":
        return sympy.Max(x, 0)
    return {"abs": sympy.Abs}.get(name, getattr(sympy, name, None))(x)
