"""Entries of theory in the workflow: computed once, again when they change, and nothing is simulated. No Ray."""

from __future__ import annotations

import pytest

ENTRY = "theory:\n  hills: {{kind: phase-diagram, omega: [0.5, 0.9], a: {a}, description: {words}}}\n"


@pytest.fixture
def hills(project):
    """A project with one entry of theory and no sweep."""

    def write(a: float = 1.0, words: str = "first") -> None:
        project.write(ENTRY.format(a=a, words=words))

    write()
    project.rewrite = write
    return project


def test_run_after_run(hills):
    folder = hills.folder / "results" / "hills"
    status, said = hills.snakemake("-n")
    assert status == 0, said
    assert "theory hills: phase-diagram, to compute: never built" in said and "rule theory.hills:" in said
    assert not (folder / "theory.zarr").exists()

    status, said = hills.snakemake()
    assert status == 0, said
    for name in ("consolidated.json", "theory.zarr/zarr.json", "tables/phase_regions.csv", "report.html"):
        assert (folder / name).stat().st_size > 0
    for suffix in ("png", "svg", "pdf"):
        assert (folder / "figures" / f"phase_diagram.{suffix}").stat().st_size > 0
    assert not (hills.folder / "results" / "store").exists()
    assert_nothing_to_do(hills, "hills")

    hills.rewrite(words="second")
    status, said = hills.snakemake()
    assert status == 0, said
    assert "rule theory_report.hills:" in said and "rule theory.hills:" not in said
    assert "second" in (folder / "report.html").read_text()

    hills.rewrite(a=0.9, words="second")
    status, said = hills.snakemake("-n")
    assert "theory hills: phase-diagram, to compute: built from other points" in said
    status, said = hills.snakemake("results/hills/report.html")
    assert status == 0, said
    assert "0.9," in (folder / "tables" / "phase_boundaries.csv").read_text()
    assert_nothing_to_do(hills)

    next(path for path in (folder / "theory.zarr" / "risk" / "c").rglob("*") if path.is_file()).unlink()
    status, said = hills.snakemake("-n")
    assert "is lost or damaged" in said and "rule theory.hills:" in said


def assert_nothing_to_do(project, *arguments: str) -> None:
    status, said = project.snakemake(*arguments)
    assert status == 0, said
    assert "theory hills: phase-diagram, nothing to compute" in said and "Nothing to be done" in said


def test_beside_a_sweep(project):
    text = (project.folder / "config.yaml").read_text()
    project.write(text + ENTRY.format(a=1.0, words="x"))
    status, said = project.snakemake("-n")
    assert status == 0, said
    for rule in ("simulate", "tables.tiny", "theory.hills", "theory_figures.hills", "theory_report.hills"):
        assert f"rule {rule}:" in said
    status, said = project.snakemake("-n", "hills")
    assert "rule theory.hills:" in said and "rule simulate:" not in said


def test_a_misspelt_key_is_answered_with_the_nearest(hills):
    hills.write("theory: {hills: {kind: phase-diagram, omegas: 0.5}}\n")
    status, said = hills.snakemake("-n")
    assert status == 2
    assert "ssi: theory.hills.omegas: 0.5: is not a key here; the nearest valid key is omega" in said
