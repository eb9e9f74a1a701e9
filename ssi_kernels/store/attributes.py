"""What the variables and coordinates of the consolidated datasets say of themselves."""

from __future__ import annotations

from enum import IntEnum

from ssi_kernels.errors import End, Outcome, Status


def flags(codes: type[IntEnum]) -> dict:
    """CF attributes of a variable that holds codes.

    >>> flags(Status)
    {'flag_values': [0, 1, 2], 'flag_meanings': 'missing complete failed'}
    """
    return {"flag_values": [int(c) for c in codes], "flag_meanings": " ".join(c.name.lower() for c in codes)}


def _described(long_name: str, units: str = "1", **more: object) -> dict:
    return {"long_name": long_name, "units": units, **more}


COORDINATES = {
    "d": _described("token dimension"),
    "length": _described("sequence length L"),
    "sie": _described("sequence information exponent"),
    "omega": _described("weight of the positional part of the target"),
    "a": _described("strength of the target's positional pattern"),
    "learning_rate": _described("learning rate gamma"),
    "target": _described("target"),
    "student": _described("student"),
    "encoding": _described("positional encoding"),
    "replica": _described("independent run"),
    "step": _described("SGD step (one fresh sample each)", "step"),
    "threshold": _described("weak-recovery threshold eta, as configured"),
}

VARIABLES = {
    "m": _described("semantic overlap m; for untied students ||m||_2 / sqrt(L)"),
    "e": _described("positional overlaps e_k with the columns of the encoding"),
    "m_position": _described("overlap m_i of each position's weights (untied students)"),
    "norm": _described("what weak recovery looks at: ||(e, m)||; for untied students ||m||_2 / sqrt(L)"),
    "status": _described("whether the replica has been computed up to its horizon", **flags(Status)),
    "recovery_step": _described("first step at which norm reaches the threshold; NaN unless recovered", "step"),
    "outcome": _described("outcome at the threshold", **flags(Outcome)),
    "end": _described("where the run ended", **flags(End)),
    "final_m": _described("m at final_step"),
    "final_e": _described("e at final_step"),
    "final_step": _described("last scheduled recording within the horizon, or the stop of the replica", "step"),
    "observed_until": _described("step up to which the replica was followed: horizon, stop, or divergence", "step"),
    "horizon": _described("number of steps asked for", "step"),
    "learning_rate": _described("learning rate gamma"),
    "threshold_value": _described("weak-recovery threshold eta of the point"),
    "components": _described("number of positional overlaps e_k of the point"),
    "positions": _described("number of per-position overlaps m_i of the point"),
}
