"""What entries of `theory` still need, told to Snakemake as for sweeps. No JAX: runs while a Snakefile is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.clock import bring_to_present
from ssi_kernels.execute.folder import ResultFolder, write_json
from ssi_kernels.store.marker import stale
from ssi_kernels.sweep import entry_fingerprint

if TYPE_CHECKING:
    from ssi_kernels.sweep import Config
    from ssi_kernels.sweep.theory_entries import LandscapeEntry, PhaseDiagramEntry


@dataclass(frozen=True)
class PlacedEntry(ResultFolder):
    """An entry of `theory`, its name, and where its files are."""

    name: str
    entry: PhaseDiagramEntry | LandscapeEntry
    results: Path

    @property
    def dataset(self) -> Path:
        """What was computed."""
        return self.folder / "theory.zarr"

    @cached_property
    def fingerprint(self) -> str:
        """Names what the dataset must hold. Raises ConfigError with the whole key path."""
        try:
            return entry_fingerprint(self.entry)
        except ConfigError as error:
            raise error.within(f"theory.{self.name}") from None

    def lacking(self) -> str | None:
        """Why the dataset must be computed, in words; None where it is there and whole."""
        return stale(self.folder, self.fingerprint)


def place_theory(config: Config, results: Path | None = None) -> dict[str, PlacedEntry]:
    """The entries of a configuration by name; `results` replaces the configuration's own folder."""
    root = Path(config.results if results is None else results)
    return {name: PlacedEntry(name, entry, root) for name, entry in config.theory.items()}


def refresh_theory_requests(entries: Mapping[str, PlacedEntry]) -> list[str]:
    """Rewrite the request of every entry that must be computed; returns one line for each entry."""
    lines = []
    for placed in entries.values():
        bring_to_present([placed.folder, placed.tables, placed.figures])
        reason = placed.lacking()
        if reason or not placed.request.exists():
            write_json(placed.request, {"reason": reason or "never asked for"})
        lines.append(state_line(placed, reason))
    return lines


def state_line(placed: PlacedEntry, reason: str | None) -> str:
    """`theory figure4: phase-diagram, to compute: never built`."""
    state = f"to compute: {reason}" if reason else "nothing to compute"
    return f"theory {placed.name}: {placed.entry.kind}, {state}"
