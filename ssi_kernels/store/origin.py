"""Where the numbers of a dataset come from: versions, devices, flags and commits, as attributes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = {"package_version": "ssi-kernels"} | {name: name for name in ("jax", "jaxlib", "numpy", "ray")}
_MOST_VALUES = 20


class Origins:
    """Collects the provenance of segments; segments of one dataset may have been computed in several places."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = defaultdict(set)

    def add(self, provenances: Iterable[Mapping]) -> None:
        """Takes note of the provenance of some segments."""
        for provenance in provenances:
            for name, value in _flat(provenance):
                self._values[name].add(value)

    def attributes(self) -> dict[str, str]:
        """One text for each key: the value that all segments share, or the distinct ones joined by "; ".

        Without segments the versions are those installed here. `xarray` and `zarr` are those that write.
        """
        here = {name: _installed(package) for name, package in _PACKAGES.items()}
        unknown = dict.fromkeys(("device", "xla_flags", "commit"), "")
        found = {name: _joined(values) for name, values in sorted(self._values.items())}
        return {**here, **unknown, **found, "xarray": _installed("xarray"), "zarr": _installed("zarr")}


def _flat(provenance: Mapping) -> Iterator[tuple[str, str]]:
    """Name and text of every entry that is not a measurement; mappings inside are opened."""
    for name, value in provenance.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif isinstance(value, str):
            yield name, value
        elif isinstance(value, list | bool) or value is None:
            yield name, json.dumps(value)


def _joined(values: set[str]) -> str:
    shown = sorted(values)[:_MOST_VALUES]
    more = [f"and {len(values) - _MOST_VALUES} more"] if len(values) > _MOST_VALUES else []
    return "; ".join([*shown, *more])


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
