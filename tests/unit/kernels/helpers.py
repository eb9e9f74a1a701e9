"""Lanes and runs for the kernel tests."""

import hashlib

import numpy as np

import ssi_kernels as ssi
from ssi_kernels.kernels import assemble, lanes
from ssi_kernels.kernels.shape import shape_of
from ssi_kernels.model import starts
from ssi_kernels.schedule import Schedule

PAIR = ssi.Model(ssi.targets.positional_semantic(0.3, 1.0), ssi.students.attention(), ssi.encodings.opposite_pair())
TIED = ssi.Model(ssi.targets.hermite(1), ssi.students.tied("relu"))
UNTIED = ssi.Model(ssi.targets.hermite(1), ssi.students.untied("relu"))
UNTIED_ROW = ssi.Model(ssi.targets.hermite(1), ssi.students.untied("relu", norm="row"))


def prepare(model, replicas=(0, 8), *, d=100, length=2, rate=0.3, kernel="reduced", dtype="float32", stop="horizon",
            thresholds=(0.5,), decided=0.7, start=None, name="test"):  # fmt: skip
    """Shape and fresh lanes of one point named `name`."""
    shape = shape_of(model, d=d, length=length, kernel=kernel, dtype=dtype, thresholds=len(thresholds), stop=stop)
    batch = assemble.fresh_lanes(
        shape, model, starts.random() if start is None else start, d=d, learning_rate=rate, thresholds=thresholds,
        decided=decided, stream_id=hashlib.sha256(name.encode()).hexdigest(), replicas=replicas,
    )  # fmt: skip
    return shape, batch


def simulate(model, steps=200, replicas=(0, 8), record=None, **options):
    """All of one point from step 0."""
    shape, batch = prepare(model, replicas, **options)
    recorded = Schedule("per_decade", 10).steps(steps) if record is None else np.asarray(record)
    return lanes.run(shape, batch, (0, steps), recorded)


def assert_same(a, b, select=slice(None)):
    """Equal to the bit: recordings, marks and states; `select` picks the lanes of `a`."""
    for name in b.records:
        np.testing.assert_array_equal(a.records[name][..., select], b.records[name])
    for name in b.lanes.state:
        np.testing.assert_array_equal(a.lanes.state[name][..., select], b.lanes.state[name])
    for name in ("recovery", "diverged", "stop"):
        np.testing.assert_array_equal(getattr(a.lanes, name)[..., select], getattr(b.lanes, name))
