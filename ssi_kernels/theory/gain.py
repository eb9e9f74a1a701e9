"""The gain that theory predicts: steps of the untied student over steps of the tied one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.model import Model
from ssi_kernels.theory.recovery import best_rate, predicted_recovery

if TYPE_CHECKING:
    from ssi_kernels.model.starts import Start

BEST = "best"


@dataclass(frozen=True)
class Gain:
    """`gain` = untied_steps / tied_steps, typical times of the flow; None where a student does not recover."""

    gain: float | None
    tied_steps: float | None
    untied_steps: float | None
    tied_rate: float | None
    untied_rate: float | None


def predicted_gain(
    tied: Model,
    untied: Model,
    *,
    d: int,
    length: int,
    tied_rate: float | str = BEST,
    untied_rate: float | str = BEST,
    start: Start | None = None,
    threshold: float = 0.5,
) -> Gain:
    """Gain(L) at any two learning rates, or at each student's best one (Arnaboldi et al. 2025, section 3).

    Both models have the same target. A rate is a number or "best" (`best_rate`: shortest typical time). Raises
    ConfigError unless the second student is untied and the first is not.
    """
    if tied.student.is_untied or not untied.student.is_untied:
        raise ConfigError(
            "student", [tied.student.label, untied.student.label], "must be a tied student, then an untied one"
        )
    sides = [
        _typical(model, rate, d=d, length=length, start=start, threshold=threshold)
        for model, rate in ((tied, tied_rate), (untied, untied_rate))
    ]
    (first_rate, first), (second_rate, second) = sides
    gain = second / first if first and second else None
    return Gain(gain, first, second, first_rate, second_rate)


def _typical(model: Model, rate: float | str, **where) -> tuple[float | None, float | None]:
    if rate == BEST:
        found = best_rate(model, **where)
        return (None, None) if found is None else (found[0], found[1].typical)
    return float(rate), predicted_recovery(model, learning_rate=float(rate), **where).typical
