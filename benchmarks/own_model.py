"""A student of one's own in a dozen lines: every position gated by the next one. The gradient comes by autodiff."""

from dataclasses import dataclass
from typing import ClassVar

from jax import numpy as jnp

import ssi_kernels as ssi
from ssi_kernels.elementary import sigmoid


@dataclass(frozen=True)
class Gated(ssi.students.Student):
    """f = sum_i z_i sigmoid(z_{i+1}) / sqrt(L), positions in a circle."""

    kind: ClassVar[str] = "gated"
    label: ClassVar[str] = "gated"

    def outputs(self, z):
        return jnp.sum(z * sigmoid(jnp.roll(z, -1, axis=0)), axis=0) / z.shape[0] ** 0.5

    def canonical(self):
        return {"kind": self.kind}


def gated_target(z):
    """A target of one's own: a function of the fields of one sample, shape (L,)."""
    return jnp.tanh(z[0]) * z[1]


MODEL = ssi.Model(ssi.targets.from_callable(gated_target), Gated(), ssi.encodings.opposite_pair())
