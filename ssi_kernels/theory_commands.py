"""`ssi sie`, `ssi risk`, `ssi phase`: theory on the command line."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ssi_kernels.answers import JSON, respond
from ssi_kernels.errors import ConfigError

OMEGA = click.option("--omega", type=float, help="Weight of the positional part, in [0, 1].")
STRENGTH = click.option("--a", "a", type=float, required=True, help="Strength of the positional part.")
LOSS = click.option("--loss", default="squared", show_default=True, help="squared or frobenius.")
TARGET = click.option("--target", default="positional-semantic", show_default=True, help="Or mixed-logit.")


@click.command()
@click.argument("expression")
@click.option("--length", type=int, required=True, help="Sequence length L.")
@JSON
def sie(expression: str, length: int, as_json: bool) -> None:
    """Sequence information exponent of a target EXPRESSION such as "He4(z1) + 2*He4(z2)", and its leading tensor."""
    from ssi_kernels.theory.describe import sie_answer

    found = sie_answer(expression, length)
    respond(as_json, found, lambda: _exponent_words(found))


@click.command()
@OMEGA
@STRENGTH
@click.option("--e", "e", type=float, default=0.0, show_default=True, help="Positional overlap.")
@click.option("--m", "m", type=float, default=0.0, show_default=True, help="Semantic overlap.")
@LOSS
@TARGET
@JSON
def risk(omega: float | None, a: float, e: float, m: float, loss: str, target: str, as_json: bool) -> None:
    """Population risk E ||y - f||^2 at overlaps (e, m): attention, identity reduction, opposite pair, L = 2."""
    from ssi_kernels.theory.phase_answers import risk_answer

    found = risk_answer(_needed("--omega", omega), a, e, m, loss, target)
    respond(as_json, found, lambda: f"R(e = {e:g}, m = {m:g}) = {found['risk']:.12g} ({found['method']})")


@click.command()
@OMEGA
@STRENGTH
@click.option("--boundaries", "lines", is_flag=True, help="The omegas at which the phase changes along this a.")
@LOSS
@TARGET
@JSON
def phase(omega: float | None, a: float, lines: bool, loss: str, target: str, as_json: bool) -> None:
    """Local minima, regime and steepest direction at one (omega, a), or the boundaries along one a."""
    from ssi_kernels.theory.phase_answers import boundaries_answer, phase_answer

    if lines:
        if omega is not None:
            raise ConfigError("--omega", omega, "is not used with --boundaries; leave it out")
        found = boundaries_answer(a, loss, target)
        respond(as_json, found, lambda: "\n".join(f"{key}: {_omega(value)}" for key, value in found.items()))
        return
    found = phase_answer(_needed("--omega", omega), a, loss, target)
    respond(as_json, found, lambda: _phase_words(found))


def _needed(name: str, value: float | None) -> float:
    if value is None:
        raise ConfigError(name, None, "is required")
    return value


def _omega(value: object) -> str:
    if value is None:
        return "does not change"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _exponent_words(found: Mapping) -> str:
    if found["sie"] is None:
        return f"constant: no sequence information exponent ({found['note']})"
    return f"SIE {found['sie']}, leading tensor of norm {found['leading_tensor_norm']:.12g} ({found['note']})"


def _phase_words(found: Mapping) -> str:
    lines = [f"{found['regime']}, steepest direction {found['steepest']}"]
    if found["degenerate"]:
        lines[0] += " (degenerate: limit from below)"
    for minimum in found["minima"]:
        where = f"e = {minimum['e']:.9g}, m = {minimum['m']:.9g}"
        lines.append(f"  {minimum['kind']} minimum at {where}: risk {minimum['risk']:.12g}")
    return "\n".join(lines)


COMMANDS = (sie, risk, phase)
