"""Provenance of what was put together: every origin once, with its times."""

from __future__ import annotations

import json

from ssi_kernels.store.origin import Origins
from ssi_kernels.store.parts import computed_with, joined, parts_of, share

CPU, GPU = {"device": "cpu: x86_64", "jax": "1"}, {"device": "gpu: H200", "jax": "1"}


def timed(origin, seconds, minute):
    return {**origin, "measured": {"seconds": seconds, "finished_at": f"2026-01-01T00:{minute:02d}:00Z"}}


def test_one_origin_is_written_as_ever():
    one = joined([timed(CPU, 1.0, 5), timed(CPU, 2.0, 3), timed(CPU, 4.0, 7)])
    times = {"seconds": 7.0, "first_finished_at": "2026-01-01T00:03:00Z", "finished_at": "2026-01-01T00:07:00Z"}
    assert one == {**CPU, "measured": times}
    assert parts_of(one) == [one] and computed_with(one) == computed_with(CPU)
    assert joined([CPU, CPU]) == CPU


def test_several_origins_are_parts_and_can_be_joined_again():
    two = joined([timed(CPU, 1.0, 5), timed(GPU, 2.0, 3)])
    assert [part["device"] for part in parts_of(two)] == ["cpu: x86_64", "gpu: H200"]
    again = joined([two, timed(CPU, 3.0, 1)])
    assert [part["measured"]["seconds"] for part in parts_of(again)] == [4.0, 2.0]
    assert computed_with(again) == computed_with(two) != computed_with(CPU)
    assert json.loads(json.dumps(again)) == again


def test_a_share_takes_its_part_of_the_seconds():
    two = share(joined([timed(CPU, 1.0, 5), timed(GPU, 2.0, 3)]), 0.5)
    assert [part["measured"]["seconds"] for part in parts_of(two)] == [0.5, 1.0]
    assert share(CPU, 0.5) == CPU and share(timed(CPU, 1.0, 5), 1.0) == timed(CPU, 1.0, 5)


def test_a_dataset_tells_of_every_part():
    origins = Origins()
    origins.add([joined([timed(CPU, 1.0, 5), timed(CPU, 1.0, 9), timed(GPU, 2.0, 3)])])
    found = origins.attributes()
    assert found["device"] == "cpu: x86_64; gpu: H200" and found["kernel_seconds"] == "4.0"
    assert found["finished_at"] == "2026-01-01T00:03:00Z to 2026-01-01T00:09:00Z"
