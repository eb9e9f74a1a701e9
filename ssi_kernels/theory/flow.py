"""Gradient flow of the overlaps, with the correction of a finite learning rate.

In time t = step * gamma / d, with R's gradient g and the noise N = E|q|^2 at the current overlaps x = (e, m),
    dx/dt = -(g - x (x . g)) - (gamma / 2) x N                          (one direction for all positions)
    dm/dt = -(g - m (m . g) / L) - (gamma / 2) m N / L                  (untied, joint norm)
    dm_i/dt = -(1 - m_i^2) g_i - (gamma / 2) m_i N / L                  (untied, norm of each row)
The second term shrinks every overlap: it sets the largest useful learning rate (Arnaboldi et al. 2025, section 3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.numbers import finite, whole
from ssi_kernels.schedule import Schedule
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import argument, length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import xarray as xr

    from ssi_kernels.model import Model
    from ssi_kernels.theory.landscape_base import Landscape

RTOL, ATOL = 1e-9, 1e-12
MOST_STEPS = 200_000
"""Of the integrator; a flow that needs more is NaN from where it stopped."""


def velocity(model: Model, length: int) -> Callable:
    """dx/dt of (x, gradient, noise, gamma), for numpy and JAX."""
    student = model.student
    if not student.is_untied:
        return _shared
    return _joint if student.norm == "joint" else _row


def _shared(x, gradient, noise, gamma):
    return -(gradient - x * (x * gradient).sum()) - gamma / 2 * x * noise


def _joint(m, gradient, noise, gamma):
    length = m.shape[0]
    return -(gradient - m * (m * gradient).sum() / length) - gamma / 2 * m * noise / length


def _row(m, gradient, noise, gamma):
    return -(1 - m * m) * gradient - gamma / 2 * m * noise / m.shape[0]


def norm(model: Model, length: int, x):
    """What weak recovery looks at: ||(e, m)||, for untied students ||m|| / sqrt(L); over the last axis of x."""
    return (x * x).sum(-1) ** 0.5 / (length**0.5 if model.student.is_untied else 1)


def flow(
    model: Model,
    *,
    d: int,
    learning_rate: float,
    steps: int,
    m0=0.0,
    e0=None,
    length: int | None = None,
    record: Schedule | None = None,
    threshold: float | Sequence[float] = 0.5,
) -> xr.Dataset:
    """The overlaps that one-pass SGD follows for large d, from overlaps m0 and e0.

    Integrated by diffrax (Tsitouras 5(4), relative tolerance 1e-9); weak recovery is found by an event.

    Args:
        m0, e0: as `m` and `e` of `risk`, for one start.
        record: when to record, by default 20 times per decade; step 0 is always there.
        threshold: norms at which weak recovery is timed.

    Returns dimensions step, threshold and, where they apply, component and position: `m` (for untied ||m|| / sqrt(L)),
    `e`, `m_position`, `norm`, `risk`; `recovery_step` by threshold, not rounded, NaN where the flow does not get there
    within `steps`. Raises ConfigError for invalid arguments.
    """
    length = length_of(model, length)
    d, steps = whole("d", d, 1), whole("steps", steps, 1)
    gamma = positive("learning_rate", learning_rate)
    model.check(d, length)
    start = argument(model, length, e0, m0)
    if start.ndim != 1:
        raise ConfigError("m0, e0", list(start.shape), "must be one start")
    recorded = (record or Schedule()).steps(steps)
    surface = landscape(model, length)
    x = integrate(surface, gamma, start, recorded * (gamma / d))
    levels = np.atleast_1d(np.asarray(threshold, dtype=float))
    times = [recovery_time(surface, gamma, start[None], level, steps * gamma / d)[0] * d / gamma for level in levels]
    return _dataset(surface, x, recorded, levels, times, {"d": d, "length": length, "learning_rate": gamma})


def positive(key: str, value: object) -> float:
    """A positive number. Raises ConfigError."""
    number = finite(key, value)
    if number <= 0:
        raise ConfigError(key, value, "must be positive")
    return number


def integrate(surface: Landscape, gamma: float, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """x at increasing times from 0, shape (times, n); NaN beyond the reach of the integrator."""
    import jax

    rates, parameters = surface.rates()
    with jax.enable_x64(True):
        solve = _integrator(rates, velocity(surface.model, surface.length))
        return np.asarray(solve(parameters, float(gamma), np.asarray(start, float), np.asarray(times, float)))


def recovery_time(surface: Landscape, gamma: float, starts: np.ndarray, level: float, horizon: float) -> np.ndarray:
    """When the norm reaches `level`, from starts of shape (starts, n); NaN where it does not by `horizon`."""
    import jax

    rates, parameters = surface.rates()
    untied = surface.model.student.is_untied
    with jax.enable_x64(True):
        solve = _timer(rates, velocity(surface.model, surface.length), float(surface.length) if untied else 1.0)
        found = solve(parameters, float(gamma), np.asarray(starts, float), float(level), float(horizon))
        return np.asarray(found)


@lru_cache(maxsize=256)
def _integrator(rates: Callable, move: Callable) -> Callable:
    import diffrax
    import jax

    def solve(parameters, gamma, start, times):
        saved = diffrax.SaveAt(ts=times)
        return _solved(rates, move, parameters, gamma, start, times[-1], saved, None).ys

    return jax.jit(solve)


@lru_cache(maxsize=256)
def _timer(rates: Callable, move: Callable, scale: float) -> Callable:
    import diffrax
    import jax
    import optimistix
    from jax import numpy as jnp

    def solve(parameters, gamma, start, level, horizon):
        def reached(t, y, args, **kwargs):
            return jnp.sqrt((y * y).sum() / scale) - level

        finder = optimistix.Newton(1e-10, 1e-12, optimistix.rms_norm)
        event = diffrax.Event(reached, finder, direction=True)
        result = _solved(rates, move, parameters, gamma, start, horizon, diffrax.SaveAt(t1=True), event)
        there = result.event_mask
        at_start = jnp.sqrt((start * start).sum() / scale) >= level
        return jnp.where(at_start, 0.0, jnp.where(there, result.ts[-1], jnp.nan))

    return jax.jit(jax.vmap(solve, in_axes=(None, None, 0, None, None)))


def _solved(rates, move, parameters, gamma, start, horizon, saved, event):
    import diffrax

    def right_hand_side(t, x, args):
        return move(x, *rates(parameters, x), gamma)

    return diffrax.diffeqsolve(
        diffrax.ODETerm(right_hand_side),
        diffrax.Tsit5(),
        t0=0.0,
        t1=horizon,
        dt0=None,
        y0=start,
        saveat=saved,
        stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=ATOL),
        event=event,
        max_steps=MOST_STEPS,
        throw=False,
    )


def _dataset(surface: Landscape, x, recorded, levels, times, attributes: dict) -> xr.Dataset:
    import xarray as xr

    model, length = surface.model, surface.length
    untied = model.student.is_untied
    norms = norm(model, length, x)
    variables = {
        "m": (("step",), norms if untied else x[:, -1], _words("semantic overlap")),
        "norm": (("step",), norms, _words("norm of the overlaps")),
        "risk": (("step",), surface.risk(x), _words("population risk")),
        "recovery_step": (("threshold",), np.array(times, dtype=float), _words("step of weak recovery")),
    }
    if untied:
        variables["m_position"] = (("step", "position"), x, _words("semantic overlap of each position"))
    elif x.shape[1] > 1:
        variables["e"] = (("step", "component"), x[:, :-1], _words("positional overlap"))
    return xr.Dataset(variables, coords={"step": recorded, "threshold": levels}, attrs=attributes)


def _words(long_name: str) -> dict:
    return {"long_name": long_name, "units": "1"}
