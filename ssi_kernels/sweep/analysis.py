"""Which analyses a sweep calls for."""

from __future__ import annotations

from ssi_kernels.sweep.spec import Sweep


def analyses(sweep: Sweep) -> tuple[str, ...]:
    """A subset of ("recovery", "scaling", "gain", "phase"), in this order.

    Recovery times and their scaling with d always (with a single d the slope is undefined, and said to be so); the
    gain where a tied and an untied student are compared; the phases for targets with a semantic and a positional part.
    """
    kinds = {student.kind for student in sweep.students}
    chosen = ["recovery", "scaling"]
    if {"tied", "untied"} <= kinds:
        chosen.append("gain")
    if any("omega" in target.axes for target in sweep.targets):
        chosen.append("phase")
    return tuple(chosen)
