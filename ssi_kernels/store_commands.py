"""`ssi compact`, `ssi forget`, `ssi gc`, `ssi verify`: keeping a store in order."""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_kernels.answers import JSON, respond
from ssi_kernels.errors import ConfigError, StoreError
from ssi_kernels.execute import forgetting
from ssi_kernels.execute.failures import describe
from ssi_kernels.execute.plan import choose_points
from ssi_kernels.execute.request import PlacedSweep, place
from ssi_kernels.execute.verify import Verified
from ssi_kernels.execute.verify import verify as verified
from ssi_kernels.store import collection, compaction
from ssi_kernels.sweep import load_config

if TYPE_CHECKING:
    from ssi_kernels.execute.forgetting import Forgotten
    from ssi_kernels.execute.recompute import Recomputed
    from ssi_kernels.store.collection import Litter
    from ssi_kernels.store.compaction import Compaction
    from ssi_kernels.store.location import Location
    from ssi_kernels.sweep import Grid

FILE = click.argument("file", type=click.Path(path_type=Path))
RESULTS = click.option("--results", type=click.Path(path_type=Path), help="Results folder, instead of the file's.")
_SHOWN = 20


@click.command()
@FILE
@RESULTS
@click.option("--dry-run", is_flag=True, help="Tell what would be done; change nothing.")
@JSON
def compact(file: Path, results: Path | None, dry_run: bool, as_json: bool) -> None:
    """Put the many small segments of FILE's store together into fewer. Results stay the same, to the bit.

    Safe at any moment. While others are at work in the store nothing is removed; the next compact does that.
    """
    store = _store(_placed([file], results))
    done = compaction.foresee(store) if dry_run else compaction.compact(store, _holder("compact"))
    respond(as_json, {"dry_run": dry_run, **asdict(done)}, lambda: _compacted(store, done, dry_run))


@click.command()
@FILE
@click.option("--sweep", "name", required=True, help="The sweep that has the points.")
@click.option("--point", "written", multiple=True, metavar="KEY=VALUE[,VALUE...]", help="Values of one axis; repeat.")
@RESULTS
@click.option("--yes", is_flag=True, help="Remove; without it only tell what would go.")
@JSON
def forget(file: Path, name: str, written: tuple[str, ...], results: Path | None, yes: bool, as_json: bool) -> None:
    """Remove points of a sweep of FILE from the store, so that the next run computes them again.

    Every point that matches the coordinates goes, with all its replicas and steps, for every sweep that has it.
    Axes that are not named match with all their values.
    """
    sweeps = _placed([file], results)
    if name not in sweeps:
        raise ConfigError("--sweep", name, f"is not a sweep of {file}; it has {', '.join(sweeps)}")
    placed = sweeps[name]
    points = choose_points(placed.grid, _values(placed.grid, written))
    if yes:
        done = forgetting.forget(placed, points, sweeps, _holder("forget"))
    else:
        done = forgetting.foresee(placed, points, sweeps)
    respond(as_json, {"sweep": name, "done": yes, **asdict(done)}, lambda: _forgotten(name, done, yes))


@click.command()
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@RESULTS
@click.option("--delete", is_flag=True, help="Remove; without it only tell what would go.")
@JSON
def gc(files: tuple[Path, ...], results: Path | None, delete: bool, as_json: bool) -> None:
    """Find what no sweep of any FILE uses: points of no grid, damaged segments set aside, files left half written.

    Replicas and steps beyond those that are asked for stay. Name every configuration that uses the store.
    """
    sweeps = _placed(files, results)
    store = _store(sweeps)
    used = {point.point_id for placed in sweeps.values() for point in placed.grid.points}
    litter = collection.collect(store, used, _holder("gc")) if delete else collection.litter_of(store, used)
    respond(as_json, _collected(litter, delete), lambda: _litter_words(store, litter, delete))


@click.command()
@FILE
@click.option("--sweep", "only", help="Only this sweep; without it all of the file.")
@RESULTS
@click.option("--sample", type=click.IntRange(min=0), default=5, show_default=True, help="Points to compute again.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which points these are.")
@JSON
def verify(file: Path, only: str | None, results: Path | None, sample: int, seed: int, as_json: bool) -> None:
    """Read again all that FILE uses of its store, compare its datasets, and compute some points again, bit for bit.

    Exit status 1 where anything is damaged or different.
    """
    sweeps = _placed([file], results)
    if only is not None and only not in sweeps:
        raise ConfigError("--sweep", only, f"is not a sweep of {file}; it has {', '.join(sweeps)}")
    found = verified({key: placed for key, placed in sweeps.items() if only in (None, key)}, sample, seed)
    answer = {"sound": found.is_sound, "sample": sample, "seed": seed, **asdict(found)}
    respond(as_json, answer, lambda: "\n".join(_verified(found)))
    if not found.is_sound:
        raise StoreError(f"{file}: {_unsound(found)}: see above, and docs/storage.md for what to do")


def _placed(files: Sequence[Path], results: Path | None) -> dict[str, PlacedSweep]:
    """The sweeps of configurations. Raises ConfigError where there is none."""
    sweeps = {}
    for file in files:
        for name, placed in place(load_config(file), results).items():
            sweeps[name if len(files) == 1 else f"{file}: {name}"] = placed
    if not sweeps:
        raise ConfigError("sweeps", ", ".join(map(str, files)), "has no sweep, and so no store")
    return sweeps


def _store(sweeps: Mapping[str, PlacedSweep]) -> Location:
    """The one store of these sweeps. Raises ConfigError where they have several."""
    stores = {str(placed.store.resolve()): placed.store for placed in sweeps.values()}
    if len(stores) > 1:
        raise ConfigError("store", sorted(stores), "the files have several stores: name files that share one")
    return next(iter(stores.values()))


def _holder(command: str) -> str:
    return f"ssi {command} (pid {os.getpid()} on {platform.node()})"


def _values(grid: Grid, written: tuple[str, ...]) -> dict[str, list[str]]:
    """Axes and the values of each. A name with commas in it is one value where the axis has it."""
    if not written:
        raise ConfigError("--point", None, "name at least one axis, such as omega=0.5")
    values = defaultdict(list)
    for pair in written:
        axis, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError("--point", pair, "must be KEY=VALUE, such as omega=0.5, or KEY=VALUE,VALUE")
        values[axis] += [text] if text in grid.axes.get(axis, ()) else text.split(",")
    return dict(values)


def _compacted(store: Location, done: Compaction, dry_run: bool) -> str:
    wrote, removed = ("would write", "would remove") if dry_run else ("wrote", "removed")
    before = f"{done.files_before} files, {_megabytes(done.bytes_before)}"
    after = f"{done.files_after} files" + ("" if done.bytes_after is None else f", {_megabytes(done.bytes_after)}")
    lines = [
        f"{store}: {before} before; {after} after",
        f"{wrote} {done.written} merged segments, {removed} {done.removed} that others hold as well",
    ]
    if done.busy:
        lines.append(f"nothing was removed: {done.busy}")
    return "\n".join([*lines, *done.damaged])


def _forgotten(name: str, done: Forgotten, yes: bool) -> str:
    verb = "removed" if yes else "would remove"
    lines = [
        f"sweep {name}: {verb} {done.stored} of {done.points} points, {done.replicas} replicas, "
        f"{_megabytes(done.bytes)}: {done.removed} segments as a whole, {done.rewritten} written again without them"
    ]
    if done.failures:
        lines.append(f"{verb} {done.failures} entries of failed.json")
    if done.also_in:
        lines.append(f"these points are also in {', '.join(done.also_in)}")
    lines.append("the next run computes them again" if yes else "nothing is removed yet: add --yes to do it")
    return "\n".join([*lines, *done.damaged])


def _collected(litter: Litter, delete: bool) -> dict:
    return {
        "deleted": delete,
        "points": len(litter.points),
        "removed": litter.whole,
        "rewritten": len(litter.cuts) - litter.whole,
        "bytes": litter.bytes,
        "unused": [{"coords": one.coords, "segments": one.segments, "bytes": one.bytes} for one in litter.points],
        "corrupt": list(litter.corrupt),
        "temporary": list(litter.temporary),
        "damaged": list(litter.damaged),
    }


def _litter_words(store: Location, litter: Litter, delete: bool) -> str:
    rewritten = len(litter.cuts) - litter.whole
    lines = [
        f"{store}: {'removed' if delete else 'unused'}: {len(litter.points)} points "
        f"({litter.whole} segments as a whole, {rewritten} written again without them), {len(litter.corrupt)} damaged "
        f"segments, {len(litter.temporary)} temporary files: {_megabytes(litter.bytes)}"
    ]
    lines += [f"  {describe(one.coords)}: {one.segments} segments, {one.bytes} bytes" for one in litter.points[:_SHOWN]]
    if len(litter.points) > _SHOWN:
        lines.append(f"  ... and {len(litter.points) - _SHOWN} more (--json lists all)")
    lines += [f"  {name}" for name in (*litter.corrupt, *litter.temporary)[:_SHOWN]]
    if not delete:
        lines.append("nothing is removed yet: add --delete to do it")
    return "\n".join([*lines, *litter.damaged])


def _verified(found: Verified) -> list[str]:
    lines = [f"{found.files} segments read, {_megabytes(found.bytes)}, {len(found.damaged)} damaged", *found.damaged]
    lines += [f"datasets of {name}: {state}" for name, state in found.datasets.items()]
    lines += found.differences[:_SHOWN]
    if len(found.differences) > _SHOWN:
        lines.append(f"... and {len(found.differences) - _SHOWN} more differences (--json lists all)")
    return lines + [line for one in found.recomputed for line in _recomputed(one)]


def _recomputed(one: Recomputed) -> list[str]:
    what = f"{one.sweep}: {describe(one.coords)}, replicas {one.replicas[0]}..{one.replicas[1] - 1}, {one.steps} steps"
    if one.skipped:
        return [f"{what}: not computed again: {one.skipped}"]
    told = ", ".join(f"{count} values of {name}" for name, count in one.arrays.items())
    lines = [f"{what}: computed again: {f'different: {told}' if told else 'equal to the bit'}"]
    lines += [f"  {key}: {then} when it was computed, {now} here" for key, (then, now) in one.elsewhere.items()]
    if one.arrays:
        points = " ".join(f"--point {axis}={value}" for axis, value in one.coords.items())
        lines += [f"  stored in {path}" for path in one.files]
        lines.append(f"  to have it computed anew: ssi forget FILE --sweep {one.sweep} {points} --yes")
    return lines


def _unsound(found: Verified) -> str:
    differing = sum(not one.is_equal for one in found.recomputed)
    parts = {"damaged segments": len(found.damaged), "differences in datasets": len(found.differences)}
    parts["points that differ when computed again"] = differing
    return ", ".join(f"{count} {what}" for what, count in parts.items() if count)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB"


COMMANDS = (compact, forget, gc, verify)
