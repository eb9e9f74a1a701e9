"""From segments to the values of one block of the grid: trajectories, outcomes, ends, status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.errors import Outcome, Status
from ssi_kernels.store.coverage import Coverage, Piece, cover
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.layout import Block, Layout, positions_of, rank_of
from ssi_kernels.store.location import Location
from ssi_kernels.store.outcomes import Fate, end_of
from ssi_kernels.store.parts import share
from ssi_kernels.store.segments import AbsentSegment, Segment, UnreadableSegment, read_segment

if TYPE_CHECKING:
    from ssi_kernels.sweep import Point

_NEEDED = ("m", "e", "m_position", "recovery_step", "diverged_step", "stop_step", "stop_m", "stop_e")


@dataclass(frozen=True)
class BlockValues:
    """The variables of one block, each beginning with the block's grid axes, and how they came about.

    `provenance`: that of what was used of every segment. `damaged`: one line for each segment found damaged on the way.
    """

    trajectories: dict[str, np.ndarray]
    recovery: dict[str, np.ndarray]
    provenance: list[dict]
    damaged: list[str]


def coverages_of(block: Block, index: SegmentIndex) -> list[Coverage]:
    """How far the stored pieces of every point of a block reach."""
    return [cover(index.covered(point.point_id), point.replicas, point.steps) for point in block.points]


def gather(
    block: Block,
    layout: Layout,
    index: SegmentIndex,
    failures: Mapping[str, str],
    coverages: list[Coverage] | None = None,
) -> BlockValues:
    """Reads every segment that a block needs, once, and derives the block's variables.

    A segment found damaged is set aside and the block read again without it; one that is gone is looked for again.
    Replicas that are not there up to their point's horizon are NaN throughout. `coverages`: those of `coverages_of`,
    where they are known.
    """
    damaged: list[str] = []
    while True:
        try:
            values = _Values(block, layout, coverages or coverages_of(block, index), failures)
        except UnreadableSegment as error:
            damaged.append(str(error))
            index.forget(error.path)
            coverages = None
            continue
        except AbsentSegment as error:
            index.forget(error.path)
            index.refresh()
            coverages = None
            continue
        return BlockValues(values.trajectories(), values.recovery(), values.provenance, damaged)


class _Values:
    """The values of a block with its grid axes flattened to one, (cell, replica, ...)."""

    def __init__(self, block: Block, layout: Layout, coverages: list[Coverage], failures: Mapping[str, str]):
        self._shape, self._layout, self._points = block.shape, layout, block.points
        self._cells = np.ravel_multi_index(block.places.T, block.shape)
        self.provenance: list[dict] = []
        self._allocate(int(np.prod(block.shape)))
        self._set_status(coverages, failures)
        self._read(coverages)
        self._blank_incomplete()
        self._settle()

    def _allocate(self, cells: int) -> None:
        layout, head = self._layout, (cells, self._layout.replicas)

        def nan(*shape: int, dtype: np.dtype | type = float) -> np.ndarray:
            return np.full((*head, *shape), np.nan, dtype)

        times, dtype = len(layout.steps), layout.dtype
        self._m = nan(times, dtype=dtype)
        self._e = nan(times, layout.components, dtype=dtype)
        self._m_position = nan(times, layout.positions, dtype=dtype)
        self._recovery_step, self._diverged_step, self._stop_step = nan(layout.thresholds), nan(), nan()
        self._stop_m, self._stop_e = nan(), nan(layout.components)
        self._status = np.full(head, Status.MISSING, np.int8)
        self._horizon, self._decided = np.zeros(cells), np.full(cells, np.nan)
        self._last, self._is_untied = np.zeros(cells, np.int64), np.zeros(cells, bool)

    def _set_status(self, coverages: list[Coverage], failures: Mapping[str, str]) -> None:
        for cell, point, coverage in zip(self._cells, self._points, coverages, strict=True):
            lacking = Status.FAILED if point.point_id in failures else Status.MISSING
            complete = coverage.reach >= point.steps
            self._status[cell, : point.replicas] = np.where(complete, Status.COMPLETE, lacking)
            self._horizon[cell], self._decided[cell] = point.steps, point.decided
            self._last[cell] = np.searchsorted(self._layout.steps, _last_recorded(point))
            self._is_untied[cell] = positions_of(point) > 0

    @property
    def _complete(self) -> np.ndarray:
        return self._status == Status.COMPLETE

    def _read(self, coverages: list[Coverage]) -> None:
        for path, uses in _by_segment(zip(self._cells, self._points, coverages, strict=True)).items():
            segment = read_segment(path, _NEEDED)
            rows = {piece.row for _, _, piece in uses}
            self.provenance.append(share(segment.provenance, len(rows) / len(segment.points)))
            for cell, point, piece in uses:
                replicas = slice(piece.replicas[0], min(piece.replicas[1], point.replicas))
                self._copy_trajectories(segment, piece.row, cell, replicas, point)
                self._copy_events(segment, piece.row, cell, replicas, point)

    def _copy_trajectories(self, segment: Segment, row: int, cell: int, replicas: slice, point: Point) -> None:
        """Copies the recordings up to the point's horizon; those in several segments are equal to the bit."""
        count = int(np.searchsorted(segment.recorded, point.steps, side="right"))
        columns = np.searchsorted(self._layout.steps, segment.recorded[:count])
        n = replicas.stop - replicas.start
        self._m[cell, replicas][:, columns] = segment.arrays["m"][row, :n, :count]
        if rank := rank_of(point):
            self._e[cell, replicas][:, columns, :rank] = segment.arrays["e"][row, :n, :count]
        if positions := positions_of(point):
            self._m_position[cell, replicas][:, columns, :positions] = segment.arrays["m_position"][row, :n, :count]

    def _copy_events(self, segment: Segment, row: int, cell: int, replicas: slice, point: Point) -> None:
        """Merges what happened since step 0: the earliest step of each event, and the values at a stop."""
        n, arrays = replicas.stop - replicas.start, segment.arrays
        crossed = arrays["recovery_step"][row, :n][:, self._layout.threshold_order(point)]
        for target, source in (
            (self._recovery_step, crossed),
            (self._diverged_step, arrays["diverged_step"][row, :n]),
            (self._stop_step, arrays["stop_step"][row, :n]),
        ):
            np.fmin(target[cell, replicas], source, out=target[cell, replicas])
        _fill(self._stop_m[cell, replicas], arrays["stop_m"][row, :n])
        if rank := rank_of(point):
            _fill(self._stop_e[cell, replicas, :rank], arrays["stop_e"][row, :n])

    def _blank_incomplete(self) -> None:
        incomplete = ~self._complete
        if incomplete.any():
            for array in (self._m, self._e, self._m_position):
                array[incomplete] = np.nan

    def _settle(self) -> None:
        """Outcomes, final values and ends."""
        fate = Fate(self._recovery_step, self._diverged_step, self._stop_step, self._complete, self._horizon)
        self._outcome, self._observed = fate.outcome(), fate.observed_until()
        cells, last = np.arange(len(self._last)), self._last
        self._final_m = fate.final(self._m[cells, :, last], self._stop_m)
        self._final_e = fate.final(self._e[cells, :, last], self._stop_e)
        self._final_step = fate.final(self._layout.steps[last][:, None], self._stop_step)
        self._end = end_of(self._final_m, self._final_e, self._decided, self._complete)

    def trajectories(self) -> dict[str, np.ndarray]:
        """The block's variables of `trajectories.zarr`."""
        values = {"m": self._m, "norm": self._norm(), "status": self._status}
        values |= {"e": self._e} if self._layout.components else {}
        values |= {"m_position": self._m_position} if self._layout.positions else {}
        return self._on_grid(values)

    def recovery(self) -> dict[str, np.ndarray]:
        """The block's variables of `recovery.zarr`."""
        dtype = self._layout.dtype
        values = {
            "recovery_step": np.where(self._outcome == Outcome.RECOVERED, self._recovery_step, np.nan),
            "outcome": self._outcome,
            "end": self._end,
            "final_m": self._final_m.astype(dtype),
            "final_step": self._final_step,
            "observed_until": self._observed,
            "status": self._status,
        }
        values |= {"final_e": self._final_e.astype(dtype)} if self._layout.components else {}
        return self._on_grid(values)

    def _norm(self) -> np.ndarray:
        """What weak recovery looks at: ||(e, m)||; for an untied student |m|, where m is ||m||_2 / sqrt(L)."""
        norm = np.abs(self._m)
        if self._layout.components:
            tied = ~self._is_untied
            norm[tied] = np.sqrt(self._m[tied] ** 2 + np.nansum(self._e[tied] ** 2, axis=-1))
        return norm

    def _on_grid(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: array.reshape(*self._shape, *array.shape[1:]) for name, array in values.items()}


def _by_segment(
    covered: Iterable[tuple[int, Point, Coverage]],
) -> dict[Location, list[tuple[int, Point, Piece]]]:
    uses = defaultdict(list)
    for cell, point, coverage in covered:
        for piece in coverage.pieces:
            uses[piece.path].append((int(cell), point, piece))
    return dict(sorted(uses.items(), key=lambda use: str(use[0])))


def _fill(target: np.ndarray, source: np.ndarray) -> None:
    """Writes `source` where `target` has no value yet."""
    np.copyto(target, source, where=np.isnan(target))


def _last_recorded(point: Point) -> int:
    """The last scheduled recording not beyond the horizon."""
    return int(point.schedule.steps(point.steps)[-1])
