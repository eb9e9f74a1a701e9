"""Running lanes: tiles of a fixed width, chunks of recordings, and absolute steps from offsets.

A lane is one replica of one point. Every tile runs the same compiled program, so a lane's bits do not depend
on how many others there are or which they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from ssi_kernels.kernels.program import INTERVALS, NEVER, program
from ssi_kernels.kernels.shape import Shape

_LONGEST = 2**30
_WORD = 2**32


@dataclass
class Lanes:
    """Inputs of N lanes of one shape, lanes last: `data` for the step, `keys` (2, N), and where they stand.

    `recovery` (T, N), `diverged` (N,), `stop` (N,) are absolute steps, NaN where nothing happened yet.
    """

    data: dict[str, np.ndarray]
    keys: np.ndarray
    state: dict[str, np.ndarray]
    recovery: np.ndarray
    diverged: np.ndarray
    stop: np.ndarray

    @property
    def count(self) -> int:
        return self.keys.shape[1]

    def tile(self, first: int, width: int) -> Lanes:
        """Lanes first..first+width-1; beyond the last lane the last one is repeated as padding."""
        index = np.minimum(np.arange(first, first + width), self.count - 1)
        pick = lambda tree: {name: x[..., index] for name, x in tree.items()}  # noqa: E731
        return Lanes(
            pick(self.data),
            self.keys[:, index],
            pick(self.state),
            self.recovery[:, index],
            self.diverged[index],
            self.stop[index],
        )


@dataclass
class Result:
    """What N lanes did: records (S, ..., N) at S recorded steps, marks, and the state at the end."""

    records: dict[str, np.ndarray]
    final: dict[str, np.ndarray]
    lanes: Lanes


def run(shape: Shape, lanes: Lanes, steps: tuple[int, int], recorded: np.ndarray) -> Result:
    """Steps from+1..to of all lanes, for `steps` = (from, to).

    `recorded` must be increasing and lie in (from, to], or in [0, to] when from is 0.
    """
    width = shape.lanes
    with jax.enable_x64(shape.dtype == "float64"):
        tiles = [_run_tile(shape, lanes.tile(i, width), steps, recorded) for i in range(0, lanes.count, width)]
    return _joined(tiles, lanes.count)


def _run_tile(shape: Shape, lanes: Lanes, steps: tuple[int, int], recorded: np.ndarray) -> Result:
    advance = program(shape)
    start, end = steps
    names = ("m", "e") + (("m_position",) if shape.student.is_untied else ())
    alive = np.isnan(lanes.stop)
    kept: list[dict] = []
    if start == 0 and recorded.size and recorded[0] == 0:
        _, _, first = advance(lanes.data, lanes.keys, lanes.state, alive, _intervals([]))
        first = {name: np.asarray(first[name])[:1] for name in names}
        kept.append(first)
        alive = _mark_start(shape, lanes, first)
    last = None
    for chunk in _chunks(start, end, recorded):
        lanes.state, alive, records = advance(lanes.data, lanes.keys, lanes.state, alive, _intervals(chunk))
        records = {name: np.asarray(x) for name, x in records.items()}
        _mark(lanes, chunk, records)
        wanted = [i for i, piece in enumerate(chunk) if piece[2]]
        kept.append({name: records[name][wanted] for name in names})
        last = {name: records[name][len(chunk) - 1] for name in names}
        if shape.stop != "horizon" and not np.asarray(alive).any():
            break
    final = last if last is not None else {name: x[0] for name, x in kept[0].items()}
    lanes.state = {name: np.asarray(x) for name, x in lanes.state.items()}
    return Result(_masked(kept, recorded, lanes), final, lanes)


def _mark_start(shape: Shape, lanes: Lanes, first: dict) -> np.ndarray:
    """Thresholds and stop rule at step 0, with the arithmetic of the loop. Returns which lanes go on."""
    m, e = first["m"][0], first["e"][0]
    crossed = m * m + np.sum(e * e, axis=0) >= lanes.data["threshold_square"]
    lanes.recovery = np.where(crossed & np.isnan(lanes.recovery), 0.0, lanes.recovery)
    if shape.stop == "recovered":
        done = crossed.all(axis=0)
    elif shape.stop == "decided":
        done = np.maximum(np.abs(m), np.sqrt(np.sum(e * e, axis=0))) > lanes.data["decided"]
    else:
        done = np.zeros(m.shape, bool)
    lanes.stop = np.where(done & np.isnan(lanes.stop), 0.0, lanes.stop)
    return np.isnan(lanes.stop)


def _pieces(start: int, end: int, recorded: np.ndarray) -> list[tuple[int, int, bool]]:
    """(first step, number of steps, recorded at its end): no piece crosses a multiple of 2^32."""
    ends = set(recorded[recorded > start].tolist())
    pieces, at = [], start
    for stop in sorted(ends | ({end} if end > start else set())):
        while at < stop:
            count = min(stop - at, _LONGEST, _WORD - at % _WORD)
            pieces.append((at, count, at + count == stop and stop in ends))
            at += count
    return pieces


def _chunks(start: int, end: int, recorded: np.ndarray) -> list[list[tuple[int, int, bool]]]:
    pieces = _pieces(start, end, recorded)
    return [pieces[i : i + INTERVALS] for i in range(0, len(pieces), INTERVALS)]


def _intervals(chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """High word, low word and count of every piece, padded with empty ones."""
    first = np.zeros(INTERVALS, np.uint64)
    count = np.zeros(INTERVALS, np.int32)
    for i, (at, steps, _) in enumerate(chunk):
        first[i], count[i] = at, steps
    return (first >> np.uint64(32)).astype(np.uint32), (first & np.uint64(_WORD - 1)).astype(np.uint32), count


def _mark(lanes: Lanes, chunk, records: dict) -> None:
    """First crossing, divergence and stop as absolute steps, where they were not known before."""
    starts = np.array([at for at, _, _ in chunk], dtype=np.float64)
    for name in ("recovery", "diverged", "stop"):
        offsets = records[name][: len(chunk)]
        steps = np.where(offsets == NEVER, np.nan, offsets + starts.reshape(-1, *(1,) * (offsets.ndim - 1)))
        known = getattr(lanes, name)
        first = np.fmin.reduce(steps, axis=0)
        setattr(lanes, name, np.where(np.isnan(known), first, known))


def _masked(kept: list[dict], recorded: np.ndarray, lanes: Lanes) -> dict[str, np.ndarray]:
    """Records of all scheduled steps; NaN after a stop or a divergence and where the loop ended early."""
    joined = {}
    gone = recorded[:, None] > np.where(np.isnan(lanes.stop), np.inf, lanes.stop)
    gone |= recorded[:, None] >= np.where(np.isnan(lanes.diverged), np.inf, lanes.diverged)
    for name in kept[0] if kept else ():
        x = np.concatenate([k[name] for k in kept])
        full = np.full((recorded.size, *x.shape[1:]), np.nan, x.dtype)
        full[: x.shape[0]] = x
        joined[name] = np.where(gone.reshape(recorded.size, *(1,) * (x.ndim - 2), -1), np.nan, full).astype(x.dtype)
    return joined


def _joined(tiles: list[Result], count: int) -> Result:
    """Tiles side by side, without the padding."""

    def beside(trees: list[dict]) -> dict:
        return {name: np.concatenate([t[name] for t in trees], axis=-1)[..., :count] for name in trees[0]}

    lanes = Lanes(
        data={},
        keys=np.concatenate([t.lanes.keys for t in tiles], axis=1)[:, :count],
        state=beside([t.lanes.state for t in tiles]),
        recovery=np.concatenate([t.lanes.recovery for t in tiles], axis=1)[:, :count],
        diverged=np.concatenate([t.lanes.diverged for t in tiles])[:count],
        stop=np.concatenate([t.lanes.stop for t in tiles])[:count],
    )
    return Result(beside([t.records for t in tiles]), beside([t.final for t in tiles]), lanes)
