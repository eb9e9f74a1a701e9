"""Maximum likelihood for lognormal times of which some are only known to exceed a horizon.

The model of run r is an accelerated failure time,

    log T_r = x_r . beta + sigma_r W_r,    log sigma_r = z_r . gamma,    W_r ~ N(0, 1),

and a run that did not recover by its horizon H_r contributes P(T_r > H_r) = Phi(-(log H_r - x_r . beta) / sigma_r)
instead of a density. Intervals come from the sandwich (robust) covariance of the estimating equations, so that they
hold for independent runs even where the noise is not lognormal (White 1982; Lin and Wei 1989).

`lifelines.LogNormalAFTFitter(..., ancillary=True, robust=True)` fits the same model and the tests compare the two; it is not used here
because its robust covariance takes seconds a fit where this takes milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats
from scipy.special import log_ndtr

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SMALLEST_SPREAD = 1e-9


@dataclass(frozen=True)
class LognormalFit:
    """The maximum of the likelihood, with the covariance of its location coefficients.

    `beta` (p,); `covariance` (p, p), NaN where the runs do not determine it; `sigma` (n,), the fitted spread of every
    run; `quantile`, by which a standard error is multiplied for a 95 % interval (Student's t).
    """

    beta: np.ndarray
    covariance: np.ndarray
    sigma: np.ndarray
    quantile: float

    def interval(self, contrast: np.ndarray) -> tuple[float, float, float]:
        """Estimate of contrast . beta and its 95 % interval."""
        contrast = np.asarray(contrast, dtype=float)
        middle = float(contrast @ self.beta)
        reach = self.quantile * float(np.sqrt(contrast @ self.covariance @ contrast))
        return middle, middle - reach, middle + reach


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
    """Fit the model of this module; None where the recovered runs do not determine the location.

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
    start, spread = _least_squares(log_time[observed], location[observed])
    if spread < _SMALLEST_SPREAD:
        return _without_spread(start, log_time.size)
    likelihood = _Likelihood((log_time - location @ start) / spread, observed, location, scale)
    theta = _maximise(likelihood, columns)
    if theta is None:
        return None
    return LognormalFit(
        beta=start + spread * theta[:columns],
        covariance=spread**2 * _sandwich(likelihood, theta)[:columns, :columns],
        sigma=spread * np.exp(scale @ theta[columns:]),
        quantile=float(stats.t.ppf(0.975, max(int(observed.sum()) - columns, 1))),
    )


def _least_squares(values: np.ndarray, design: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients and root-mean-square residual of the recovered runs alone: where the search starts."""
    beta = np.linalg.lstsq(design, values, rcond=None)[0]
    return beta, float(np.sqrt(np.mean((values - design @ beta) ** 2)))


def _without_spread(beta: np.ndarray, runs: int) -> LognormalFit:
    """An exact fit: the coefficients stand, the runs say nothing about their uncertainty."""
    unknown = np.full((beta.size, beta.size), np.nan)
    return LognormalFit(beta=beta, covariance=unknown, sigma=np.zeros(runs), quantile=np.nan)


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
