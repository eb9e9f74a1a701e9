"""Which kernel simulates a point: the three ways of drawing one step of SGD, exactly the same in law."""

from __future__ import annotations

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.students import Student

CHOICES = ("auto", "reduced", "full", "one-noise")


def kernel_for(choice: str, student: Student) -> str:
    """The kernel that `choice` means for a student: `reduced` for auto.

    `full` draws all L d coordinates of a sample; `one-noise` also keeps w in R^d, but draws one d-vector of noise per
    step, which needs one direction for all positions. Raises ConfigError (key `kernel`).
    """
    if choice not in CHOICES:
        raise ConfigError("kernel", choice, f"use one of {', '.join(CHOICES)}")
    if choice == "one-noise" and student.is_untied:
        remedy = "is for students with one direction for all positions; use full, or reduced, for untied"
        raise ConfigError("kernel", choice, remedy)
    return "reduced" if choice == "auto" else choice
