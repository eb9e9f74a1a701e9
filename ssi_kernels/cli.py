"""`ssi`: the command line. Every subcommand answers in words, or with --json in one JSON object on standard output."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ssi_kernels import store_commands
from ssi_kernels.answers import JSON, respond
from ssi_kernels.errors import ConfigError
from ssi_kernels.execute.environment import extend_search_path, prepare_theory
from ssi_kernels.execute.exits import BAD_INPUT, one_line_errors
from ssi_kernels.execute.failures import describe, read_failures
from ssi_kernels.execute.one_point import recovery_of
from ssi_kernels.execute.plan import Plan, choose_point, plan_sweep
from ssi_kernels.execute.progress import duration
from ssi_kernels.execute.request import PlacedSweep, common_index, place
from ssi_kernels.execute.status import Counts, PointState, look
from ssi_kernels.execute.theory_request import PlacedEntry, place_theory, state_line
from ssi_kernels.sweep import analyses, load_config
from ssi_kernels.theory_commands import COMMANDS

if TYPE_CHECKING:
    from ssi_kernels.reduce.foreseen import Warned
    from ssi_kernels.sweep import Point

FILE = click.argument("file", type=click.Path(path_type=Path))
RESULTS = click.option("--results", type=click.Path(path_type=Path), help="Results folder, instead of the file's.")
_PLANNED = ("points", "missing", "steps", "estimated_seconds", "estimated_bytes")
_SHOWN = 20
SWEEP = click.option("--sweep", "only", help="Only this sweep or entry of theory; without it all of the file.")


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
    sweeps, theory = _chosen(file, None, None)
    points = sum(len(placed.grid.points) for placed in sweeps.values())
    answer = {"valid": True, "sweeps": list(sweeps), "points": points, "theory": list(theory)}
    more = f", {len(theory)} entries of theory" if theory else ""
    respond(as_json, answer, lambda: f"{file}: valid: {points} points in {len(sweeps)} sweeps{more}")


@cli.command()
@FILE
@SWEEP
@RESULTS
@JSON
def plan(file: Path, only: str | None, results: Path | None, as_json: bool) -> None:
    """What a run of FILE would do, and why; simulates nothing.

    `steps` counts lane-steps (steps of one replica); `estimated_seconds` is for one CPU core. `warnings` tells of
    points that can never recover, or whose learning rate is too large. `theory` says of every entry why it must be
    computed, or null.
    """
    prepare_theory()
    from ssi_kernels.reduce.foreseen import foreseen

    sweeps, theory = _chosen(file, only, results)
    index = common_index(sweeps)
    warnings = {key: foreseen(placed.grid) for key, placed in sweeps.items()}
    plans = {key: plan_sweep(placed, index) for key, placed in sweeps.items()}
    answer = {
        **{key: sum(getattr(part, key) for part in plans.values()) for key in _PLANNED},
        "reasons": [{"sweep": key, **reason} for key, part in plans.items() for reason in part.reasons],
        "sweeps": {key: {name: getattr(part, name) for name in _PLANNED} for key, part in plans.items()},
        "warnings": [{"sweep": key, **asdict(warning)} for key, found in warnings.items() for warning in found],
        "theory": _lacking(theory),
    }
    lines = [_planned(key, part, warnings[key]) for key, part in plans.items()]
    respond(as_json, answer, lambda: _lines(lines, theory))


@cli.command()
@FILE
@SWEEP
@RESULTS
@click.option("--all", "everything", is_flag=True, help="List every point.")
@JSON
def status(file: Path, only: str | None, results: Path | None, everything: bool, as_json: bool) -> None:
    """What the store holds for FILE.

    Points are complete, missing or failed; the replicas of complete points are recovered, censored or diverged
    at the first threshold. `by_point` lists the points that are not complete or have diverged replicas, with --all
    every point. `theory` says of every entry why it must be computed, or null.
    """
    sweeps, theory = _chosen(file, only, results)
    index = common_index(sweeps)
    parts = {key: look(placed, index) for key, placed in sweeps.items()}
    total = asdict(sum((part.counts for part in parts.values()), Counts()))
    shown = {key: [one for one in part.points if everything or not one.is_ordinary] for key, part in parts.items()}
    answer = {
        **total,
        "sweeps": {key: asdict(part.counts) for key, part in parts.items()},
        "by_point": [{"sweep": key, **vars(one)} for key, points in shown.items() for one in points],
        "theory": _lacking(theory),
    }
    lines = [_stated(key, part.counts, shown[key]) for key, part in parts.items()]
    respond(as_json, answer, lambda: _lines(lines, theory))


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
    placed, point = _point(file, name, coordinates)
    answer = {"sweep": name, "coords": dict(point.coords), **recovery_of(placed, point)}
    respond(as_json, answer, lambda: _simulated(answer))


@cli.command()
@FILE
@click.option("--sweep", "name", required=True, help="The sweep that has the point.")
@click.option("--point", "coordinates", multiple=True, metavar="KEY=VALUE", help="One axis; repeat for others.")
@JSON
def flow(file: Path, name: str, coordinates: tuple[str, ...], as_json: bool) -> None:
    """The gradient flow that one grid point of FILE follows for large d, and when it recovers.

    From the point's exact start; from 1/sqrt(d) in the direction of escape where that is random or at 0.
    """
    prepare_theory()
    from ssi_kernels.theory.describe import flow_answer

    _, point = _point(file, name, coordinates)
    answer = {"sweep": name, "coords": dict(point.coords), **flow_answer(point)}
    respond(as_json, answer, lambda: _flowed(answer))


@cli.command()
@FILE
@SWEEP
@RESULTS
@JSON
def report(file: Path, only: str | None, results: Path | None, as_json: bool) -> None:
    """Datasets, tables, figures and page of FILE from what the store holds, even where points are missing or failed.

    Entries of theory are computed where they are not there yet.
    """
    prepare_theory()
    sweeps, theory = _chosen(file, only, results)
    pages = {key: _report_one(placed) for key, placed in sweeps.items()}
    computed = {key: _report_entry(placed) for key, placed in theory.items()}
    lines = [f"{key}: {_reported(page)}" for key, page in pages.items()]
    lines += [f"{key}: {page['page']}" for key, page in computed.items()]
    respond(as_json, {"sweeps": pages, "theory": computed}, lambda: "\n".join(lines))


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


def _report_entry(placed: PlacedEntry) -> dict:
    """Everything for one entry of theory."""
    from ssi_kernels.reduce import compute_entry
    from ssi_kernels.report import draw_entry, write_entry_report

    entry, dataset = placed.entry, placed.dataset
    if placed.lacking():
        compute_entry(placed.name, entry, placed.fingerprint, dataset, placed.tables)
    draw_entry(entry.kind, dataset, placed.figures)
    page = write_entry_report(placed.name, entry.kind, dataset, placed.figures, placed.page, entry.description)
    return {"page": str(page)}


def _lacking(theory: Mapping[str, PlacedEntry]) -> dict[str, str | None]:
    return {name: placed.lacking() for name, placed in theory.items()}


def _lines(sweeps: list[str], theory: Mapping[str, PlacedEntry]) -> str:
    """One line a sweep, then one an entry of theory."""
    return "\n".join([*sweeps, *(state_line(placed, placed.lacking()) for placed in theory.values())])


def _reported(page: Mapping) -> str:
    return f"{page['complete']} points complete, {page['missing']} missing, {page['failed']} failed: {page['page']}"


def _coordinates(written: tuple[str, ...]) -> dict[str, str]:
    """KEY=VALUE pairs as a mapping."""
    pairs = dict(pair.partition("=")[::2] for pair in written)
    for pair in written:
        if "=" not in pair:
            raise ConfigError("--point", pair, "must be KEY=VALUE, such as omega=0.5")
    return pairs


def _point(file: Path, name: str, coordinates: tuple[str, ...]) -> tuple[PlacedSweep, Point]:
    """The one point of a sweep that a command is about."""
    sweeps, _ = _chosen(file, name, None)
    if name not in sweeps:
        raise ConfigError("--sweep", name, "is an entry of theory: it has no points to run")
    return sweeps[name], choose_point(sweeps[name].grid, _coordinates(coordinates))


def _flowed(answer: Mapping) -> str:
    lines = [f"{describe(answer['coords'])}: learning rate {answer['learning_rate']:.4g}, {answer['verdict']}"]
    for found in answer["recovery"]:
        step = "does not recover" if found["step"] is None else f"recovers at step {found['step']:.6g}"
        lines.append(f"  threshold {found['threshold']}: {step}")
    return "\n".join([*lines, f"  ends at m = {answer['m'][-1]:.6g}"])


def _simulated(answer: Mapping) -> str:
    lines = [describe(answer["coords"])]
    for run in answer["recovery"]:
        step = "" if run["step"] is None else f" at step {run['step']}"
        lines.append(f"  replica {run['replica']}: {run['outcome']}{step}, m = {run['m']}, e = {run['e']}")
    return "\n".join(lines)


class _Chosen(NamedTuple):
    """What a command is about, by name."""

    sweeps: dict[str, PlacedSweep]
    theory: dict[str, PlacedEntry]


def _chosen(file: Path, only: str | None, results: Path | None) -> _Chosen:
    """All of a file, or the one that was asked for."""
    config = load_config(file)
    found = _Chosen(place(config, results), place_theory(config, results))
    if only is None:
        return found
    if not any(only in part for part in found):
        names = ", ".join(name for part in found for name in part)
        raise ConfigError("--sweep", only, f"is not in {file}; it has {names}")
    return _Chosen(*({name: placed for name, placed in part.items() if name == only} for part in found))


def _planned(name: str, part: Plan, warnings: Sequence[Warned]) -> str:
    lines = [
        f"{name}: {part.points} points, {part.missing} missing, {part.steps:.3g} lane-steps, "
        f"about {duration(part.estimated_seconds)} on one core, {part.estimated_bytes / 1e6:.3g} MB"
    ]
    lines += [f"  warning: {describe(found.coords)}: {found.words}" for found in warnings[:_SHOWN]]
    if len(warnings) > _SHOWN:
        lines.append(f"  ... and {len(warnings) - _SHOWN} more warnings (--json lists all)")
    lines += [f"  {describe(entry['coords'])}: {entry['reason']}" for entry in part.reasons[:_SHOWN]]
    if len(part.reasons) > _SHOWN:
        lines.append(f"  ... and {len(part.reasons) - _SHOWN} more (--json lists all)")
    return "\n".join(lines)


def _stated(name: str, counts: Counts, points: Sequence[PointState]) -> str:
    """The counts of a sweep, and its first points of which there is something to say."""
    lines = [f"{name}: {_counted(counts)}"]
    for one in points[:_SHOWN]:
        parts = [f"{one.state}: {one.reason}" if one.reason else one.state]
        parts += [f"{one.diverged} replicas diverged"] if one.diverged else []
        lines.append(f"  {describe(one.coords)}: {'; '.join(parts)}")
    if len(points) > _SHOWN:
        lines.append(f"  ... and {len(points) - _SHOWN} more points (--json lists all)")
    return "\n".join(lines)


def _counted(part: Counts) -> str:
    return (
        f"{part.points} points: {part.complete} complete, {part.missing} missing, {part.failed} failed; "
        f"replicas: {part.recovered} recovered, {part.censored} censored, {part.diverged} diverged"
    )


for command in (*COMMANDS, *store_commands.COMMANDS):
    cli.add_command(command)
