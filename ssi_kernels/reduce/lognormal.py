"""Maximum likelihood for lognormal times of which some are only known to exceed a horizon.

The model of run r is an accelerated failure time,

    log T_r = x_r . beta + sigma_r W_r,    log sigma_r = z_r . gamma,    W_r ~ N(0, 1),

and a run that did not recover by its horizon H_r contributes P(T_r > H_r) = Phi(-(log H_r - x_r . beta) / sigma_r)
instead of a density. Intervals come from the sandwich (robust) covariance of the estimating equations, so that they
hold for independent runs even where the noise is not lognormal (White 1982; Lin and Wei 1989).

`lifelines.LogNormalAFTFitter(..., ancillary=True, robust=True)` fits the same model and the tests compare the two; it
is not used here because its robust covariance takes seconds a fit where this takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats
from scipy.special import log_ndtr

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SMALLEST_SPREAD = 1e-9
ENOUGH_FOR_OWN_SPREAD = 5
ENOUGH_FOR_SPREAD_LINE = 4


@dataclass(frozen=True)
class LognormalFit:
    """The maximum of the likelihood, with the covariance of its location coefficients.

    `beta` (p,); `covariance` (p, p), NaN where the runs do not determine it; `sigma` (n,), the fitted spread of every
    run; `degrees` of freedom of Student's t for the intervals; `criterion`, the Bayesian information criterion.
    """

    beta: np.ndarray
    covariance: np.ndarray
    sigma: np.ndarray
    degrees: int
    criterion: float

    def interval(self, contrast: np.ndarray) -> tuple[float, float, float]:
        """Estimate of contrast . beta and its 95 % interval."""
        contrast = np.asarray(contrast, dtype=float)
        middle = float(contrast @ self.beta)
        variance = np.maximum(contrast @ self.covariance @ contrast, 0.0)  # rounding may leave it below 0; NaN stays
        reach = float(student_quantile(self.degrees) * np.sqrt(variance))
        return middle, middle - reach, middle + reach


def student_quantile(degrees: float) -> float:
    """By what a standard error is multiplied for a two-sided 95 % interval."""
    return float(stats.t.ppf(0.975, degrees))


@dataclass(frozen=True)
class _Likelihood:
    """Log-likelihood of (beta, gamma) with its derivatives; one run per row."""

    log_time: np.ndarray
    observed: np.ndarray
    location: np.ndarray
    scale: np.ndarray

    def _parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """z = (log T - x . beta) / sigma, sigma, and the inverse Mills ratio phi(z) / Phi(-z)."""
        split = self.location.shape[1]
        sigma = np.exp(np.clip(self.scale @ theta[split:], -50.0, 50.0))
        z = (self.log_time - self.location @ theta[:split]) / sigma
        mills = np.exp(-0.5 * z**2 - _LOG_SQRT_2PI - log_ndtr(-z))
        return z, sigma, mills

    def value(self, theta: np.ndarray) -> float:
        z, sigma, _ = self._parts(theta)
        density = -np.log(sigma) - 0.5 * z**2 - _LOG_SQRT_2PI
        return float(np.where(self.observed, density, log_ndtr(-z)).sum())

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of every run's contribution, (n, p + q)."""
        z, sigma, mills = self._parts(theta)
        by_location = np.where(self.observed, z, mills) / sigma
        by_scale = np.where(self.observed, z**2 - 1.0, mills * z)
        return np.hstack([by_location[:, None] * self.location, by_scale[:, None] * self.scale])

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Second derivatives of the sum, (p + q, p + q)."""
        z, sigma, mills = self._parts(theta)
        slope = mills * (mills - z)
        location2 = np.where(self.observed, -1.0, -slope) / sigma**2
        mixed = np.where(self.observed, -2.0 * z, -mills - z * slope) / sigma
        scale2 = np.where(self.observed, -2.0 * z**2, -z * mills - z**2 * slope)
        x, s = self.location, self.scale
        cross = (x * mixed[:, None]).T @ s
        return np.block([[(x * location2[:, None]).T @ x, cross], [cross.T, (s * scale2[:, None]).T @ s]])


def fit_lognormal(
    log_time: np.ndarray, observed: np.ndarray, location: np.ndarray, scale: np.ndarray | None = None
) -> LognormalFit | None:
    """Fit the model of this module; None where the runs do not determine it.

    Args:
        log_time: (n,) log of the recovery time, or of the horizon where the run is censored.
        observed: (n,) bool, False where the run is censored.
        location: (n, p) design of the mean of log T.
        scale: (n, q) design of log sigma; a common spread where None.
    """
    log_time, observed = np.asarray(log_time, dtype=float), np.asarray(observed, dtype=bool)
    location = np.asarray(location, dtype=float)
    scale = np.ones((log_time.size, 1)) if scale is None else np.asarray(scale, dtype=float)
    columns = location.shape[1]
    if np.linalg.matrix_rank(location[observed]) < columns:
        return None
    start = np.linalg.lstsq(location[observed], log_time[observed], rcond=None)[0]
    residual = log_time - location @ start
    if np.all(np.abs(residual[observed]) < _SMALLEST_SPREAD) and np.all(residual[~observed] < _SMALLEST_SPREAD):
        return _without_spread(start, log_time.size)
    spread = float(np.sqrt(np.mean(residual**2)))
    likelihood = _Likelihood(residual / spread, observed, location, scale)
    theta = _maximise(likelihood, columns)
    if theta is None:
        return None
    recovered = int(observed.sum())
    log_likelihood = likelihood.value(theta) - recovered * np.log(spread)
    return LognormalFit(
        beta=start + spread * theta[:columns],
        covariance=spread**2 * _sandwich(likelihood, theta)[:columns, :columns],
        sigma=spread * np.exp(scale @ theta[columns:]),
        degrees=max(recovered - columns, 1),
        criterion=theta.size * np.log(recovered) - 2.0 * log_likelihood,
    )


def fit_lognormal_spreads(
    log_time: np.ndarray, observed: np.ndarray, location: np.ndarray, scales: Sequence[np.ndarray]
) -> LognormalFit | None:
    """The fit with that of several designs of the spread which has the smallest information criterion.

    A wrong law of the spread biases a censored fit (the censored runs tell how far beyond the horizon the rest lies,
    in units of the spread), so the designs should be rich. Falls back on a common spread where none of them fits.
    """
    fits = [fit for scale in scales if (fit := fit_lognormal(log_time, observed, location, scale)) is not None]
    if not fits:
        return fit_lognormal(log_time, observed, location)
    return min(fits, key=lambda fit: fit.criterion)


def spread_designs(observed: np.ndarray, cells: np.ndarray, line: np.ndarray) -> list[np.ndarray]:
    """The designs of log sigma that the runs can bear, for `fit_lognormal_spreads`.

    First `line`, if there are 4 recovered runs for every cell that has any. Then, if there are more than two cells with
    at least 5 recovered runs, a value for each of these; any other cell shares that of the nearest of them.

    Args:
        observed: (n,) bool, False where the run is censored.
        cells: (n, k) coordinates of the cell of every run.
        line: (n, q) design of log sigma as a linear function.
    """
    places, recovered = np.unique(cells[observed], axis=0, return_counts=True)
    designs = [line] if recovered.sum() >= ENOUGH_FOR_SPREAD_LINE * len(places) else []
    own = places[recovered >= ENOUGH_FOR_OWN_SPREAD]
    if len(own) > 2:
        nearest = np.linalg.norm(cells[:, None, :] - own[None, :, :], axis=-1).argmin(axis=1)
        designs.append((nearest[:, None] == np.arange(len(own))[None, :]).astype(float))
    return designs


def _without_spread(beta: np.ndarray, runs: int) -> LognormalFit:
    """An exact fit: the coefficients stand, the runs say nothing about their uncertainty."""
    unknown = np.full((beta.size, beta.size), np.nan)
    return LognormalFit(beta, unknown, sigma=np.zeros(runs), degrees=1, criterion=-np.inf)


def _maximise(likelihood: _Likelihood, columns: int) -> np.ndarray | None:
    """The (beta, gamma) of the largest likelihood from beta = 0, gamma = 0; None where there is no finite one."""
    parameters = columns + likelihood.scale.shape[1]
    result = optimize.minimize(
        lambda theta: -likelihood.value(theta),
        np.zeros(parameters),
        jac=lambda theta: -likelihood.scores(theta).sum(axis=0),
        hess=lambda theta: -likelihood.hessian(theta),
        method="trust-exact",
        options={"gtol": 1e-7 * likelihood.log_time.size, "maxiter": 500},
    )
    curvature = np.linalg.eigvalsh(-likelihood.hessian(result.x))
    settled = result.success and np.all(np.abs(result.x) < 20.0) and curvature[0] > 1e-9 * curvature[-1]
    return result.x if settled else None


def _sandwich(likelihood: _Likelihood, theta: np.ndarray) -> np.ndarray:
    """A^-1 B A^-1 with A = -Hessian, B = sum of outer products of the scores, times n / (n - parameters)."""
    scores = likelihood.scores(theta)
    runs, parameters = scores.shape
    bread = np.linalg.inv(-likelihood.hessian(theta))
    return bread @ (scores.T @ scores) @ bread * runs / max(runs - parameters, 1)
