"""Targets written as text: the checked tree of `ssi_kernels.grammar` as a sympy expression or a JAX function.

sympy's own parser evaluates Python code, so it never sees the text. A list of fields is worked on element by
element; `sum`, `prod` and `cumprod` reduce it.
"""

from __future__ import annotations

import ast
import math
import operator
from functools import lru_cache

from ssi_kernels.elementary import exp, tanh
from ssi_kernels.errors import ConfigError
from ssi_kernels.grammar import ELEMENTWISE, MAX_DEGREE, REDUCING, Refused, field_index, hermite_of, normalise, parse
from ssi_kernels.hermite import he, normalised

__all__ = ["normalise", "to_jax", "to_sympy"]

_LARGEST = 1e30
_MAX_BITS = 8000
_MAX_SIZE = 200_000


class _Fields(tuple):
    """Several sympy expressions, one per position."""


@lru_cache(maxsize=256)
def to_sympy(text: str, length: int):
    """The sympy expression in the symbols z1..z`length` (real) that `text` stands for.

    Raises ConfigError (key `expression`) for text that is not an expression, that uses a field beyond
    `length`, or that is not one finite real number per sample.
    """
    return _build(text, length, _written_out)


def to_jax(text: str, length: int):
    """A JAX function of the fields, shape (L, ...), to the label, shape (...). Raises ConfigError as `to_sympy`.

    Hermite polynomials are evaluated by their recurrences: written out, they cancel in single precision.
    """
    import sympy
    from jax import numpy as jnp

    value = _build(text, length, _recurrence)
    value = value.xreplace({n: sympy.Float(n) for n in value.atoms(sympy.Integer) if abs(n) >= 2**31})
    compiled = sympy.lambdify(_symbols(length), value, modules=[_FUNCTIONS, "jax"], cse=True)

    def label(z):
        return jnp.broadcast_to(compiled(*(z[i] for i in range(length))), z.shape[1:]).astype(z.dtype)

    return label


def _symbols(length: int):
    import sympy

    return sympy.symbols(f"z1:{length + 1}", real=True)


def _build(text: str, length: int, hermite_polynomial):
    tree = parse(text)
    try:
        value = _Builder(length, hermite_polynomial).visit(tree)
        if isinstance(value, _Fields):
            raise Refused("gives one value per position; reduce it with sum(...) or prod(...)")
        if not _is_real(value, length):
            raise Refused("is not a real number for every sample")
    except Refused as reason:
        raise ConfigError("expression", text, str(reason)) from None
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        reason = f"sympy cannot compute it ({str(error)[:100]}); write it another way"
        raise ConfigError("expression", text, reason) from None
    return value


def _is_real(value, length: int) -> bool:
    """Whether it is real at two samples of opposite signs; logarithms and roots of the fields are not."""
    import sympy

    sizes = [sympy.Float((-1) ** i * (0.37 + 2.7 * (0.618 * (i + 1) % 1))) for i in range(length)]
    samples = [{z: sign * x for z, x in zip(_symbols(length), sizes, strict=True)} for sign in (1, -1)]
    return not any(value.xreplace(sample).evalf(5).is_real is False for sample in samples)


class _Builder(ast.NodeVisitor):
    """Walks a checked tree and builds sympy values."""

    def __init__(self, length: int, hermite_polynomial):
        self.length = length
        self.fields = _Fields(_symbols(length))
        self.hermite_polynomial = hermite_polynomial
        self._sizes: dict = {}

    def visit_Constant(self, node):
        import sympy

        if node.value == math.inf:
            raise Refused("has a number that is not finite")
        return self._checked(sympy.Rational(repr(node.value)))

    def visit_Name(self, node):
        import sympy

        if node.id == "z":
            return self.fields
        if node.id in ("L", "pi"):
            return sympy.Integer(self.length) if node.id == "L" else sympy.pi
        index = field_index(node.id)
        if index > self.length:
            raise Refused(f"uses {node.id}, but the sequence has length {self.length}")
        return self.fields[index - 1]

    def visit_Subscript(self, node):
        value = self.visit(node.value)
        if not isinstance(value, _Fields):
            raise Refused(f"{ast.unparse(node)!r}: only lists of fields such as z have slices")
        bounds = [
            None if b is None else self._integer(b) for b in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        if bounds[2] == 0:
            raise Refused(f"{ast.unparse(node)!r}: the step of a slice cannot be 0")
        chosen = _Fields(value[slice(*bounds)])
        if not chosen:
            raise Refused(f"{ast.unparse(node)!r} is empty at length {self.length}")
        return chosen

    def _integer(self, node) -> int:
        value = self.visit(node)
        if isinstance(value, _Fields) or not value.is_Integer:
            raise Refused(f"{ast.unparse(node)!r} must be an integer")
        return int(value)

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        return value if isinstance(node.op, ast.UAdd) else self._elementwise(operator.neg, value)

    def visit_BinOp(self, node):
        return self._elementwise(_OPERATIONS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_Call(self, node):
        name, value = node.func.id, self.visit(node.args[0])
        if name in REDUCING:
            return self._reduced(name, value)
        if name in ELEMENTWISE:
            return self._elementwise(lambda x: _function(name, x), value)
        family, degree = hermite_of(name)
        return self._elementwise(lambda x: self.hermite_polynomial(family, degree, x), value)

    def _elementwise(self, function, *values):
        lengths = {len(v) for v in values if isinstance(v, _Fields)}
        if not lengths:
            return self._checked(function(*values))
        if len(lengths) > 1:
            raise Refused(f"combines lists of fields of different lengths {sorted(lengths)}")
        count = lengths.pop()
        columns = [v if isinstance(v, _Fields) else (v,) * count for v in values]
        return _Fields(self._checked(function(*row)) for row in zip(*columns, strict=True))

    def _reduced(self, name: str, value):
        import sympy

        if not isinstance(value, _Fields):
            raise Refused(f"{name}(...) needs a list of fields such as z or He2(z)")
        if name == "cumprod":
            return _Fields(self._checked(sympy.Mul(*value[: i + 1])) for i in range(len(value)))
        return self._checked((sympy.Add if name == "sum" else sympy.Mul)(*value))

    def _checked(self, value):
        """`value`, if it and the number in front of it are of a size that can be computed with."""
        import sympy

        if self._size(value) > _MAX_SIZE:
            raise Refused(f"is too large at length {self.length}; use a callable target")
        _check_number(value if value.is_number else value.as_coeff_Mul()[0])
        for exponent in (factor.exp for factor in sympy.Mul.make_args(value) if factor.is_Pow):
            if exponent.is_Number and abs(exponent) > MAX_DEGREE:
                raise Refused(f"has the exponent {exponent}; exponents may be at most {MAX_DEGREE}")
        return value

    def _size(self, value) -> int:
        """Number of nodes of the expression's tree, of which equal parts may be one in memory."""
        if value not in self._sizes:
            self._sizes[value] = 1 + sum(map(self._size, value.args))
        return self._sizes[value]


def _check_number(number) -> None:
    import sympy

    if number.is_Rational:
        if max(int(number.p).bit_length(), int(number.q).bit_length()) > _MAX_BITS:
            raise Refused("has a number with too many digits")
    elif number is sympy.nan or number.is_real is False:
        raise Refused("is not a finite real number")
    if abs(number.evalf(15)) > _LARGEST:
        raise Refused(f"has a number beyond {_LARGEST:g}")


def _divide(a, b):
    if b == 0:
        raise Refused("divides by zero")
    return a / b


def _power(base, exponent):
    if not exponent.is_number or abs(exponent) > MAX_DEGREE:
        raise Refused(f"exponents must be numbers between -{MAX_DEGREE} and {MAX_DEGREE}")
    if base == 0 and exponent < 0:
        raise Refused("divides by zero")
    return base**exponent


_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.Pow: _power,
}


_FUNCTIONS = {"recurrence_He": he, "recurrence_h": normalised, "exp": exp, "tanh": tanh}


def _written_out(family: str, degree: int, x):
    """He_k(x) or h_k(x) as a polynomial with its coefficients."""
    import sympy

    t = sympy.Symbol("t")
    polynomial = sympy.Add(*(c * x**k for (k,), c in he(degree, sympy.Poly(t, t)).terms()))
    return polynomial if family == "He" else polynomial / sympy.sqrt(sympy.factorial(degree))


def _recurrence(family: str, degree: int, x):
    """He_k(x) or h_k(x) as a name that stands for its recurrence; written out where x is a number."""
    import sympy

    if x.is_number:
        return _written_out(family, degree, x)
    return sympy.Function(f"recurrence_{family}", real=True)(degree, x)


def _function(name: str, x):
    import sympy

    if name == "relu":
        return sympy.Max(x, 0)
    return {"abs": sympy.Abs}.get(name, getattr(sympy, name, None))(x)
