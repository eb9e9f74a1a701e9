"""Fractions of runs, and where along an axis the fraction crosses one half."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy import optimize, stats
from scipy.special import log_expit, xlogy

_HALF_CHI_SQUARE = 0.5 * float(stats.chi2.ppf(0.95, 1))
_LOG_ODDS_90_TO_10 = 2.0 * np.log(9.0)
_SHARPEST, _BROADEST = 1e-3, 1e3
_PLATEAU_POINTS, _PLATEAU_TRIALS = 2, 60


@lru_cache(maxsize=65536)
def fraction(successes: int, trials: int) -> tuple[float, float, float]:
    """successes / trials and its 95 % interval by Wilson's score; NaN without trials."""
    if trials == 0:
        return np.nan, np.nan, np.nan
    interval = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    return successes / trials, interval.low, interval.high


@dataclass(frozen=True)
class Crossing:
    """Where a fraction crosses one half, and over what distance it goes from 90 % to 10 %.

    `half` and `width` are (estimate, low, high), in units of the position; NaN where undefined, and then `reason` says
    why. `dispersion` is the deviance per degree of freedom by which the intervals were widened; 1 if the curve fits.
    `fitted` counts the positions that the curve was fitted to.
    """

    half: tuple[float, float, float]
    width: tuple[float, float, float]
    reason: str
    dispersion: float = np.nan
    fitted: int = 0


_UNDEFINED = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class _Logistic:
    """Successes ~ Binomial(trials, 1 / (1 + exp(sign (x - half) 2 log 9 / width))), profiled over either parameter.

    `x` increasing, `trials` positive. `sign` is 1 where the fraction falls with x and -1 where it rises.
    """

    x: np.ndarray
    successes: np.ndarray
    trials: np.ndarray
    sign: float

    def loss(self, half: float, log_width: float) -> float:
        """Negative log-likelihood, less that of a fraction of its own at every x: at least 0."""
        odds = self.sign * (half - self.x) * _LOG_ODDS_90_TO_10 * np.exp(-log_width)
        failures = self.trials - self.successes
        return self._best_possible - float((self.successes * log_expit(odds) + failures * log_expit(-odds)).sum())

    @cached_property
    def _best_possible(self) -> float:
        """Log-likelihood of a fraction of its own at every x."""
        failures = self.trials - self.successes
        each = xlogy(self.successes, self.successes / self.trials) + xlogy(failures, failures / self.trials)
        return float(each.sum())

    @property
    def log_widths(self) -> tuple[float, float]:
        """Between a thousandth of the smallest gap and a thousand ranges."""
        gaps = np.diff(self.x)
        return float(np.log(_SHARPEST * gaps.min())), float(np.log(_BROADEST * gaps.sum()))

    @property
    def halves(self) -> tuple[float, float]:
        """The range of x, and as much again on either side."""
        low, high = self.x[0], self.x[-1]
        return 2 * low - high, 2 * high - low

    def over_width(self, half: float) -> tuple[float, float]:
        """Smallest loss at this half, and its log width."""
        return _least(lambda log_width: self.loss(half, log_width), self.log_widths)

    def over_half(self, log_width: float) -> tuple[float, float]:
        """Smallest loss at this log width, and its half."""
        return _least(lambda half: self.loss(half, log_width), self.halves)

    def best(self) -> tuple[float, float, float]:
        """Smallest loss, and its half and log width."""
        loss, log_width = _least(lambda value: self.over_half(value)[0], self.log_widths)
        return loss, self.over_half(log_width)[1], log_width

    def dispersion(self, loss: float) -> float:
        """Deviance per degree of freedom where it rejects the curve at the 5 % level, else 1.

        Only the x that have both successes and failures count as degrees of freedom.
        """
        degrees = int(((self.successes > 0) & (self.successes < self.trials)).sum()) - 2
        rejected = degrees > 0 and stats.chi2.sf(2.0 * loss, degrees) < 0.05
        return 2.0 * loss / degrees if rejected else 1.0


def crossing(x: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> Crossing:
    """Where the fraction of successes crosses one half along x.

    Maximum likelihood of a logistic curve in x, with intervals from the profile likelihood, which hold every value
    with 2 (l_max - l_profile) <= 3.84 phi. The dispersion phi is the deviance per degree of freedom where the
    fraction does not follow a logistic curve, else 1. If no x has both successes and failures (a step), the crossing
    is only known to lie between two neighbouring x: these are the interval and their middle the estimate, and the
    width has an upper bound only. The curve is fitted around the crossing, out to the plateau on either side
    (`_around_crossing`), so that what happens far away does not move it.

    Args:
        x: (n,) positions. successes, trials: (n,) counts; positions without trials are ignored.
    """
    order = np.argsort(x)
    x, successes, trials = (np.asarray(values)[order] for values in (x, successes, trials))
    kept = trials > 0
    x, successes, trials = x[kept].astype(float), successes[kept], trials[kept]
    if reason := _undefined(x, successes, trials):
        return Crossing(_UNDEFINED, _UNDEFINED, reason)
    sign = _direction(x, successes, trials)
    near = _around_crossing(successes, trials, sign)
    curve = _Logistic(x[near], successes[near], trials[near], sign)
    step = _step(curve.x, curve.successes, curve.trials)
    found = _of_curve(curve) if step is None else _of_step(curve, *step)
    return replace(found, fitted=curve.x.size)


def _undefined(x: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> str:
    """Why there can be no crossing at all; empty where there may be one."""
    if x.size == 0:
        return "undefined: no decided runs"
    if x.size == 1:
        return "undefined: one value of omega"
    if successes.sum() == trials.sum():
        return "undefined: all decided runs end semantic"
    if successes.sum() == 0:
        return "undefined: no decided run ends semantic"
    return ""


def _direction(x: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> float:
    """1 if successes sit at smaller x than failures on average, else -1."""
    failures = trials - successes
    return 1.0 if np.average(x, weights=successes) <= np.average(x, weights=failures) else -1.0


def _around_crossing(successes: np.ndarray, trials: np.ndarray, sign: float) -> slice:
    """The neighbours of the crossing, out to the first plateau on either side and including it.

    The crossing is where a step would misplace the fewest runs. A plateau is two neighbouring positions or more, with
    60 runs or more, that all end the way they should on their side; with fewer, a fraction of 95 % could look the
    same.
    """
    wrong_left = (trials - successes) if sign > 0 else successes
    wrong_right = trials - wrong_left
    misplaced = np.concatenate([[0], np.cumsum(wrong_left)]) + np.concatenate([np.cumsum(wrong_right[::-1])[::-1], [0]])
    cut = int(np.argmin(misplaced))
    left = _until_plateau(wrong_left[:cut][::-1], trials[:cut][::-1])
    right = _until_plateau(wrong_right[cut:], trials[cut:])
    return slice(cut - left, cut + right)


def _until_plateau(wrong: np.ndarray, trials: np.ndarray) -> int:
    """How many positions there are up to the end of the first plateau; all if there is none."""
    points = runs = 0
    for place, (misplaced, total) in enumerate(zip(wrong, trials, strict=True)):
        points, runs = (0, 0) if misplaced else (points + 1, runs + int(total))
        if points >= _PLATEAU_POINTS and runs >= _PLATEAU_TRIALS:
            return place + 1
    return wrong.size


def _step(x: np.ndarray, successes: np.ndarray, trials: np.ndarray) -> tuple[float, float] | None:
    """The two neighbouring x between which the fraction jumps once between 1 and 0; None if it does not."""
    pure = (successes == 0) | (successes == trials)
    jumps = np.flatnonzero(np.diff(successes == trials))
    if not pure.all() or jumps.size != 1:
        return None
    return float(x[jumps[0]]), float(x[jumps[0] + 1])


def _of_step(curve: _Logistic, low: float, high: float) -> Crossing:
    log_width = _edge(
        lambda value: curve.over_half(value)[0], np.log(high - low), curve.log_widths[1], _HALF_CHI_SQUARE
    )
    reason = "a step between two neighbouring values of omega: the width has an upper bound only"
    return Crossing((0.5 * (low + high), low, high), (np.nan, 0.0, float(np.exp(log_width))), reason, 1.0)


def _of_curve(curve: _Logistic) -> Crossing:
    loss, half, log_width = curve.best()
    if not curve.x[0] <= half <= curve.x[-1]:
        return Crossing(_UNDEFINED, _UNDEFINED, "undefined: the fraction does not cross one half within these omegas")
    dispersion = curve.dispersion(loss)
    level = loss + dispersion * _HALF_CHI_SQUARE
    halves = [_edge(lambda value: curve.over_width(value)[0], half, end, level) for end in curve.halves]
    if not np.all(np.isfinite(halves)):
        return Crossing(_UNDEFINED, _UNDEFINED, "undefined: too few decided runs to place the crossing")
    widths = np.exp([_edge(lambda v: curve.over_half(v)[0], log_width, end, level) for end in curve.log_widths])
    if widths[0] == 0.0:
        reason = "the width has an upper bound only: too few values of omega inside the transition"
        half = curve.over_half(curve.log_widths[0])[1]
        return Crossing((half, *halves), (np.nan, 0.0, float(widths[1])), reason, dispersion)
    return Crossing((half, *halves), (float(np.exp(log_width)), *map(float, widths)), "", dispersion)


def _edge(profile: Callable[[float], float], inside: float, limit: float, level: float) -> float:
    """Where a profile of the loss reaches `level` between `inside` and `limit`; infinite if it does not."""
    if profile(limit) <= level:
        return float(np.copysign(np.inf, limit - inside))
    if profile(inside) >= level:
        return inside
    return float(optimize.brentq(lambda value: profile(value) - level, inside, limit, xtol=1e-9 * abs(limit - inside)))


def _least(function: Callable[[float], float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Smallest value of a unimodal function on an interval, and where."""
    tolerance = 1e-7 * (bounds[1] - bounds[0])
    result = optimize.minimize_scalar(function, bounds=bounds, method="bounded", options={"xatol": tolerance})
    return float(result.fun), float(result.x)
