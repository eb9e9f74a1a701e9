"""Which compiled program moves lanes on the device at hand, and how many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax

from ssi_kernels.kernels.program import Loop, dynamics_of, program
from ssi_kernels.kernels.shape import LANES, Shape

if TYPE_CHECKING:
    from ssi_kernels.kernels.lanes import Lanes

GPU_MOST = 2**20
"""Lanes of one launch on a GPU; more are several launches."""

GPU_NORMALS_BYTES = 2**32
"""Memory for the normals that the XLA program draws at once; the Pallas kernel keeps none."""


def launcher(shape: Shape, lanes: Lanes, running: int) -> tuple[Callable, int]:
    """The program for `running` lanes, and the width that it takes.

    CPU: tiles of `LANES`. GPU: the Pallas kernel over all lanes, padded to a power of two of its blocks so that few
    widths are compiled; shapes without that kernel run the XLA program at the same widths.
    """
    if jax.default_backend() != "gpu":
        return program(shape), LANES
    from ssi_kernels.kernels import pallas

    width = min(GPU_MOST, max(pallas.BLOCK, 1 << (running - 1).bit_length()))
    if pallas.supports(shape, lanes.data, lanes.state):
        return pallas.program(shape), width
    loop = Loop(shape, dynamics_of(shape))
    most = GPU_NORMALS_BYTES // (8 * loop.block * loop.pairs)
    return program(shape), min(width, max(LANES, 1 << (most.bit_length() - 1)))
