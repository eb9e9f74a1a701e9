"""Imports point downwards, and reading a configuration or looking at the store costs no heavy import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "ssi_kernels"
GROUND = {"errors", "lazy", "types", "provenance", "elementary", "hermite", "grammar", "expressions", "answers"}
BELOW = {
    **{name: GROUND for name in GROUND},
    "model": GROUND,
    "schedule": {"model"} | GROUND,
    "kernels": {"model", "schedule"} | GROUND,
    "theory": {"model", "schedule"} | GROUND,
    # Only where a configuration leaves the learning rate to theory; a test below sees that nothing else imports it.
    "sweep": {"model", "schedule", "theory"} | GROUND,
    "store": {"model", "schedule", "sweep"} | GROUND,
    "execute": {"model", "schedule", "kernels", "sweep", "store"} | GROUND,
    "reduce": {"model", "schedule", "sweep", "store", "theory"} | GROUND,
    "report": {"model", "schedule", "sweep", "store", "theory", "reduce"} | GROUND,
    "store_commands": {"store", "execute", "sweep"} | GROUND,
    "theory_commands": {"model", "schedule", "theory", "sweep", "store", "execute"} | GROUND,
}
BELOW["cli"] = BELOW.keys() | GROUND
FILES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_downwards(path):
    layer = layer_of(path)
    if layer == "__init__":
        return
    allowed = BELOW[layer] | {layer}
    for name in imports(path):
        if name.startswith("ssi_kernels."):
            assert name.split(".")[1] in allowed, f"{layer} imports {name}"


def importers(module: str) -> set[str]:
    return {
        str(path.relative_to(PACKAGE))
        for path in FILES
        if any(name == module or name.startswith(f"{module}.") for name in imports(path))
    }


def test_only_the_ray_driver_imports_ray():
    assert importers("ray") == {"execute/ray_driver.py"}


def test_a_sweep_asks_theory_only_for_a_default_rate():
    users = {str(path.relative_to(PACKAGE)) for path in FILES if any(".theory." in f"{n}." for n in imports(path))}
    assert {user for user in users if user.startswith("sweep/")} == {"sweep/default_rate.py"}


def test_the_package_never_imports_snakemake():
    assert importers("snakemake") == set()


HEAVY = ("jax", "ray", "matplotlib", "sympy", "dask", "xarray", "pandas", "zarr", "scipy")
LIGHT = """
import sys
import ssi_kernels.model, ssi_kernels.sweep, ssi_kernels.store, ssi_kernels.reduce, ssi_kernels.execute.request
import ssi_kernels.execute.packing, ssi_kernels.execute.ray_driver, ssi_kernels.cli
from ssi_kernels.execute.request import place
from ssi_kernels.execute.theory_request import place_theory
from ssi_kernels.reduce import figure_names, table_names, theory_figure_names, theory_table_names
from ssi_kernels.sweep import analyses, load_config
for placed in place(load_config(sys.argv[1]), sys.argv[2]).values():
    placed.missing(), placed.is_consolidated()
    figure_names(analyses(placed.sweep)), table_names(analyses(placed.sweep))
for placed in place_theory(load_config(sys.argv[1]), sys.argv[2]).values():
    assert placed.lacking() == "never built"
    theory_figure_names(placed.entry.kind), theory_table_names(placed.entry.kind)
print(*sorted({name.split(".")[0] for name in sys.modules} & set(sys.argv[3].split(","))))
"""


def test_parsing_a_sweep_and_scanning_its_store_import_nothing_heavy(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        "sweeps: {s: {model: {target: {family: hermite}, student: {kind: tied, activation: relu}},"
        " grid: {d: 16, length: 2, sie: 1}, sgd: {learning_rate: 0.1, steps: 3e5}}}\n"
        "theory: {p: {kind: phase-diagram}, l: {kind: landscape, length: 2, sie: 1,"
        " model: {target: {family: hermite}, student: {kind: tied}}}}"
    )
    command = [sys.executable, "-c", LIGHT, config, tmp_path / "results", ",".join(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
