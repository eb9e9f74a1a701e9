"""The population risk as a function of the overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import argument, length_of

if TYPE_CHECKING:
    import numpy as np

    from ssi_kernels.model import Model


def risk(model: Model, e=None, m=0.0, length: int | None = None) -> np.ndarray:
    """R(e, m) = E l(y, f), z = m z* + B e + c + sqrt(1 - m^2) xi (Arnaboldi et al. 2025, section 2).

    Squared loss: R = E|y|^2 + E|f|^2 - 2 sum_alpha y_alpha . f_alpha(e) m^|alpha| in Hermite coefficients, to machine
    precision for polynomial targets and for L <= 2; else see `landscape(model, length).method` and `.error`.

    Args:
        e: positional overlap, any shape; with r > 1 of shape (..., r); None for 0.
        m: semantic overlap, broadcast against e; for untied students that of every position, or of shape (..., L).
        length: needed where nothing in the model fixes it.

    Returns an array of the broadcast shape. Raises ConfigError for overlaps outside the unit ball.
    """
    length = length_of(model, length)
    return landscape(model, length).risk(argument(model, length, e, m))


def gradient(model: Model, e=None, m=0.0, length: int | None = None) -> np.ndarray:
    """dR/d(e_1..e_r, m), or dR/d(m_1..m_L) for untied students: shape (..., n). Arguments as `risk`."""
    length = length_of(model, length)
    return landscape(model, length).gradient(argument(model, length, e, m))


def hessian(model: Model, e=None, m=0.0, length: int | None = None) -> np.ndarray:
    """The second derivatives of R in (e_1..e_r, m) or (m_1..m_L): shape (..., n, n). Arguments as `risk`."""
    length = length_of(model, length)
    return landscape(model, length).hessian(argument(model, length, e, m))
