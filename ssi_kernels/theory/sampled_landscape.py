"""Landscapes by quasi-Monte Carlo."""

from __future__ import annotations

import math
from functools import cached_property, partial

import numpy as np

from ssi_kernels.model import Model
from ssi_kernels.theory import sampled
from ssi_kernels.theory.form import Form
from ssi_kernels.theory.landscape_base import JaxLandscape

_SIGNIFICANT = 6.0
"""Standard errors that a derivative must exceed to count."""


class SampledLandscape(JaxLandscape):
    """By quasi-Monte Carlo."""

    method = sampled.METHOD

    def __init__(self, model: Model, length: int):
        super().__init__(model, length)
        self._average = sampled.Average(model.student, model.encoding, model.loss, length)
        self._points = sampled.points_of(model, length)

    @cached_property
    def error(self) -> float:
        """The standard error of R at 0, and halfway from there to the target."""
        n = len(self.coordinates)
        places = np.zeros((2, n))
        places[1, -1 if not self.model.student.is_untied else slice(None)] = 0.5
        import jax

        with jax.enable_x64(True):
            losses = [sampled.compiled(self._average, "losses")(self._points, x) for x in places]
            return max(sampled.standard_error(np.asarray(values)) for values in losses)

    def _compiled(self, name):
        return partial(sampled.compiled(self._average, name), self._points)

    def rates(self):
        return self._average.rates, self._points

    def taylor(self, order):
        """Of order 1 and 2 only: higher derivatives drown in the error of the average."""
        if order > 2:
            return None
        values, errors = self._derivatives(("gradient", "hessian")[order - 1])
        n = len(self.coordinates)
        if order == 1:
            return Form(np.eye(n, dtype=int), values, _SIGNIFICANT * float(errors.max()))
        rows = [(i, j) for i in range(n) for j in range(i, n)]
        coefficients = np.array([values[i, j] * (0.5 if i == j else 1.0) for i, j in rows])
        exponents = np.array([np.bincount([i, j], minlength=n) for i, j in rows])
        return Form(exponents, coefficients, _SIGNIFICANT * float(errors.max()))

    def _derivatives(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The gradient or Hessian at 0, averaged over the scramblings, and their standard errors."""
        import jax

        origin = np.zeros(len(self.coordinates))
        with jax.enable_x64(True):
            function = sampled.compiled(self._average, name)
            found = np.array([function(part, origin) for part in sampled.scrambled_parts(self._points)])
        return found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found)) + 1e-12
