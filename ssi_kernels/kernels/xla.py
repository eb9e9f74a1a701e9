"""Options of XLA:CPU without which the time loop runs two to four times slower, set before JAX starts.

`small_while_loop`: compile the loop over steps into one function, instead of dispatching every operation of every step.
`force-vector-interleave`: two vectors at a time, so that one cipher's latency hides behind another's.
`unroll-full-max-count`: never unroll a loop over 16 lanes before it is vectorised, which leaves scalar instructions.

Products and sums that end up in one function may be contracted, so the last digit can depend on these options, as on
the version of jaxlib: both are recorded with every point. They must be in the environment before the first backend
exists, so importing the package sets them; the last two never where a CUDA plugin is installed, whose compiler would
read them too.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec

_LOOP = "xla_cpu_small_while_loop_byte_threshold=10000000"
_VECTORS = "-force-vector-interleave=2,-unroll-full-max-count=4"
_MARK = "xla_backend_extra_options"
_LATE = (
    "JAX had started before ssi_kernels was imported: simulations here are 2 to 4 times slower, and their last digits "
    "may differ from those of the pipeline; import ssi_kernels first"
)


def options(jaxlib_version: str, cuda: bool = False) -> str:
    """The value of XLA_FLAGS for a version of jaxlib; empty for versions that were not tried with it.

    jaxlib 0.8 to 0.11 need the first option; 0.12 no longer does.
    """
    major, minor = (int(part) for part in jaxlib_version.split(".")[:2])
    if not (0, 8) <= (major, minor) < (0, 13):
        return ""
    parts = [_LOOP] * ((major, minor) < (0, 12)) + [_VECTORS] * (not cuda)
    return f"--{_MARK}={','.join(parts)}" if parts else ""


def configure() -> None:
    """Appends the options to the user's XLA_FLAGS, but to no extra options of their own. Warns where it is too late."""
    flags, ours = os.environ.get("XLA_FLAGS", ""), options(version("jaxlib"), cuda=has_cuda())
    if not ours or _MARK in flags:
        return
    if _has_started():
        warnings.warn(_LATE, RuntimeWarning, stacklevel=2)
    else:
        os.environ["XLA_FLAGS"] = f"{flags} {ours}".strip()


@lru_cache(maxsize=1)
def compiler_options() -> dict[str, str]:
    """Options of one compilation, as far as this jaxlib knows them: sums over d stay in our loops.

    A library (YNN) that takes them over needs its inputs copied, and promises no order of summation.
    """
    import jax

    ours = {"xla_cpu_experimental_ynn_fusion_type": ""}
    try:
        jax.jit(lambda x: x + 1, compiler_options=ours)(0)
    except Exception:  # what an unknown option raises differs between versions of JAX
        return {}
    return ours


def has_cuda() -> bool:
    """Whether a CUDA plugin of JAX is installed."""
    return any(find_spec(f"jax_cuda{n}_plugin") for n in (12, 13, 14))


def _has_started() -> bool:
    """Whether JAX has made its backends, after which the environment is not read again."""
    bridge = sys.modules.get("jax._src.xla_bridge")  # there is no public name for this
    return getattr(bridge, "backends_are_initialized", lambda: False)()
