"""The XLA flag that compiles the small time loop into one function, set before JAX starts.

Without it XLA:CPU dispatches every operation of every step separately, three to four times slower at 16
lanes; the numbers are the same to the bit. It must be in the environment before the first backend exists, so importing
the kernels sets it.
"""

from __future__ import annotations

import os
from importlib.metadata import version

OPTION = "xla_cpu_small_while_loop_byte_threshold"
FLAG = f"--xla_backend_extra_options={OPTION}=10000000"


def is_needed(jaxlib_version: str) -> bool:
    """jaxlib 0.8 to 0.11 know the option and need it; later ones reach the speed without."""
    major, minor = (int(part) for part in jaxlib_version.split(".")[:2])
    return (0, 8) <= (major, minor) < (0, 12)


def configure() -> None:
    """Appends FLAG to the user's XLA_FLAGS; leaves alone extra options of their own, and a JAX that has started."""
    flags = os.environ.get("XLA_FLAGS", "")
    if is_needed(version("jaxlib")) and "xla_backend_extra_options" not in flags and not _has_started():
        os.environ["XLA_FLAGS"] = f"{flags} {FLAG}".strip()


def _has_started() -> bool:
    """Whether JAX has made its backends, after which the environment is not read again."""
    from jax._src import xla_bridge  # there is no public name for this

    return getattr(xla_bridge, "backends_are_initialized", lambda: False)()
