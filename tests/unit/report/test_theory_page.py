"""Figures and pages of entries of theory, of fabricated datasets."""

import json

import numpy as np
import pytest
import xarray as xr
from reduce.theory_examples import diagram

from ssi_kernels.reduce.phase_theory import boundary_table, region_table
from ssi_kernels.report import draw_entry, write_entry_report
from ssi_kernels.report.landscapes import draw_landscapes
from ssi_kernels.report.phase_diagram import COLOURS, draw_phase_diagram
from ssi_kernels.report.theory_headline import theory_headlines
from ssi_kernels.store.whole import write_dataset

from .test_page import Page

pytestmark = pytest.mark.filterwarnings("error")
ATTRIBUTES = {"configuration": json.dumps({"theory": {"t": {"kind": "x"}}}), "package_version": "0.1.0"}


def landscapes(targets=("a <b>", "b$"), encodings=("none", "pair"), order=2.0):
    """Risks e^2 - m^2 + 5; without the pair there is no e."""
    grid = np.linspace(-1, 1, 9)
    e, m = np.meshgrid(grid, grid, indexing="ij")
    shape = len(targets), len(encodings)
    risk = np.broadcast_to(np.where(e**2 + m**2 <= 1, e**2 - m**2 + 5, np.nan), (*shape, 9, 9)).copy()
    paired = np.broadcast_to(np.array([name == "pair" for name in encodings]), shape)
    risk[~paired] = np.where(e == 0, risk[~paired], np.nan)
    axes, text = ("target", "encoding"), np.dtypes.StringDType()
    only = np.where(paired, 0.0, np.nan)
    numbers = {"risk_at_0": 5.0, "gradient_m": 0.0, "hessian_mm": -2.0, "information_exponent": 2.0, "flatness": 2.0}
    numbers |= {"escape_order": order, "direction_m": 1.0, "error": 1e-12}
    variables = {name: (axes, np.full(shape, value)) for name, value in numbers.items()}
    variables |= {name: (axes, only) for name in ("gradient_e", "hessian_em", "direction_e")}
    variables |= {"hessian_ee": (axes, 2 + only), "rank": (axes, paired.astype(int))}
    variables |= {"method": (axes, np.full(shape, "by hand", text)), "risk": ((*axes, "e", "m"), risk)}
    names = {"target": np.array(targets, text), "encoding": np.array(encodings, text)}
    return xr.Dataset(variables, {**names, "e": grid, "m": grid}, ATTRIBUTES)


DATASETS = {"phase-diagram": diagram().assign_attrs(ATTRIBUTES), "landscape": landscapes()}


@pytest.fixture(params=DATASETS)
def written(request, tmp_path):
    write_dataset(DATASETS[request.param], tmp_path / "theory.zarr", "f")
    return request.param, tmp_path


def test_page_and_figures(written):
    kind, folder = written
    files = draw_entry(kind, folder / "theory.zarr", folder / "figures")
    for paths in files.values():
        assert [path.suffix for path in paths] == [".png", ".svg", ".pdf"]
    out = write_entry_report("t", kind, folder / "theory.zarr", folder / "figures", folder / "r.html", "Words.")
    text = out.read_text()
    page = Page(text)
    assert {f"figure-{name}" for name in files} == set(page.ids)
    assert all(reference.startswith("data:image/") for reference in page.references)
    for part in ("Theory t", "Words.", "Tables", "Configuration", "Provenance"):
        assert part in page.text
    assert "Theory warns" not in text and "<b>a <b>" not in text


def test_figures_repeat_to_the_byte(written):
    kind, folder = written
    first, again = (draw_entry(kind, folder / "theory.zarr", folder / name) for name in ("one", "two"))
    for name, paths in first.items():
        for path, other in zip(paths, again[name], strict=True):
            assert path.read_bytes() == other.read_bytes(), path.name


def test_only_regimes_that_occur_are_named():
    figure = draw_phase_diagram(diagram(), boundary_table(diagram()))
    told = figure.axes[0].get_legend_handles_labels()[1]
    assert {"unique semantic", "global semantic", "unique positional", "mixed minimum"} <= set(told)
    assert len(told) == 3 + 1 + 3
    assert len(COLOURS) == 8 == len(set(COLOURS.values()))


@pytest.mark.parametrize("part", [{"a": [0]}, {"omega": [1]}, {"a": [0], "omega": [1]}])
def test_a_diagram_of_a_single_line_or_point(part):
    small = diagram().isel(part)
    draw_phase_diagram(small, boundary_table(small))


def test_a_panel_for_every_model():
    figure = draw_landscapes(landscapes())
    assert len(figure.axes) == 4
    assert ["a <b>\nnone", "a <b>\npair"] == [axes.get_title() for axes in figure.axes[:2]]
    assert "down at order 2" in figure.axes[1].get_xlabel() and "$R_{ee}$ = 2" in figure.axes[1].get_xlabel()
    assert "R_{ee}" not in figure.axes[0].get_xlabel()
    many = draw_landscapes(landscapes(targets=tuple("abcdefghij")))
    assert len([axes for axes in many.axes if axes.axison]) == 12


@pytest.mark.parametrize(("order", "arrows"), [(np.nan, 0), (1.0, 1), (2.0, 2)])
def test_arrows_where_the_risk_goes_down(order, arrows):
    figure = draw_landscapes(landscapes(targets=("a",), encodings=("pair",), order=order))
    assert sum(text.arrow_patch is not None for text in figure.axes[0].texts) == arrows


def test_the_results_in_words():
    tables = {"phase_boundaries": boundary_table(diagram()), "phase_regions": region_table(diagram())}
    regimes, last, first = theory_headlines("phase-diagram", tables)
    assert "Of 12 points of the plane: unique positional 41.7 %" in regimes and "mixed" in regimes
    assert last.startswith("<b>a = 1</b>: first direction turns positional at ω = 0.6")
    assert first.startswith("<b>a = 0.8</b>: ")


def test_landscapes_in_words():
    from ssi_kernels.reduce.landscapes import landscape_table

    sentences = theory_headlines("landscape", {"landscapes": landscape_table(landscapes())})
    assert len(sentences) == 4
    assert sentences[0] == (
        "<b>a &lt;b&gt;, none</b>: information exponent 2; the risk goes down first at order 2, along m (semantic)."
    )
    never = theory_headlines("landscape", {"landscapes": landscape_table(landscapes(order=np.nan))})
    assert "in no direction" in never[0]
