"""The population risk, exponents, flows and phase diagram of a model, to machine precision where a series exists.

>>> import ssi_kernels as ssi
>>> ssi.theory.sie("He4(z1) + 2*He4(z2)", length=2)
4

Importing it imports no JAX; the functions that evaluate do.
"""

from ssi_kernels.theory.bound import default_rate, noise_bound
from ssi_kernels.theory.boundaries import boundaries
from ssi_kernels.theory.diagram import phase_diagram
from ssi_kernels.theory.escape import escape
from ssi_kernels.theory.exponent import exponent, sie
from ssi_kernels.theory.flow import flow
from ssi_kernels.theory.gain import predicted_gain
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.learnability import learnability
from ssi_kernels.theory.phase import phase
from ssi_kernels.theory.recovery import best_rate, predicted_recovery
from ssi_kernels.theory.risk import gradient, hessian, risk
from ssi_kernels.theory.searched import searched_boundaries, searched_phase

__all__ = [
    "best_rate",
    "boundaries",
    "default_rate",
    "escape",
    "exponent",
    "flow",
    "gradient",
    "hessian",
    "landscape",
    "learnability",
    "noise_bound",
    "phase",
    "phase_diagram",
    "predicted_gain",
    "predicted_recovery",
    "risk",
    "searched_boundaries",
    "searched_phase",
    "sie",
]
