"""Provenance of segments that were made from parts of others: with what each part was computed, and for how long."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

_PARTS, _MEASURED = "parts", "measured"


def parts_of(provenance: Mapping) -> list[Mapping]:
    """The provenance of every part of a segment; that of a segment as it was computed is its only part.

    >>> parts_of({"device": "cpu"})
    [{'device': 'cpu'}]
    """
    return provenance[_PARTS] if _PARTS in provenance else [provenance]


def computed_with(provenance: Mapping) -> tuple[str, ...]:
    """What tells the numbers of one origin from those of another: the distinct parts without their times, as JSON."""
    return tuple(sorted({_without_times(part) for part in parts_of(provenance)}))


def share(provenance: Mapping, fraction: float) -> dict:
    """The provenance of a part of a segment's points, with that fraction of its kernel seconds."""
    if _PARTS in provenance:
        return {_PARTS: [share(part, fraction) for part in provenance[_PARTS]]}
    measured = provenance.get(_MEASURED, {})
    if "seconds" not in measured:
        return dict(provenance)
    return {**provenance, _MEASURED: {**measured, "seconds": measured["seconds"] * fraction}}


def joined(provenances: Iterable[Mapping]) -> dict:
    """One provenance for data of several origins: each origin once, with its seconds summed and its times spanned."""
    same = defaultdict(list)
    for provenance in provenances:
        for part in parts_of(provenance):
            same[_without_times(part)].append(part.get(_MEASURED, {}))
    parts = [{**json.loads(origin), **_spanned(times)} for origin, times in sorted(same.items())]
    return parts[0] if len(parts) == 1 else {_PARTS: parts}


def _without_times(part: Mapping) -> str:
    return json.dumps({key: value for key, value in part.items() if key != _MEASURED}, sort_keys=True)


def _spanned(times: list[Mapping]) -> dict:
    """`measured` of data that took these times: all seconds, and when the first and the last of it was finished."""
    dated = [measured for measured in times if "finished_at" in measured]
    seconds = [measured["seconds"] for measured in times if "seconds" in measured]
    spanned = {"seconds": sum(seconds)} if seconds else {}
    if dated:
        first = min(measured.get("first_finished_at", measured["finished_at"]) for measured in dated)
        spanned |= {"first_finished_at": first, "finished_at": max(measured["finished_at"] for measured in dated)}
    return {_MEASURED: spanned} if spanned else {}
