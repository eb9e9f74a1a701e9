"""What reading a configuration imports."""

import subprocess
import sys

import pytest

from ssi_kernels import sweep

SCRIPT = """
import sys, yaml
from ssi_kernels.sweep import expand, parse_config
sweep = {{"model": {model}, "grid": {grid}, "sgd": {{"learning_rate": 0.1, "steps": 10}}}}
points = expand(parse_config({{"sweeps": {{"t": sweep}}}}).sweeps["t"]).points
assert points[0].point_id
print(*(name for name in ("jax", "ray", "sympy", "xarray", "zarr") if name in sys.modules))
"""


@pytest.mark.parametrize(
    ("model", "grid", "imported"),
    [
        ({"target": {"family": "hermite"}, "student": {"kind": "tied"}}, {"d": 16, "length": 2, "sie": 1}, ""),
        ({"target": {"expression": "z1"}, "student": {"kind": "tied"}}, {"d": 16, "length": 2}, "sympy"),
    ],
)
def test_parsing_is_light(model, grid, imported):
    script = SCRIPT.format(model=model, grid=grid)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == imported


def test_public_names_are_there():
    for name in sweep.__all__:
        assert getattr(sweep, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        sweep.nothing  # noqa: B018
