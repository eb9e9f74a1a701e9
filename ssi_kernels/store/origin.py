"""Where the numbers of a dataset come from: versions, devices, flags and commits, as attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from itertools import chain

from ssi_kernels.provenance import PACKAGES
from ssi_kernels.store.parts import parts_of

_ALWAYS = (*PACKAGES, "device", "xla_flags", "commit")
_MOST_VALUES = 20


class Origins:
    """Collects the provenance of segments; those of one dataset may have been computed in several places."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = defaultdict(set)
        self._finished: set[str] = set()
        self._seconds = 0.0

    def add(self, provenances: Iterable[Mapping]) -> None:
        """Takes note of the provenance of some segments; `measured` has `seconds` and `finished_at` (ISO 8601, UTC)."""
        for provenance in chain.from_iterable(map(parts_of, provenances)):
            measured = provenance.get("measured", {})
            self._seconds += measured.get("seconds", 0.0)
            self._note_time(measured.get("first_finished_at"))
            self._note_time(measured.get("finished_at"))
            for name, value in provenance.items():
                if isinstance(value, str):
                    self._values[name].add(value)

    def note(self) -> dict:
        """What was collected, as JSON: `add_note` of another collection takes it."""
        values = {name: sorted(found) for name, found in sorted(self._values.items())}
        return {"values": values, "finished": sorted(self._finished), "seconds": self._seconds}

    def add_note(self, note: Mapping) -> None:
        """Takes what another collection noted."""
        for name, values in note["values"].items():
            self._values[name].update(values)
        for moment in note["finished"]:
            self._note_time(moment)
        self._seconds += note["seconds"]

    def _note_time(self, moment: str | None) -> None:
        """Keeps the first and the last."""
        if moment is not None:
            known = {*self._finished, moment}
            self._finished = {min(known), max(known)}

    def attributes(self) -> dict[str, str]:
        """One text for each key: the value that all segments share, or the distinct ones joined by "; ".

        `xarray` and `zarr` are those that write the dataset. What no segment tells is "".
        """
        found = {name: _joined(values) for name, values in sorted(self._values.items())}
        here = {"xarray": version("xarray"), "zarr": version("zarr")}
        return {**dict.fromkeys(_ALWAYS, ""), **found, **self._times(), **here}

    def _times(self) -> dict[str, str]:
        """When the first and the last segment were finished, and the time their kernels took together."""
        if not self._finished:
            return {}
        first, last = min(self._finished), max(self._finished)
        return {
            "finished_at": first if first == last else f"{first} to {last}",
            "kernel_seconds": f"{self._seconds:.1f}",
        }


def _joined(values: set[str]) -> str:
    shown = sorted(values)[:_MOST_VALUES]
    more = [f"and {len(values) - _MOST_VALUES} more"] if len(values) > _MOST_VALUES else []
    return "; ".join([*shown, *more])
