"""`ssi`: the command line. Every subcommand answers in words, or with --json in one JSON object on standard output."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

import click

from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.environment import extend_search_path
from ssi_kernels.execute.exits import BAD_INPUT, one_line_errors
from ssi_kernels.execute.failures import describe, read_failures
from ssi_kernels.execute.one_point import recovery_of
from ssi_kernels.execute.plan import Plan, choose_point, plan_sweep
from ssi_kernels.execute.progress import duration
from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.status import Counts, count
from ssi_kernels.sweep import analyses, load_config

FILE = click.argument("file", type=click.Path(path_type=Path))
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
RESULTS = click.option("--results", type=click.Path(path_type=Path), help="Results folder, instead of the file's.")
_PLANNED = ("points", "missing", "steps", "estimated_seconds", "estimated_bytes")
_SHOWN = 20
SWEEP = click.option("--sweep", "only", help="Only this sweep; without it all of the file.")


def main() -> None:
    """Entry point: expected errors are one line on standard error."""
    extend_search_path()
    with one_line_errors():
        try:
            sys.exit(cli.main(prog_name="ssi", standalone_mode=False))
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(BAD_INPUT)
        except click.ClickException as error:
            click.echo(f"ssi: {error.format_message()}", err=True)
            sys.exit(BAD_INPUT)
        except click.Abort:
            raise KeyboardInterrupt from None


@click.group()
def cli() -> None:
    """Sweeps of one-pass SGD: check, plan, simulate one point, look at the state, draw what is there."""


@cli.command()
@FILE
@JSON
def validate(file: Path, as_json: bool) -> None:
    """Check a configuration FILE strictly, including every point of every sweep."""
    sweeps = place(load_config(file))
    points = sum(len(placed.grid.points) for placed in sweeps.values())
    answer = {"valid": True, "sweeps": list(sweeps), "points": points}
    _answer(as_json, answer, lambda: f"{file}: valid: {points} points in {len(sweeps)} sweeps")


@cli.command()
@FILE
@SWEEP
@RESULTS
@JSON
def plan(file: Path, only: str | None, results: Path | None, as_json: bool) -> None:
    """What a run of FILE would do, and why; simulates nothing.

    `steps` counts lane-steps (steps of one replica); `estimated_seconds` is for one CPU core.
    """
    sweeps = _chosen(file, only, results)
    index = next(iter(sweeps.values())).index()
    plans = {key: plan_sweep(placed, index) for key, placed in sweeps.items()}
    answer = {
        **{key: sum(getattr(part, key) for part in plans.values()) for key in _PLANNED},
        "reasons": [{"sweep": key, **reason} for key, part in plans.items() for reason in part.reasons],
        "sweeps": {key: {name: getattr(part, name) for name in _PLANNED} for key, part in plans.items()},
    }
    _answer(as_json, answer, lambda: "\n".join(_planned(key, part) for key, part in plans.items()))


@cli.command()
@FILE
@SWEEP
@RESULTS
@JSON
def status(file: Path, only: str | None, results: Path | None, as_json: bool) -> None:
    """What the store holds for FILE.

    Points are complete, missing or failed; the replicas of complete points are recovered, censored or diverged
    at the first threshold.
    """
    sweeps = _chosen(file, only, results)
    index = next(iter(sweeps.values())).index()
    parts = {key: count(placed, index) for key, placed in sweeps.items()}
    total = asdict(sum(parts.values(), Counts()))
    answer = {**total, "sweeps": {key: asdict(part) for key, part in parts.items()}}
    _answer(as_json, answer, lambda: "\n".join(f"{key}: {_counted(part)}" for key, part in parts.items()))


@cli.command()
@FILE
@click.option("--sweep", "name", required=True, help="The sweep that has the point.")
@click.option("--point", "coordinates", multiple=True, metavar="KEY=VALUE", help="One axis; repeat for others.")
@JSON
def simulate(file: Path, name: str, coordinates: tuple[str, ...], as_json: bool) -> None:
    """Run one grid point of FILE in this process: no Ray, no Snakemake, nothing stored.

    `recovery` lists the replicas at the first threshold, `thresholds` those at every threshold; `m` and `e`
    are the last recorded overlaps.
    """
    placed = _chosen(file, name, None)[name]
    point = choose_point(placed.grid, _coordinates(coordinates))
    answer = {"sweep": name, "coords": dict(point.coords), **recovery_of(placed, point)}
    _answer(as_json, answer, lambda: _simulated(answer))


@cli.command()
@FILE
@SWEEP
@RESULTS
@JSON
def report(file: Path, only: str | None, results: Path | None, as_json: bool) -> None:
    """Datasets, tables, figures and page of FILE from what the store holds, even where points are missing or failed."""
    pages = {key: _report_one(placed) for key, placed in _chosen(file, only, results).items()}
    _answer(as_json, {"sweeps": pages}, lambda: "\n".join(f"{key}: {_reported(page)}" for key, page in pages.items()))


def _report_one(placed: PlacedSweep) -> dict:
    """Everything that follows the simulation, for one sweep."""
    from ssi_kernels.reduce import reduce_sweep
    from ssi_kernels.report import draw_figures, write_report
    from ssi_kernels.store import consolidate

    wanted = analyses(placed.sweep)
    failures = {key: failure.reason for key, failure in read_failures(placed.folder).items()}
    built = consolidate(placed.sweep, placed.grid, placed.store, placed.folder, failures)
    reduce_sweep(placed.recovery, placed.trajectories, placed.tables, wanted)
    draw_figures(placed.recovery, placed.trajectories, placed.tables, placed.figures, wanted)
    page = write_report(placed.name, placed.recovery, placed.tables, placed.figures, wanted, placed.page)
    counts = {"complete": built.complete, "missing": built.missing, "failed": built.failed}
    return {**counts, "damaged": list(built.damaged), "page": str(page)}


def _reported(page: Mapping) -> str:
    return f"{page['complete']} points complete, {page['missing']} missing, {page['failed']} failed: {page['page']}"


def _coordinates(written: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE pairs as a mapping."""
    pairs = dict(pair.partition("=")[::2] for pair in written)
    for pair in written:
        if "=" not in pair:
            raise ConfigError("--point", pair, "must be KEY=VALUE, such as omega=0.5")
    return pairs


def _simulated(answer: Mapping) -> str:
    lines = [describe(answer["coords"])]
    for run in answer["recovery"]:
        step = "" if run["step"] is None else f" at step {run['step']}"
        lines.append(f"  replica {run['replica']}: {run['outcome']}{step}, m = {run['m']}, e = {run['e']}")
    return "\n".join(lines)


def _chosen(file: Path, only: str | None, results: Path | None) -> dict[str, PlacedSweep]:
    """The sweeps of a file, or the one that was asked for."""
    sweeps = place(load_config(file), results)
    if only is None:
        return sweeps
    if only not in sweeps:
        raise ConfigError("--sweep", only, f"is not in {file}; it has {', '.join(sweeps)}")
    return {only: sweeps[only]}


def _planned(name: str, part: Plan) -> str:
    lines = [
        f"{name}: {part.points} points, {part.missing} missing, {part.steps:.3g} lane-steps, "
        f"about {duration(part.estimated_seconds)} on one core, {part.estimated_bytes / 1e6:.3g} MB"
    ]
    lines += [f"  {describe(entry['coords'])}: {entry['reason']}" for entry in part.reasons[:_SHOWN]]
    if len(part.reasons) > _SHOWN:
        lines.append(f"  ... and {len(part.reasons) - _SHOWN} more (--json lists all)")
    return "\n".join(lines)


def _counted(part: Counts) -> str:
    return (
        f"{part.points} points: {part.complete} complete, {part.missing} missing, {part.failed} failed; "
        f"replicas: {part.recovered} recovered, {part.censored} censored, {part.diverged} diverged"
    )


def _answer(as_json: bool, answer: Mapping, text: Callable[[], str]) -> None:
    click.echo(json.dumps(_finite(answer), allow_nan=False) if as_json else text())


def _finite(value: object) -> object:
    """The value with every number that does not exist as None: JSON has no NaN."""
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
