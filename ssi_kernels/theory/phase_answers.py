"""What `ssi risk` and `ssi phase` answer, as plain data: attention, identity reduction, opposite pair, L = 2."""

from __future__ import annotations

from dataclasses import asdict

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.losses import check_loss
from ssi_kernels.theory.boundaries import boundaries
from ssi_kernels.theory.landscape import argument
from ssi_kernels.theory.phase import checked, phase
from ssi_kernels.theory.searched import searched_boundaries, searched_landscape, searched_phase

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
    check_loss(loss)
    found = phase(omega, a) if _exact(loss, family) else searched_phase(omega, a, loss, family)
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
    check_loss(loss)
    if family == "mixed-logit":
        raise ConfigError("--target", family, "has no transition: its minimum moves smoothly; use positional-semantic")
    found = boundaries(a) if _exact(loss, family) else searched_boundaries(a, loss, family)
    return {**found.as_dict(), "a": a, "loss": loss, "method": _EXACT if _exact(loss, family) else _SEARCHED}


def _exact(loss: str, family: str) -> bool:
    return loss == "squared" and family == "positional-semantic"
