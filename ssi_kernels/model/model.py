"""A model: target, student, encoding and loss, and whether they fit together."""

from __future__ import annotations

from dataclasses import dataclass, field

from ssi_kernels.errors import ConfigError
from ssi_kernels.model.encodings import Encoding
from ssi_kernels.model.losses import check_loss
from ssi_kernels.model.numbers import whole
from ssi_kernels.model.starts import Start
from ssi_kernels.model.students import Student
from ssi_kernels.model.targets import Target

MAX_LENGTH = 1_000_000


@dataclass(frozen=True)
class Model:
    """What one sweep point simulates (Arnaboldi et al. 2025, section 2).

    One-pass spherical SGD of `student`, with `encoding` added to its tokens, on labels `target`,
    gradient of `loss`. The dimension d and the length L are given where they are needed.
    """

    target: Target
    student: Student
    encoding: Encoding = field(default_factory=Encoding)
    loss: str = "squared"

    def __post_init__(self) -> None:
        for key, kind in (("target", Target), ("student", Student), ("encoding", Encoding)):
            value = getattr(self, key)
            if not isinstance(value, kind):
                raise ConfigError(key, value, f"must come from ssi_kernels.{key}s")
        check_loss(self.loss)

    def rank(self, length: int) -> int:
        """Number of positional overlaps e_k."""
        return self.encoding.rank(length)

    def least_dimension(self, length: int) -> int:
        """Smallest d with room for w*, the p_k, and a direction of w orthogonal to them."""
        return self.rank(length) + 2

    def check(self, d: int, length: int, start: Start | None = None) -> None:
        """Raises ConfigError for every combination that has no meaning at this dimension and length."""
        d, length = whole("d", d, 1), whole("length", length, 1)
        if length > MAX_LENGTH:
            raise ConfigError("length", length, f"may be at most {MAX_LENGTH}")
        self.student.check(length)
        self._check_encoding(length)
        self.target.check(length, self.encoding)
        self._check_shapes(length)
        if d < self.least_dimension(length):
            fixed = "w*" if self.rank(length) == 0 else f"w* and {self.rank(length)} of the encoding"
            remedy = f"must be at least {self.least_dimension(length)}, to leave w a direction beside {fixed}"
            raise ConfigError("d", d, remedy)
        if start is not None:
            start.check(self, length)

    def _check_encoding(self, length: int) -> None:
        self.encoding.matrix(length)
        self.encoding.shift(length)
        if self.student.is_untied and not self.encoding.is_none:
            raise ConfigError("encoding", self.encoding.shown, "untied students take no encoding; use none")

    def _check_shapes(self, length: int) -> None:
        matrix_target, matrix_student = self.target.is_matrix(length), self.student.is_matrix
        if matrix_target and not matrix_student:
            remedy = "gives a number, but the target is an L x L matrix; use attention with reduction: identity"
            raise ConfigError("student", self.student.label, remedy)
        if matrix_student and not matrix_target:
            remedy = "gives an L x L matrix, but the target is a number; use reduction: trace or projection"
            raise ConfigError("student", self.student.label, remedy)

    def canonical(self, length: int) -> dict:
        """What identifies the model, as JSON, at this length."""
        return {
            "target": self.target.canonical(length, self.encoding),
            "student": self.student.canonical(),
            "encoding": self.encoding.canonical(length),
            "loss": self.loss,
        }
