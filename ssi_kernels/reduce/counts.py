"""Counting what became of runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
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


@dataclass(frozen=True)
class Groups:
    """Rows of a table that agree in some columns: what `series` yields, at the price of one sort for all of them.

    `values`: the columns, one row a group, in sorted order. `order`: the rows of the table, group after group, those of
    group i from `starts[i]` to `starts[i + 1]`, in their order in the table.
    """

    values: pd.DataFrame
    order: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, group: int) -> np.ndarray:
        """Places in the table of the rows of a group."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def counts(self, words: pd.Series) -> pd.DataFrame:
        """How many rows of every group have each category of a column: one column a category."""
        names = list(words.cat.categories)
        number = np.repeat(np.arange(len(self)), np.diff(self.starts))
        codes = words.cat.codes.to_numpy()[self.order].astype(np.int64)
        found = np.bincount(number * len(names) + codes, minlength=len(self) * len(names))
        return pd.DataFrame(found.reshape(len(self), len(names)), columns=names)

    def total(self, flags: np.ndarray) -> np.ndarray:
        """In how many rows of every group a flag is set."""
        return np.add.reduceat(flags[self.order].astype(np.int64), self.starts[:-1]) if len(self) else np.zeros(0, int)


def grouped(table: pd.DataFrame, keys: Sequence[str]) -> Groups:
    """The groups of `series`, all at once."""
    if not len(table) or not keys:
        one = [0, len(table)] if len(table) else [0]
        return Groups(
            table.iloc[: len(one) - 1][list(keys)].reset_index(drop=True), np.arange(len(table)), np.array(one)
        )
    number = table.groupby(list(keys), sort=True, observed=True).ngroup().to_numpy()
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    values = table.iloc[order[starts]][list(keys)].reset_index(drop=True)
    return Groups(values, order, np.append(starts, len(table)))


def group_outcomes(runs: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    """`outcome_counts` and `at_step_0` of every group."""
    counts = groups.counts(runs["outcome"])
    counts.insert(0, "runs", counts[["recovered", "censored", "diverged"]].sum(axis=1))
    started = (runs["outcome"] == "recovered").to_numpy() & (runs["time"] == 0).to_numpy()
    return counts.assign(at_step_0=groups.total(started))
