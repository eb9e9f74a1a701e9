"""The pieces of a sequence single-index model and the student that learns it.

Descriptions only: importing this package imports no JAX; the methods that evaluate do.
"""

from ssi_kernels.model import encodings, losses, starts, students, targets
from ssi_kernels.model.model import Model

__all__ = ["Model", "encodings", "losses", "starts", "students", "targets"]
