"""What a dataset says of where its numbers come from."""

from ssi_kernels.store.origin import Origins


def measured(seconds, hour):
    return {"device": "cpu: x86_64", "measured": {"seconds": seconds, "finished_at": f"2026-01-01T{hour:02d}:00:00Z"}}


def test_times_are_summed_and_spanned():
    origins = Origins()
    origins.add(measured(1.25, hour) for hour in range(23))
    attributes = origins.attributes()
    assert attributes["finished_at"] == "2026-01-01T00:00:00Z to 2026-01-01T22:00:00Z"
    assert attributes["kernel_seconds"] == "28.8"
    assert attributes["device"] == "cpu: x86_64"


def test_without_segments_there_are_no_times():
    assert not {"finished_at", "kernel_seconds"} & set(Origins().attributes())
