"""The pages made from the configuration's models, and the configurations that come with the project."""

import json

import pytest
import yaml

from ssi_kernels.sweep import analyses, estimate, expand, load_config
from ssi_kernels.sweep.document import README, ROOT, SCHEMA, SECTIONS, readme, schema
from ssi_kernels.sweep.fields import Section

COMMAND = "run `python -m ssi_kernels.sweep.document`"


def test_the_pages_are_up_to_date():
    assert (ROOT / README).read_text(encoding="utf-8") == readme(), COMMAND
    assert (ROOT / SCHEMA).read_text(encoding="utf-8") == schema(), COMMAND


def test_every_key_is_explained():
    assert set(SECTIONS) == set(Section.__subclasses__())
    for section in SECTIONS:
        for key, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{key}"
            assert f"| `{key}` |" in readme()


def test_the_schema_refuses_unknown_keys():
    definitions = json.loads(schema())["$defs"]
    assert all(d["additionalProperties"] is False for d in definitions.values())


@pytest.mark.parametrize("name", ["quickstart", "smoke"])
def test_the_configurations_of_the_project(name):
    sweeps = load_config(ROOT / "config" / f"{name}.yaml").sweeps
    assert {key: analyses(sweep)[-1] for key, sweep in sweeps.items()} == {
        "transition": "phase",
        "scaling": "scaling",
        "gain": "gain",
    }


def test_the_theory_of_the_project():
    for name in ("smoke", "theory"):
        assert load_config(ROOT / "config" / f"{name}.yaml").theory


@pytest.mark.parametrize("name", ["quickstart", "smoke", "theory"])
def test_the_schema_accepts_the_configurations_of_the_project(name):
    jsonschema = pytest.importorskip("jsonschema")
    content = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(content, json.loads(schema()))


def test_the_smoke_sweeps_are_tiny():
    sweeps = load_config(ROOT / "config" / "smoke.yaml").sweeps.values()
    work = [(point, point.replicas, point.steps) for sweep in sweeps for point in expand(sweep).points]
    assert estimate(work).lane_steps < 100_000
