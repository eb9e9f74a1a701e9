"""What every landscape offers (Arnaboldi et al. 2025, sections 2 and 3).

x = (e_1..e_r, m), or (m_1..m_L) for untied students.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ssi_kernels.model import Model
    from ssi_kernels.theory.form import Form


class Landscape(ABC):
    """R(x) = E l(y, f) with its gradient and Hessian, and the noise N(x) = E|q|^2, q = dl/dz, of one model.

    Arguments are arrays of shape (..., n) over `coordinates`; values have shape (...), (..., n), (..., n, n), (...).
    `error` estimates the absolute error of R, and `method` says how it is computed.
    """

    def __init__(self, model: Model, length: int):
        self.model, self.length = model, length

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the overlaps."""
        if self.model.student.is_untied:
            return tuple(f"m{i + 1}" for i in range(self.length))
        return (*(f"e{k + 1}" for k in range(self.model.rank(self.length))), "m")

    method: str
    error: float

    @abstractmethod
    def risk(self, x) -> np.ndarray:
        """R(x)."""

    @abstractmethod
    def gradient(self, x) -> np.ndarray:
        """dR/dx."""

    @abstractmethod
    def hessian(self, x) -> np.ndarray:
        """d^2 R / dx^2."""

    @abstractmethod
    def noise(self, x) -> np.ndarray:
        """E|q|^2."""

    @abstractmethod
    def rates(self) -> tuple[Callable, object]:
        """A JAX function of (parameters, x), x of shape (n,), to the gradient and the noise there; and its parameters.

        Landscapes of one kind share the function, so that it is compiled once for all of a shape.
        """

    @abstractmethod
    def taylor(self, order: int) -> Form | None:
        """The part of R of one order in x around 0; None where it cannot be told from 0."""

    @property
    def depends_on_target(self) -> bool | None:
        """Whether R depends on the overlaps with w*; None where that is not resolved."""
        return None


class JaxLandscape(Landscape):
    """A landscape given by compiled JAX functions of one x."""

    @abstractmethod
    def _compiled(self, name: str) -> Callable:
        """R, its `gradient`, `hessian` or the `noise` at x of shape (n,)."""

    def risk(self, x):
        return self._mapped("risk", x)

    def gradient(self, x):
        return self._mapped("gradient", x)

    def hessian(self, x):
        return self._mapped("hessian", x)

    def noise(self, x):
        return self._mapped("noise", x)

    def _mapped(self, name: str, x) -> np.ndarray:
        """One of the functions over all leading axes of x."""
        import jax

        x = np.asarray(x, dtype=float)
        with jax.enable_x64(True):
            found = [np.asarray(self._compiled(name)(one)) for one in x.reshape(-1, x.shape[-1])]
        return np.array(found).reshape((*x.shape[:-1], *found[0].shape)) if found else np.zeros(x.shape[:-1])
