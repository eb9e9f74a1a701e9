"""Entries of theory: from the configuration to dataset and tables."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr

from ssi_kernels.errors import StoreError
from ssi_kernels.reduce import compute_entry, theory_figure_names, theory_table_names
from ssi_kernels.reduce.landscapes import landscape_dataset, landscape_table
from ssi_kernels.reduce.phase_theory import boundary_table, mixed_minima, region_table
from ssi_kernels.reduce.theory_entry import read_entry
from ssi_kernels.store.marker import stale
from ssi_kernels.sweep import entry_fingerprint, parse_config

from .theory_examples import diagram


def entry(**content):
    return parse_config({"theory": {"t": content}}).theory["t"]


def attention(points=9, **more):
    return entry(
        kind="landscape",
        model={
            "target": {"expression": "4/3 + He4(z1) + 2*He4(z2)"},
            "student": {"kind": "attention", "reduction": "trace"},
        },
        length=2,
        points=points,
        **more,
    )


@pytest.fixture(scope="module")
def landscapes():
    return landscape_dataset(attention(encoding=["none", "opposite-pair"]))


def test_the_risk_is_on_the_disc(landscapes):
    risk = landscapes["risk"]
    assert risk.dims == ("length", "encoding", "e", "m") and risk.shape == (1, 2, 9, 9)
    inside = risk["e"] ** 2 + risk["m"] ** 2 <= 1
    there = risk.sel(length=2, encoding="opposite-pair").notnull()
    assert (there == inside).all()
    line = risk.sel(length=2, encoding="none")
    assert line.sel(e=0.0).notnull().all() and int(line.notnull().sum()) == 9
    np.testing.assert_allclose(line.sel(e=0.0), risk.sel(length=2, encoding="opposite-pair", e=0.0), rtol=1e-9)


def test_an_encoding_can_lower_the_order(landscapes):
    """For 4/3 + He4 + 2 He4 the curvature along e is negative (Arnaboldi et al. 2025, figure 2)."""
    table = landscape_table(landscapes).set_index("encoding")
    assert table["sie"].tolist() == [4, 4]
    paired = table.loc["opposite-pair"]
    assert (paired["flatness"], paired["escape_order"]) == (2, 2)
    assert paired["hessian_ee"] < -0.1 and abs(paired["direction_e"]) == pytest.approx(1)
    assert np.isnan(table.loc["none", "hessian_ee"])
    assert table.loc["none", "flatness"] == 4


def test_without_any_encoding_it_is_a_curve():
    found = landscape_dataset(
        entry(
            kind="landscape",
            model={"target": {"family": "hermite"}, "student": {"kind": "tied"}},
            sie=[1, 2],
            length=2,
            points=5,
        )
    )
    assert found["risk"].dims == ("length", "sie", "m")
    assert landscape_table(found)["escape_order"].tolist() == [1, 2]
    assert list(landscape_table(found).columns[:3]) == ["length", "sie", "flatness"]


def test_tables_of_a_phase_diagram():
    boundaries, regions = boundary_table(diagram()), region_table(diagram())
    assert boundaries["dynamics"].tolist() == [0.8, 0.7, 0.6] and np.isnan(boundaries["global"][0])
    assert regions["points"].tolist() == [4, 3, 5] and regions["fraction"].sum() == pytest.approx(1)
    assert regions["mixed"].tolist() == [0, 0, 1]
    assert mixed_minima(diagram()).sum() == 1


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theory") / "t"
    found = entry(kind="phase-diagram", omega=[0.2, 0.7, 1.0], a=[0.8, 1.0], description="x")
    tables = compute_entry("t", found, entry_fingerprint(found), folder / "theory.zarr", folder / "tables")
    return found, folder, tables


def test_files_of_a_phase_diagram(computed):
    found, folder, tables = computed
    assert tuple(tables) == theory_table_names(found.kind) == ("phase_boundaries", "phase_regions")
    assert sorted(p.name for p in folder.iterdir()) == ["consolidated.json", "tables", "theory.zarr"]
    assert {p.stem for p in (folder / "tables").iterdir()} == set(tables)
    assert stale(folder, entry_fingerprint(found)) is None
    assert stale(folder, "another") == "built from other points"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = xr.open_zarr(folder / "theory.zarr").load()
    assert dataset["regime"].sel(a=1.0, omega=0.2).item() == 0
    content = json.loads(dataset.attrs["configuration"])
    assert parse_config(content).theory["t"] == found
    assert dataset.attrs["package_version"] and "jax" in dataset.attrs
    assert all({"long_name", "units"} <= set(dataset[name].attrs) for name in dataset.variables)


def test_a_landscape_is_read_back(tmp_path):
    found = attention(points=3, encoding=["opposite-pair"])
    compute_entry("t", found, "f", tmp_path / "theory.zarr", tmp_path / "tables")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset, tables = read_entry(found.kind, tmp_path / "theory.zarr")
    assert dataset["encoding"].item() == "opposite-pair"
    assert all({"long_name", "units"} <= set(dataset[name].attrs) for name in dataset.variables)
    assert theory_figure_names(found.kind) == ("landscapes",) == tuple(tables)


def test_what_is_lost_or_absent_is_named(computed, tmp_path):
    found, folder, _ = computed
    with pytest.raises(StoreError, match=r"theory\.zarr"):
        read_entry(found.kind, tmp_path / "theory.zarr")
    victim = next(path for path in (folder / "theory.zarr" / "risk" / "c").rglob("*") if path.is_file())
    content = victim.read_bytes()
    victim.unlink()
    try:
        assert "is lost or damaged" in stale(folder, entry_fingerprint(found))
        with pytest.raises(StoreError, match="lost or damaged"):
            read_entry(found.kind, folder / "theory.zarr")
    finally:
        victim.write_bytes(content)


def test_a_file_in_the_way_is_not_overwritten(tmp_path):
    (tmp_path / "theory.zarr").write_text("mine")
    found = entry(kind="phase-diagram", omega=0.5, a=1.0)
    with pytest.raises(StoreError, match="is not a folder"):
        compute_entry("t", found, "f", tmp_path / "theory.zarr", tmp_path / "tables")
    assert (tmp_path / "theory.zarr").read_text() == "mine"
