"""Descriptions cost no JAX import."""

import subprocess
import sys

CODE = """
import sys
import ssi_kernels as ssi
from ssi_kernels import expressions, schedule
model = ssi.Model(ssi.targets.positional_semantic(0.5, 1.0), ssi.students.attention(), ssi.encodings.opposite_pair())
model.check(16, 2, ssi.starts.overlaps(m=0.1))
model.canonical(2)
model = ssi.Model(ssi.targets.expression("sum(He2(z))/sqrt(2)"), ssi.students.untied("relu"))
model.check(16, 3)
assert "jax" not in sys.modules, "JAX was imported"
assert "ray" not in sys.modules, "Ray was imported"
"""


def test_describing_and_checking_a_model_imports_no_jax():
    answer = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
