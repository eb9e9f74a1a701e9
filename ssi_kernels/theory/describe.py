"""What `ssi sie` and `ssi flow` answer, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import targets
from ssi_kernels.theory.bound import noise_bound
from ssi_kernels.theory.exponent import exponent
from ssi_kernels.theory.flow import flow
from ssi_kernels.theory.learnability import learnability
from ssi_kernels.theory.recovery import typical_start

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np

    from ssi_kernels.model import Model
    from ssi_kernels.model.starts import Start
    from ssi_kernels.schedule import Schedule

    class Point(Protocol):
        """What is needed of a point of a grid."""

        model: Model
        start: Start
        d: int
        length: int
        learning_rate: float
        steps: int
        schedule: Schedule
        thresholds: tuple[float, ...]


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


def _positional(start: np.ndarray):
    """e of a start, as `flow` takes it: a number where there is one."""
    e = start[:-1]
    return None if not e.size else float(e[0]) if e.size == 1 else e


def flow_answer(point: Point) -> dict:
    """The flow of one point of a sweep. Raises ConfigError where it has nowhere to start from."""
    model, length = point.model, point.length
    verdict = learnability(model, length)
    start = typical_start(model, point.d, length, point.start)
    if start is None:
        start = typical_start(model, point.d, length)
    if start is None:
        raise ConfigError("start", point.start.canonical(), f"the flow does not move: {verdict.reason}")
    overlaps = {"m0": start} if model.student.is_untied else {"m0": start[-1], "e0": _positional(start)}
    found = flow(
        model,
        d=point.d,
        length=length,
        learning_rate=point.learning_rate,
        steps=point.steps,
        record=point.schedule,
        threshold=point.thresholds,
        **overlaps,
    )
    times = zip(point.thresholds, found.recovery_step.values, strict=True)
    return {
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "learning_rate": point.learning_rate,
        "noise_bound": noise_bound(model, length, point.d, point.start, max(point.thresholds)),
        "start": start.tolist(),
        "recovery": [{"threshold": level, "step": float(step)} for level, step in times],
        "step": found.step.values.tolist(),
        **{name: found[name].values.tolist() for name in ("m", "e", "m_position", "norm", "risk") if name in found},
    }
