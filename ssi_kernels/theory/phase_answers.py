"""What `ssi risk` and `ssi phase` answer, as plain data: attention, identity reduction, opposite pair, L = 2."""

from __future__ import annotations

from dataclasses import asdict

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.losses import check_loss
from ssi_kernels.theory.boundaries import boundaries
from ssi_kernels.theory.overlaps import argument
from ssi_kernels.theory.phase import checked, phase
from ssi_kernels.theory.searched import searched_landscape

_EXACT = "root finding on a series that is exact to rounding"
_SEARCHED = "search of the disc, bisected to 2e-4"


def risk_answer(omega: float, a: float, e: float, m: float, loss: str, family: str) -> dict:
    """R, its gradient and Hessian in (e, m), and how they were computed. Raises ConfigError."""
    check_loss(loss)
    surface = searched_landscape(*checked(omega, a), loss, family)
    x = argument(surface.model, surface.length, e, m)
    return {
        "risk": float(surface.risk(x)),
        "gradient": surface.gradient(x).tolist(),
        "hessian": surface.hessian(x).tolist(),
        "omega": omega,
        "a": a,
        "e": e,
        "m": m,
        "target": family,
        "loss": loss,
        "method": surface.method,
        "error": surface.error,
    }


def phase_answer(omega: float, a: float, loss: str, family: str) -> dict:
    """Regime, steepest direction and minima. Raises ConfigError."""
    found = phase(omega, a, loss, family)
    return {
        "regime": found.regime,
        "steepest": found.steepest,
        "minima": [{**asdict(minimum), "kind": minimum.kind} for minimum in found.minima],
        "degenerate": found.degenerate,
        "omega": omega,
        "a": a,
        "target": family,
        "loss": loss,
        "method": found.note or _EXACT,
    }


def boundaries_answer(a: float, loss: str, family: str) -> dict:
    """The four boundaries along one a. Raises ConfigError."""
    if family == "mixed-logit":
        raise ConfigError("--target", family, "has no transition: its minimum moves smoothly; use positional-semantic")
    if family != "positional-semantic":
        raise ConfigError("--target", family, "use positional-semantic")
    return {**boundaries(a, loss).as_dict(), "a": a, "loss": loss, "method": _EXACT if loss == "squared" else _SEARCHED}
