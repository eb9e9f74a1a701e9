"""What a sweep still needs, told to Snakemake through files. No JAX, no Ray: this runs while a Snakefile is parsed.

`request.json` is an input of the rule that simulates. It is rewritten, with a new time stamp, exactly when
something is missing or the derived datasets are not those of this grid; so a dry run tells the truth and a
run with nothing to do does nothing. `manifest.json`, that rule's output, is written only when everything is
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.execute.clock import bring_to_present
from ssi_kernels.execute.folder import ResultFolder, write_json
from ssi_kernels.store.atomic import write_bytes
from ssi_kernels.store.index import SegmentIndex
from ssi_kernels.store.location import Location, location
from ssi_kernels.store.marker import fingerprint, stale
from ssi_kernels.store.missing import Missing, missing
from ssi_kernels.sweep import effective, expand

if TYPE_CHECKING:
    from ssi_kernels.store.claims import Shared
    from ssi_kernels.sweep import Config, Grid, Sweep


@dataclass(frozen=True)
class PlacedSweep(ResultFolder):
    """A sweep, its name, and where its files are."""

    name: str
    sweep: Sweep
    results: Path
    store_place: str | None = None

    @cached_property
    def grid(self) -> Grid:
        """The points. Raises ConfigError with the whole key path."""
        try:
            return expand(self.sweep)
        except ConfigError as error:
            raise error.within(f"sweeps.{self.name}") from None

    @property
    def store(self) -> Location:
        """The segments, shared by all sweeps of a results folder, or of all configurations that name one store."""
        return self.results / "store" if self.store_place is None else location(self.store_place)

    @property
    def manifest(self) -> Path:
        """Says that everything is stored."""
        return self.folder / "manifest.json"

    @property
    def trajectories(self) -> Path:
        """The dataset of all trajectories."""
        return self.folder / "trajectories.zarr"

    @property
    def recovery(self) -> Path:
        """The dataset of outcomes."""
        return self.folder / "recovery.zarr"

    def index(self) -> SegmentIndex:
        """What the store holds now."""
        index = SegmentIndex(self.store)
        index.refresh()
        return index

    def missing(self, index: SegmentIndex | None = None) -> list[Missing]:
        """The work that the store lacks, now or according to `index`."""
        return missing(self.grid.points, self.index() if index is None else index)

    def is_consolidated(self) -> bool:
        """Whether the derived datasets are whole and hold all of this grid."""
        return stale(self.folder, fingerprint(self.grid, [], {})) is None


def place(config: Config, results: Path | None = None) -> dict[str, PlacedSweep]:
    """The sweeps of a configuration by name; `results` replaces the configuration's own folder.

    Raises ConfigError for a store of a kind that there is not.
    """
    root = Path(config.results if results is None else results)
    if config.store is not None:
        location(config.store)
    return {name: PlacedSweep(name, sweep, root, config.store) for name, sweep in config.sweeps.items()}


def common_index(sweeps: dict[str, PlacedSweep]) -> SegmentIndex | None:
    """What the store that all these sweeps share holds now; None where there is no sweep."""
    return next((placed.index() for placed in sweeps.values()), None)


def lacking_points(placed: PlacedSweep, work: list[Missing]) -> int:
    """How many points of the grid lack something."""
    lacking = {item.point.point_id for item in work}
    return sum(point.point_id in lacking for point in placed.grid.points)


def count_line(placed: PlacedSweep, work: list[Missing]) -> str:
    """`sweep transition: 42 points, 3 missing`."""
    line = f"sweep {placed.name}: {len(placed.grid.points)} points, {lacking_points(placed, work)} missing"
    return line if work else f"{line}: 0 points simulated"


def waiting_line(placed: PlacedSweep, share: Shared) -> str:
    """Says for whom a driver waits: `sweep transition: 12 points are being computed by ...: waiting for them`."""
    points = len({item.point.point_id for item in share.left})
    holders = " and ".join(claim.holder for claim in share.others)
    return f"sweep {placed.name}: {points} points are being computed by {holders}: waiting for them"


def refresh_requests(sweeps: dict[str, PlacedSweep]) -> list[str]:
    """Rewrite the request of every sweep that needs a run; returns one line for each sweep."""
    index, lines = common_index(sweeps), []
    for placed in sweeps.values():
        bring_to_present([placed.folder, placed.tables, placed.figures])
        work = placed.missing(index)
        if work or not placed.request.exists() or not placed.is_consolidated():
            write_json(placed.request, {"missing": lacking_points(placed, work)})
        lines.append(count_line(placed, work))
    return lines


def write_manifest(placed: PlacedSweep) -> None:
    """Say that every point is stored; raises StoreError where that is not so."""
    lacking = lacking_points(placed, placed.missing())
    if lacking:
        raise StoreError(f"{placed.store}: {lacking} points of sweep {placed.name} are not stored: run again")
    content = {"sweep": placed.name, "points": len(placed.grid.points), "fingerprint": placed.grid.fingerprint}
    write_json(placed.manifest, content)


def save_config(placed: PlacedSweep) -> None:
    """Keep the effective configuration, with its defaults, beside the results."""
    content = {"sweeps": {placed.name: effective(placed.sweep)}}
    write_bytes(placed.folder / "config.yaml", yaml.safe_dump(content, sort_keys=False).encode())
