"""What `ssi sie` answers, as plain data."""

from __future__ import annotations

from ssi_kernels.model import targets
from ssi_kernels.theory.exponent import exponent


def sie_answer(text: str, length: int) -> dict:
    """The exponent of an expression and its leading tensor. Raises ConfigError for what is no expression."""
    found = exponent(targets.expression(text), length)
    return {
        "sie": found.sie,
        "leading_tensor_norm": found.norm,
        "operator_norm": found.operator_norm,
        "on_ones": found.on_ones,
        "orthogonally_decomposable": found.orthogonally_decomposable,
        "exact": found.exact,
        "tolerance": found.tolerance,
        "note": found.note,
        "coefficients": [{"alpha": list(alpha), "coefficient": value} for alpha, value in found.coefficients.items()],
        "expression": text,
        "length": length,
    }
