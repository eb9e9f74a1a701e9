"""Reading configuration files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import yaml
from pydantic import ValidationError

from ssi_kernels.errors import ConfigError
from ssi_kernels.sweep import grid
from ssi_kernels.sweep.refusals import first_error
from ssi_kernels.sweep.spec import Config, Sweep
from ssi_kernels.sweep.theory_models import check_entry


def load_config(path: str | PathLike, overrides: Mapping | None = None) -> Config:
    """The configuration in a YAML file, with `overrides` merged into it, key by key, at any depth.

    Raises ConfigError for a file that cannot be read, a key that is there twice, and all that `parse_config` refuses.
    """
    return parse_config(merge(read_yaml(path), overrides or {}))


def parse_config(mapping: Mapping) -> Config:
    """A checked configuration: every key is known, and every point of every sweep and model of every entry is possible.

    Raises ConfigError, one line with the whole key path.
    """
    try:
        config = Config.model_validate(mapping)
    except ValidationError as error:
        raise first_error(error) from None
    for name, sweep in config.sweeps.items():
        try:
            grid.check(sweep)
        except ConfigError as error:
            raise error.within(f"sweeps.{name}") from None
    for name, entry in config.theory.items():
        try:
            check_entry(entry)
        except ConfigError as error:
            raise error.within(f"theory.{name}") from None
    return config


def effective(sweep: Sweep) -> dict:
    """The sweep as plain data, defaults written out; reading it again gives an equal sweep."""
    written = sweep.model_dump(mode="json", exclude_none=True)
    if sweep.grid.encoding is not None:
        del written["model"]["encoding"]
    return written


def read_yaml(path: str | PathLike) -> dict:
    """The mapping in a YAML file. Raises ConfigError where there is none, or where a key is there twice."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("config", str(path), f"cannot be read: {error}") from None
    try:
        root, content = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError("config", str(path), f"is not valid YAML: {error}") from None
    if root is not None:
        _check_distinct(root, "", set())
    if content is not None and not isinstance(content, dict):
        raise ConfigError("config", str(path), "must hold a mapping with the key sweeps or theory")
    return content or {}


def merge(base: Mapping, changes: Mapping) -> dict:
    """`base` with `changes` put in, key by key at any depth; both stay as they are."""
    merged = dict(base)
    for key, value in changes.items():
        deeper = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if deeper else value
    return merged


def _check_distinct(node: yaml.Node, path: str, seen: set[int]) -> None:
    """Raises ConfigError for a key that a mapping has twice: YAML would keep the last without a word."""
    if isinstance(node, yaml.ScalarNode) or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, entry in enumerate(node.value):
            _check_distinct(entry, f"{path}.{index}", seen)
        return
    lines: dict[str, int] = {}
    for key, entry in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        place = f"{path}.{name}".lstrip(".")
        if name in lines:
            shown = entry.value if isinstance(entry, yaml.ScalarNode) else "{...}"
            raise ConfigError(place, shown, f"is there twice, in lines {lines[name]} and {line}; keep one")
        lines[name] = line
        _check_distinct(entry, place, seen)
