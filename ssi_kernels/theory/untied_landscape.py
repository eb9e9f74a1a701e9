"""Landscapes of untied students whose target has a series."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

from ssi_kernels.model import Model
from ssi_kernels.theory.form import Form, of_order
from ssi_kernels.theory.landscape_base import JaxLandscape
from ssi_kernels.theory.untied import UntiedSeries

_ORDERS = 12
"""Up to which order a student is asked whether it sees its target."""

_MOST_TERMS = 20_000


class UntiedLandscape(JaxLandscape):
    """Of untied students whose target has a series."""

    def __init__(self, model: Model, length: int, series: UntiedSeries):
        super().__init__(model, length)
        self._series = series
        self.method, self.error = series.method, series.error

    def taylor(self, order):
        if math.comb(self.length + order - 1, order) > _MOST_TERMS and order > 2:
            return None
        _, ((series, sigma),) = self._series.risk_terms
        table, weights = of_order(series, order, self.length)
        factor = sigma[order] * math.sqrt(math.factorial(order)) if order < sigma.size else 0.0
        return Form(table, factor * weights / self.length ** (order / 2), 0.0)

    @property
    def depends_on_target(self):
        orders = [k for k in range(1, _ORDERS + 1) if math.comb(self.length + k - 1, k) <= _MOST_TERMS]
        if any(not self.taylor(order).vanishes for order in orders):
            return True
        return False if len(orders) == _ORDERS else None

    def rates(self):
        return self._rates, ()

    @cached_property
    def _rates(self) -> Callable:
        functions = self._functions
        return lambda _, x: (functions["gradient"](x), functions["noise"](x))

    def _compiled(self, name):
        return self._jitted[name]

    @cached_property
    def _jitted(self) -> dict[str, Callable]:
        import jax

        return {name: jax.jit(function) for name, function in self._functions.items()}

    @cached_property
    def _functions(self) -> dict[str, Callable]:
        import jax
        from jax import numpy as jnp

        def risk(x):
            return self._series.value(self._series.risk_terms, x, jnp)

        def noise(x):
            return self._series.value(self._series.noise_terms, x, jnp)

        gradient = jax.grad(risk)
        return {"risk": risk, "gradient": gradient, "hessian": jax.jacfwd(gradient), "noise": noise}
