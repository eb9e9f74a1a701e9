"""What one compiled program depends on; all else is data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ssi_kernels.kernels.chi_square import MANY
from ssi_kernels.model.encodings import Encoding
from ssi_kernels.model.model import Model
from ssi_kernels.model.students import Student
from ssi_kernels.model.targets import Target

LANES = 16
"""Two AVX2 vectors: as fast per lane as wider tiles, with less padding."""


@dataclass(frozen=True)
class Shape:
    """Static description of a program. Points of one shape share its compilation and may share a launch.

    Dimension (for `reduced`), learning rate, omega, a, thresholds and horizon are data, one value per lane.
    """

    kernel: Literal["reduced", "full", "one-noise"]
    target: Target
    student: Student
    encoding: Encoding
    loss: str
    length: int
    dtype: str
    thresholds: int
    stop: str
    few_degrees: bool
    d: int | None

    @property
    def rank(self) -> int:
        """Number of positional overlaps."""
        return self.encoding.rank(self.length)


def degrees_of_freedom(model: Model, d: int, length: int) -> int:
    """Degrees of freedom of the chi-square variable of the reduced step.

    d - r - 2 for one shared direction, d - 2 for each row of an untied student with row norm,
    L d - L - 1 for the joint norm.
    """
    if not model.student.is_untied:
        return d - model.rank(length) - 2
    return d - 2 if model.student.norm == "row" else length * d - length - 1


def shape_of(model: Model, *, d: int, length: int, kernel: str, dtype: str, thresholds: int, stop: str) -> Shape:
    """The shape of a point. Two points of equal shapes may be packed into one launch."""
    return Shape(
        kernel=kernel,
        target=model.target.static(),
        student=model.student,
        encoding=model.encoding,
        loss=model.loss,
        length=length,
        dtype=dtype,
        thresholds=thresholds,
        stop=stop,
        few_degrees=kernel == "reduced" and degrees_of_freedom(model, d, length) < MANY,
        d=None if kernel == "reduced" else d,
    )
