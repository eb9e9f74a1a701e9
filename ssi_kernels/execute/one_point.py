"""One grid point in this process, told replica by replica."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError, Outcome
from ssi_kernels.execute.environment import device_environment
from ssi_kernels.execute.exits import DriverError
from ssi_kernels.execute.failures import describe, one_line

if TYPE_CHECKING:
    import xarray as xr

    from ssi_kernels.execute.request import PlacedSweep
    from ssi_kernels.sweep import Point


def recovery_of(placed: PlacedSweep, point: Point) -> dict:
    """Simulate `point` on the device that the sweep asks for, with the bits of the pipeline.

    Returns `recovery`, the replicas at the sweep's first threshold, and `thresholds`, those at every one.
    """
    os.environ.update(device_environment(placed.sweep.resources.gpu))
    _check_device(placed)
    from ssi_kernels.execute.simulate import simulate_point

    try:
        run = simulate_point(point)
    except (ConfigError, OSError):
        raise
    except Exception as error:
        raise DriverError(f"{describe(point.coords)}: {one_line(error)}") from error
    order = placed.grid.threshold_order(point)
    labelled = zip(placed.grid.thresholds, order, strict=True)
    return {
        "recovery": _replicas(run, order[0]),
        "thresholds": [{"threshold": label, "recovery": _replicas(run, place)} for label, place in labelled],
    }


def _check_device(placed: PlacedSweep) -> None:
    gpu = placed.sweep.resources.gpu
    if gpu > 0:
        import jax

        if jax.default_backend() == "cpu":
            raise ConfigError(f"sweeps.{placed.name}.resources.gpu", gpu, "JAX sees no GPU here: set gpu: 0")


def _replicas(run: xr.Dataset, threshold: int) -> list[dict]:
    """Outcome, recovery step and last recorded overlaps of every replica; e is a list where there are several."""
    at = run.isel(threshold=threshold)
    overlaps = _positional(at)
    return [
        {
            "replica": int(replica),
            "outcome": Outcome(int(outcome)).name.lower(),
            "step": None if step != step else int(step),
            "m": float(m),
            "e": e,
        }
        for replica, outcome, step, m, e in zip(
            at.replica, at.outcome, at.recovery_step.values, at.final_m, overlaps, strict=True
        )
    ]


def _positional(run: xr.Dataset) -> list:
    """e of each replica: None without an encoding, a number for one component, else a list."""
    if "final_e" not in run:
        return [None] * run.sizes["replica"]
    values = run.final_e.values.astype(float).tolist()
    return [e[0] if len(e) == 1 else e for e in values]
