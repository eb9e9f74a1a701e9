"""What became of each replica: recovered, censored, diverged; and where it ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssi_kernels.errors import End, Outcome


@dataclass(frozen=True)
class Fate:
    """Events of the replicas of some points, as stored, float64 with NaN for "never".

    `recovery_step` (point, replica, threshold); `diverged_step`, `stop_step` (point, replica); `complete`
    (point, replica): whether the replica is there up to `horizon` (point,).
    """

    recovery_step: np.ndarray
    diverged_step: np.ndarray
    stop_step: np.ndarray
    complete: np.ndarray
    horizon: np.ndarray

    @property
    def diverged(self) -> np.ndarray:
        """(point, replica): something was not finite at a step within the horizon."""
        return self.complete & (self.diverged_step <= self.horizon[:, None])

    @property
    def stopped(self) -> np.ndarray:
        """(point, replica): frozen by the stop rule within the horizon."""
        return self.complete & (self.stop_step <= self.horizon[:, None])

    def outcome(self) -> np.ndarray:
        """(point, replica, threshold) int8 of `Outcome`.

        Diverged comes before recovered: a run that met a non-finite number is not trusted to have crossed before it.
        """
        recovered = self.recovery_step <= self.horizon[:, None, None]
        outcome = np.where(recovered, Outcome.RECOVERED, Outcome.CENSORED).astype(np.int8)
        outcome[self.diverged] = Outcome.DIVERGED
        outcome[~self.complete] = Outcome.NOT_RUN
        return outcome

    def observed_until(self) -> np.ndarray:
        """(point, replica) float64: the step up to which a replica was followed; NaN where it was not run.

        The horizon, or the step at which it was stopped or diverged: where an unrecovered replica is censored.
        """
        until = np.fmin(np.fmin(self.diverged_step, self.stop_step), self.horizon[:, None])
        return np.where(self.complete, until, np.nan)

    def final(self, at_horizon: np.ndarray, at_stop: np.ndarray) -> np.ndarray:
        """Final values, (point, replica, ...) float64: at the last recording, or at the stop of a replica.

        NaN where a replica diverged or was not run.
        """
        aligned = (slice(None), slice(None), *(None,) * (at_horizon.ndim - 2))
        values = np.where(self.stopped[aligned], at_stop, at_horizon).astype(float)
        return np.where((self.complete & ~self.diverged)[aligned], values, np.nan)


def end_of(m: np.ndarray, e: np.ndarray | None, decided: np.ndarray, complete: np.ndarray) -> np.ndarray:
    """Where each replica ended, int8 of `End`, (point, replica).

    Undecided if ||(e, m)|| < decided; else semantic if |m| > decided, positional if |e| > decided, otherwise
    elsewhere. `m` (point, replica) and `e` (point, replica, component; NaN-padded) are final values, NaN for
    a diverged replica, which is undecided; `decided` (point,).
    """
    bound = decided[:, None]
    positional = np.zeros_like(m) if e is None else np.sqrt(np.nansum(e * e, axis=-1))
    end = np.full(m.shape, End.ELSEWHERE, np.int8)
    end[positional > bound] = End.POSITIONAL
    end[np.abs(m) > bound] = End.SEMANTIC
    end[~(np.hypot(m, positional) >= bound)] = End.UNDECIDED
    end[~complete] = End.NOT_RUN
    return end
