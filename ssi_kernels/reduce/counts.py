"""Counting what became of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from ssi_kernels.reduce.runs import OUTCOMES


def outcome_counts(runs: pd.DataFrame) -> dict[str, int]:
    """How many replicas there are of each outcome; `runs` is how many of them were made, whatever came of them."""
    found = runs["outcome"].value_counts()
    counts = {word: int(found.get(word, 0)) for word in OUTCOMES}
    return {"runs": sum(counts[word] for word in ("recovered", "censored", "diverged")), **counts}


def timed(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that say something about a recovery time: recovered or censored."""
    return runs[runs["outcome"].isin(["recovered", "censored"])]


def after_start(runs: pd.DataFrame) -> pd.DataFrame:
    """The timed runs whose time has a logarithm: those that did not recover at step 0."""
    kept = timed(runs)
    return kept[kept["time"] > 0]


def at_step_0(runs: pd.DataFrame) -> int:
    """How many runs recovered at step 0, that is, started at or above the threshold."""
    return int(((runs["outcome"] == "recovered") & (runs["time"] == 0)).sum())


def series(runs: pd.DataFrame, keys: Iterable[str]) -> Iterator[tuple[dict, pd.DataFrame]]:
    """The runs split by the values of some columns, in sorted order: (values, runs)."""
    keys = list(keys)
    if not keys:
        if len(runs):
            yield {}, runs
        return
    for values, group in runs.groupby(keys, sort=True, observed=True):
        yield dict(zip(keys, values, strict=True)), group
