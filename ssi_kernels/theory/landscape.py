"""The population risk of a model and its derivatives, by the best method that there is for it."""

from __future__ import annotations

from functools import lru_cache

from ssi_kernels.model import Model
from ssi_kernels.theory.landscape_base import Landscape
from ssi_kernels.theory.product import MOST_FIELDS, ProductSeries
from ssi_kernels.theory.sampled_landscape import SampledLandscape
from ssi_kernels.theory.summed import SummedSeries
from ssi_kernels.theory.surface_landscape import NODES, SurfaceLandscape
from ssi_kernels.theory.target_series import target_series
from ssi_kernels.theory.untied import UntiedSeries
from ssi_kernels.theory.untied_landscape import UntiedLandscape


@lru_cache(maxsize=64)
def landscape(model: Model, length: int) -> Landscape:
    """The landscape of a model at one length. Raises ConfigError where the model has no meaning at this length."""
    model.check(10**9, length)
    if model.loss == "squared":
        found = _series_landscape(model, length)
        if found is not None:
            return found
    return SampledLandscape(model, length)


def _series_landscape(model: Model, length: int) -> Landscape | None:
    """The landscape by series, where there are any."""
    if not model.student.is_untied and model.rank(length) not in NODES:
        return None
    if not model.student.sees_sum:
        possible = length <= MOST_FIELDS
        return SurfaceLandscape(model, length, ProductSeries(model, length)) if possible else None
    target = target_series(model, length)
    if target is None:
        return None
    if model.student.is_untied:
        return UntiedLandscape(model, length, UntiedSeries(model, length, target))
    return SurfaceLandscape(model, length, SummedSeries(model, length, target))
