"""The pages made from the configuration's models: config/README.md and workflow/schemas/config.schema.json.

`python -m ssi_kernels.sweep.document` writes both; a test fails where they are out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ssi_kernels.sweep.axis import Range
from ssi_kernels.sweep.fields import Form, Section
from ssi_kernels.sweep.pieces import EncodingConfig, StartConfig, StudentConfig, TargetConfig
from ssi_kernels.sweep.rules import DimensionTable, PowerRule
from ssi_kernels.sweep.sections import (
    GridConfig,
    ModelConfig,
    RecordConfig,
    RecoveryConfig,
    ResourcesConfig,
    SgdConfig,
)
from ssi_kernels.sweep.spec import Config, Sweep
from ssi_kernels.sweep.theory_entries import LandscapeEntry, PhaseDiagramEntry

ROOT = Path(__file__).parents[2]
README = Path("config/README.md")
SCHEMA = Path("workflow/schemas/config.schema.json")

SECTIONS: tuple[type[Section], ...] = (
    Config,
    Sweep,
    ModelConfig,
    TargetConfig,
    StudentConfig,
    EncodingConfig,
    GridConfig,
    Range,
    SgdConfig,
    PowerRule,
    DimensionTable,
    StartConfig,
    RecordConfig,
    RecoveryConfig,
    ResourcesConfig,
    PhaseDiagramEntry,
    LandscapeEntry,
)

_INTRODUCTION = """\
# Configuration

<!-- Made by `python -m ssi_kernels.sweep.document`; edit the models in `ssi_kernels/sweep/`, not this page. -->

A file holds sweeps by name, entries of `theory` by name (computed without simulating), or both; the results of each go
to the folder of its name. `quickstart.yaml` is what runs when no other file is given, `smoke.yaml` is the same in tiny
form, and `theory.yaml` has the phase diagrams and landscapes of the paper.

* Every key is checked before anything runs. An unknown key is refused, and the nearest valid one is named; so is a key
  that is there twice.
* **Numbers** may be written in scientific notation (`3e5`), also where YAML reads that as text, and as arithmetic of
  numbers with `+ - * / **`, `sqrt` and `log` (`"1/sqrt(2)"`). Where a key takes *text in d and L*, the arithmetic may
  also use the dimension `d` and the length `L` (`"2/sqrt(d)"`).
* Numbers are the same when they agree in 12 significant digits: `0.30000000000000004` is `0.3`, and `64.0` is `64`.
  Where an integer is expected, `64.5` is refused.
* **Axes** of a grid are a number, a list, or a range with exact ends. Their order and repeated values do not matter.
* `learning_rate` and `steps` may follow the dimension, the length and the student: a **rule** of powers, a **table**
  by dimension, or a mapping from students (by name, else by kind) to any of these:
  `{tied: 0.1, untied: {coefficient: 0.1, length: 1}}`.
* Raising `replicas` or `steps` later keeps what is there and runs only what is new; any other change of `model`,
  `sgd`, `record` or `recovery.threshold` makes new points.
"""


def readme() -> str:
    """config/README.md: every key with its type, default and meaning."""
    return "\n".join([_INTRODUCTION, *(_section(section) for section in SECTIONS)])


def schema() -> str:
    """The JSON schema of a configuration file; it is looser than the checks of `parse_config`."""
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps(content, indent=2) + "\n"


def write(root: Path = ROOT) -> list[Path]:
    """Writes both pages below `root`; returns their paths."""
    for path, text in ((README, readme()), (SCHEMA, schema())):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return [root / README, root / SCHEMA]


def _section(section: type[Section]) -> str:
    title = f"`{section.place}`" if section.place else "The file"
    rows = [_row(key, field) for key, field in section.model_fields.items()]
    table = ["| key | type | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {title}", "", section.__doc__, "", *table, ""])


def _row(key: str, field: FieldInfo) -> str:
    cells = (f"`{key}`", _form(field), _default(field), field.description)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _form(field: FieldInfo) -> str:
    forms = [note.text for note in field.metadata if isinstance(note, Form)]
    return forms[-1] if forms else next(_forms(field.annotation))


def _forms(annotation: Any) -> Iterator[str]:
    """Words for an annotation, the most telling first: a Form inside it, the words of a Literal, its kind."""
    if isinstance(annotation, Form):
        yield annotation.text
    elif get_origin(annotation) is Literal:
        yield ", ".join(get_args(annotation))
    elif isinstance(annotation, type) and issubclass(annotation, Section):
        yield "mapping"
    elif annotation is str:
        yield "text"
    else:
        for part in reversed([*get_args(annotation), *getattr(annotation, "__metadata__", ())]):
            yield from _forms(part)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if isinstance(default, EncodingConfig):
        return "`none`"
    if isinstance(default, Section):
        given = default.model_dump(mode="json", exclude_unset=True)
        return f"`{_yaml(given)}`" if given else "see below"
    return "–" if default is None else f"`{_yaml(default)}`"


def _yaml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    return str(value)


if __name__ == "__main__":
    for written in write():
        print(written)
