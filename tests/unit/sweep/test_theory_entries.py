"""Entries of theory: how they are read and refused, and what makes them the same."""

import copy

import pytest

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import effective_entry, entry_fingerprint, parse_config
from ssi_kernels.sweep.theory_models import landscape_axes, landscape_models

from .example import mapping

DIAGRAM = {"kind": "phase-diagram", "omega": {"start": 0.4, "stop": 1, "num": 4}, "a": [0.8, 1]}
LANDSCAPE = {
    "kind": "landscape",
    "model": {"student": {"kind": "attention", "reduction": "trace"}},
    "length": 2,
    "target": [{"name": "b", "expression": "He2(z1) + He2(z2)"}, {"name": "a", "expression": "z1*z2"}],
    "encoding": ["none", {"name": "shifted", "pattern": "opposite-pair", "injected": [0.5, 0.5]}],
}


def entry(written, **changes):
    content = {**copy.deepcopy(written), **changes}
    return parse_config({"theory": {"t": {key: value for key, value in content.items() if value is not None}}}).theory[
        "t"
    ]


def refused(written, key, **changes):
    with pytest.raises(ConfigError) as caught:
        entry(written, **changes)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"theory.t{key}: "), line
    return line


def test_defaults():
    found = entry({"kind": "phase-diagram"})
    assert (found.omega[0], found.omega[-1], len(found.omega)) == (0, 1, 101)
    assert (found.a[0], found.a[-1], found.loss) == (0.7, 1, "squared")
    assert entry(LANDSCAPE).points == 81


def test_the_models_of_a_landscape():
    found = entry(LANDSCAPE, length=[2])
    assert landscape_axes(found) == {"length": (2,), "target": ("b", "a"), "encoding": ("none", "shifted")}
    models = landscape_models(found)
    assert [m.coords["target"] for m in models] == ["b", "b", "a", "a"]
    assert [m.model.rank(2) for m in models] == [0, 1, 0, 1]
    parameters = {
        "target": {"family": "positional-semantic"},
        "student": {"kind": "attention"},
        "encoding": "alternating",
    }
    swept = {"model": parameters, "target": None, "encoding": None, "omega": [0.2, 0.7], "a": 1}
    assert [m.model.target.omega for m in landscape_models(entry(LANDSCAPE, **swept))] == [0.2, 0.7]


@pytest.mark.parametrize(
    ("written", "key", "changes"),
    [
        (DIAGRAM, ".omegas", {"omegas": 1}),
        (DIAGRAM, ".kind", {"kind": "phase"}),
        (DIAGRAM, ".kind", {"kind": False}),
        (DIAGRAM, ".omega", {"omega": []}),
        (DIAGRAM, ".a", {"a": 0}),
        (DIAGRAM, ".loss", {"loss": "square"}),
        (DIAGRAM, "", {"omega": {"start": 0, "stop": 1, "num": 1000}, "a": {"start": 1, "stop": 2, "num": 1000}}),
        (LANDSCAPE, ".points", {"points": 80}),
        (LANDSCAPE, ".length", {"length": None}),
        (LANDSCAPE, ".sie", {"sie": 2}),
        (LANDSCAPE, ".model.target", {"target": None}),
        (LANDSCAPE, ".model.student", {"student": [{"name": "x", "kind": "tied"}]}),
        (LANDSCAPE, ".target.1.name", {"target": [{"name": "x", "expression": "z1"}] * 2}),
        (LANDSCAPE, ".encoding.shifted", {"length": 3}),
        (LANDSCAPE, ".target.x.expression", {"target": [{"name": "x", "expression": "z1*z3"}]}),
        (LANDSCAPE, ".model.student", {"model": {"student": {"kind": "attention"}}}),
        (LANDSCAPE, ".model.student", {"model": {"student": {"kind": "untied"}}, "encoding": None}),
        (LANDSCAPE, ".encoding.x", {"encoding": [{"name": "x", "pattern": [[1, 0], [0, 1]]}]}),
        (LANDSCAPE, ".model.loss", {"model": {"loss": "square", "student": {"kind": "tied"}}}),
    ],
)
def test_what_is_refused(written, key, changes):
    refused(written, key, **changes)


def test_the_nearest_key():
    assert "nearest valid key is omega" in refused(DIAGRAM, ".omegas", omegas=1)
    assert "nearest valid key is points" in refused(LANDSCAPE, ".point", point=1)
    with pytest.raises(ConfigError, match=r"nearest valid key is sweeps.<name>.grid.omega"):
        parse_config({**mapping(), "omega": 1})


@pytest.mark.parametrize("name", ["store", "report", "a b", ""])
def test_names(name):
    with pytest.raises(ConfigError, match=r"^theory: "):
        parse_config({"theory": {name: DIAGRAM}})


def test_a_name_may_not_be_that_of_a_sweep():
    with pytest.raises(ConfigError, match=r"^theory.t: .*name of a sweep"):
        parse_config({**mapping(), "theory": {"t": DIAGRAM}})


def test_a_file_may_have_either_or_both():
    assert parse_config({"theory": {"t": DIAGRAM}}).sweeps == {}
    assert parse_config({**mapping(), "theory": {"u": DIAGRAM}}).theory.keys() == {"u"}
    with pytest.raises(ConfigError, match=r"^sweeps: "):
        parse_config({"theory": {}})


def test_the_fingerprint_follows_the_content_only():
    same = [DIAGRAM, {**DIAGRAM, "a": ["1", 0.8, 0.8]}, {**DIAGRAM, "description": "x"}, {**DIAGRAM, "loss": "squared"}]
    assert len({entry_fingerprint(entry(written)) for written in same}) == 1
    assert "most with loss frobenius is 500" in refused(
        DIAGRAM, "", loss="frobenius", omega={"start": 0, "stop": 1, "num": 501}
    )
    others = [DIAGRAM, {**DIAGRAM, "loss": "frobenius"}, {**DIAGRAM, "a": 1}, LANDSCAPE, {**LANDSCAPE, "points": 5}]
    others.append({**LANDSCAPE, "encoding": ["none"]})
    assert len({entry_fingerprint(entry(written)) for written in others}) == len(others)


def test_another_version_of_the_package_is_another_fingerprint(monkeypatch):
    before = entry_fingerprint(entry(DIAGRAM))
    monkeypatch.setattr("ssi_kernels.sweep.theory_models.package_version", lambda: "99")
    assert entry_fingerprint(entry(DIAGRAM)) != before


@pytest.mark.parametrize("written", [DIAGRAM, LANDSCAPE])
def test_the_effective_entry_is_the_same_entry(written):
    found = entry(written)
    again = parse_config({"theory": {"t": effective_entry(found)}}).theory["t"]
    assert again == found and entry_fingerprint(again) == entry_fingerprint(found)
