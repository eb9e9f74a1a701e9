"""Running lanes: tiles of a fixed width, chunks of recordings, and absolute steps from offsets.

A lane is one replica of one point. Every tile runs the same compiled program, so a lane's bits do not depend on how
many others there are or which they are. After every chunk, lanes that have stopped or diverged leave, and the others
are put together into fewer tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from ssi_kernels.kernels.launch import launcher
from ssi_kernels.kernels.program import INTERVALS, NEVER
from ssi_kernels.kernels.shape import Shape

_LONGEST = 2**30
_BETWEEN_COMPACTIONS = 2**22  # steps after which lanes that follow a stop rule are looked at again
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

    def pick(self, index: np.ndarray) -> tuple[dict, np.ndarray, dict]:
        """Data, keys and state of some lanes."""
        pick = lambda tree: {name: x[..., index] for name, x in tree.items()}  # noqa: E731
        return pick(self.data), self.keys[:, index], pick(self.state)

    @property
    def running(self) -> np.ndarray:
        """Indices of the lanes that have neither stopped nor diverged."""
        return np.flatnonzero(np.isnan(self.stop) & np.isnan(self.diverged))


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
    result = _blank(shape, lanes, recorded)
    row = 0
    with jax.enable_x64(shape.dtype == "float64"):
        for chunk in _chunks(shape, *steps, recorded):
            wanted = [i for i, piece in enumerate(chunk) if piece[2]]
            running = result.lanes.running
            advance, width = launcher(shape, result.lanes, running.size)
            for tile in _tiles(running, width):
                _advance(advance, width, result, tile, chunk, wanted, row)
            row += len(wanted)
    result.records = {name: _masked(x, recorded, result.lanes) for name, x in result.records.items()}
    return result


def _blank(shape: Shape, lanes: Lanes, recorded: np.ndarray) -> Result:
    """A result in which nothing has happened yet; the lanes' state and marks are copied, to be written to."""
    names = {"m": (), "e": (shape.rank if not shape.student.is_untied else 0,)}
    if shape.student.is_untied:
        names["m_position"] = (shape.length,)
    nothing = lambda *head: np.full((*head, lanes.count), np.nan, shape.dtype)  # noqa: E731
    own = Lanes(
        lanes.data,
        lanes.keys,
        {name: np.array(x) for name, x in lanes.state.items()},
        lanes.recovery.copy(),
        lanes.diverged.copy(),
        lanes.stop.copy(),
    )
    records = {name: nothing(recorded.size, *inner) for name, inner in names.items()}
    return Result(records, {name: nothing(*inner) for name, inner in names.items()}, own)


def _tiles(index: np.ndarray, width: int) -> list[np.ndarray]:
    """Lanes in tiles of at most `width`."""
    return [index[i : i + width] for i in range(0, index.size, width)]


def _advance(advance, width: int, result: Result, tile: np.ndarray, chunk, wanted: list[int], row: int) -> None:
    """Moves the lanes of one tile over one chunk, padded with the last of them, and enters what they did."""
    lanes, count = result.lanes, tile.size
    padded = np.concatenate([tile, np.full(width - count, tile[-1])])
    data, keys, state = lanes.pick(padded)
    state, _, records = advance(data, keys, state, np.ones(width, bool), _intervals(chunk))
    for name, x in state.items():
        lanes.state[name][..., tile] = np.asarray(x)[..., :count]
    records = {name: np.asarray(x)[..., :count] for name, x in records.items()}
    for name, whole in result.records.items():
        whole[row : row + len(wanted), ..., tile] = records[name][wanted]
        result.final[name][..., tile] = records[name][len(chunk) - 1]
    _mark(lanes, tile, chunk, records)


def _pieces(start: int, end: int, recorded: np.ndarray, longest: int) -> list[tuple[int, int, bool]]:
    """(first step, number of steps, recorded at its end): no piece crosses a multiple of 2^32."""
    ends = set(recorded[recorded > start].tolist())
    pieces, at = [(0, 0, True)] if start == 0 and recorded.size and recorded[0] == 0 else [], start
    for stop in sorted(ends | ({end} if end > start else set())):
        while at < stop:
            count = min(stop - at, longest, _WORD - at % _WORD)
            pieces.append((at, count, at + count == stop and stop in ends))
            at += count
    return pieces


def _chunks(shape: Shape, start: int, end: int, recorded: np.ndarray) -> list[list[tuple[int, int, bool]]]:
    """Pieces in groups for one call of the program: not too many steps where lanes may stop on the way."""
    limit = _LONGEST if shape.stop == "horizon" else _BETWEEN_COMPACTIONS
    chunks: list[list[tuple[int, int, bool]]] = []
    steps = 0
    for piece in _pieces(start, end, recorded, limit):
        if not chunks or len(chunks[-1]) == INTERVALS or (shape.stop != "horizon" and steps + piece[1] > limit):
            chunks.append([])
            steps = 0
        chunks[-1].append(piece)
        steps += piece[1]
    return chunks


def _intervals(chunk) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """High word, low word and count of every piece, padded with empty ones."""
    first = np.zeros(INTERVALS, np.uint64)
    count = np.zeros(INTERVALS, np.int32)
    for i, (at, steps, _) in enumerate(chunk):
        first[i], count[i] = at, steps
    return (first >> np.uint64(32)).astype(np.uint32), (first & np.uint64(_WORD - 1)).astype(np.uint32), count


def _mark(lanes: Lanes, tile: np.ndarray, chunk, records: dict) -> None:
    """First crossing, divergence and stop of a tile's lanes as absolute steps, where they were not known before."""
    starts = np.array([at for at, _, _ in chunk], dtype=np.float64)
    for name in ("recovery", "diverged", "stop"):
        offsets = records[name][: len(chunk)]
        steps = np.where(offsets == NEVER, np.nan, offsets + starts.reshape(-1, *(1,) * (offsets.ndim - 1)))
        marks = getattr(lanes, name)
        known, first = marks[..., tile], np.fmin.reduce(steps, axis=0)
        marks[..., tile] = np.where(np.isnan(known), first, known)


def _masked(records: np.ndarray, recorded: np.ndarray, lanes: Lanes) -> np.ndarray:
    """Records, with NaN after a stop and from a divergence on."""
    gone = recorded[:, None] > np.where(np.isnan(lanes.stop), np.inf, lanes.stop)
    gone |= recorded[:, None] >= np.where(np.isnan(lanes.diverged), np.inf, lanes.diverged)
    gone = gone.reshape(recorded.size, *(1,) * (records.ndim - 2), lanes.count)
    return np.where(gone, records.dtype.type(np.nan), records)
