"""JAX kernels: one-pass spherical SGD, exactly in law (`reduced`) or with explicit weights (`full`)."""

from ssi_kernels.kernels import xla

xla.configure()
