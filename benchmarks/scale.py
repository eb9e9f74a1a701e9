"""How a sweep of many points fares, through the real snakemake: `python benchmarks/scale.py` (minutes; `--quick`).

A map over omega and a with tiny horizons, so that everything but the kernel is what takes the time. Writes
benchmarks/scale.json and, between its markers, the tables of docs/scale.md; `--page` does only that.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import yaml

from ssi_kernels.execute.cpus import usable_cpus
from ssi_kernels.execute.packing import SECONDS
from ssi_kernels.execute.request import place
from ssi_kernels.provenance import package_version
from ssi_kernels.reduce import figure_names, table_names
from ssi_kernels.store import SegmentIndex, read_segment
from ssi_kernels.sweep import analyses, load_config

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA, PAGE = HERE / "scale.json", ROOT / "docs" / "scale.md"
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
SSI = [sys.executable, "-c", "from ssi_kernels.cli import main; main()"]
STAGES = ("simulate", "consolidate", "tables", "figures", "report")
"""The rules of the workflow, each of which Snakemake itself measures."""


def write_config(folder: Path, side: int) -> Path:
    """A map of side x side points, 4 replicas of 200 steps each."""
    sweep = {
        "model": {
            "target": {"family": "positional-semantic"},
            "student": {"kind": "attention"},
            "encoding": "opposite-pair",
        },
        "grid": {
            "d": 100,
            "length": 2,
            "omega": {"start": 0.0, "stop": 1.0, "num": side},
            "a": {"start": 0.05, "stop": 2.0, "num": side},
        },
        "sgd": {"learning_rate": 0.3, "steps": 200, "replicas": 4, "start": {"m": 0.0, "e": 0.0}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({"sweeps": {"map": sweep}}))
    return path


def run(command: list[str], folder: Path) -> float:
    """Seconds of a command. Raises RuntimeError, with the end of what it said, where it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    began = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command}: status {done.returncode}: {done.stdout[-2000:]}")
    return time.perf_counter() - began


def snakemake(folder: Path) -> float:
    """Seconds of one call of Snakemake."""
    return run([*SNAKEMAKE, "--configfile", "config.yaml"], folder)


def measure(side: int, rounds: int) -> dict:
    """Every stage of a map of side x side points, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="scale", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        config = write_config(folder, side)
        plans = [run([*SSI, "plan", "config.yaml"], folder) for _ in range(1 + rounds)]
        whole = snakemake(folder)
        idle = [snakemake(folder) for _ in range(rounds)]
        status = [run([*SSI, "status", "config.yaml"], folder) for _ in range(rounds)]
        check_complete(folder, config)
        return {
            "points": side**2,
            "plan_first": plans[0],
            "plan": statistics.median(plans[1:]),
            "whole": whole,
            "stages": {stage: measured(folder / f"results/map/logs/{stage}.benchmark.tsv") for stage in STAGES},
            "nothing_to_do": statistics.median(idle),
            "status": statistics.median(status),
            "files": sum(path.is_file() for path in (folder / "results").rglob("*")),
            "megabytes": sum(p.stat().st_size for p in (folder / "results").rglob("*") if p.is_file()) / 1e6,
            **simulated(folder, config),
        }


def measured(record: Path) -> dict:
    """Seconds and most memory of one rule, from the file that Snakemake's `benchmark` writes."""
    with open(record, newline="") as file:
        (row,) = csv.DictReader(file, delimiter="\t")
    return {"seconds": float(row["s"]), "gigabytes": float(row["max_rss"]) / 1e3}


def check_complete(folder: Path, config: Path) -> None:
    """Every table and figure is there, the latter in three formats. Raises RuntimeError."""
    sweep = load_config(config).sweeps["map"]
    wanted = [f"tables/{name}.csv" for name in table_names(analyses(sweep))]
    wanted += [f"figures/{name}.{kind}" for name in figure_names(analyses(sweep)) for kind in ("png", "svg", "pdf")]
    lost = [name for name in wanted if not (folder / "results/map" / name).stat().st_size]
    if lost:
        raise RuntimeError(f"not drawn: {lost}")


def simulated(folder: Path, config: Path) -> dict:
    """What the simulation took beyond its kernels, from its log and from what the segments tell."""
    placed = place(load_config(config), folder / "results")["map"]
    index = SegmentIndex(placed.store)
    index.refresh()
    kernels = [read_segment(path, []).provenance["measured"]["seconds"] for path in index.headings()]
    began, ended = _times(placed.folder / "logs" / "simulate.log")
    points, workers = len(placed.grid.points), usable_cpus(2)
    wall = (ended - began).total_seconds()
    return {
        "tasks": len(kernels),
        "workers": workers,
        "simulation_seconds": wall,
        "kernel_seconds": sum(kernels),
        "longest_task_seconds": max(kernels),
        "milliseconds_beyond_kernels": 1e3 * (wall - sum(kernels) / workers) / points,
        "milliseconds_in_all": 1e3 * wall / points,
    }


def _times(log: Path) -> tuple[datetime, datetime]:
    """When Ray stood ready, and when everything was stored."""
    lines = log.read_text().splitlines()
    first = next(line for line in lines if " tasks on " in line)
    last = next(line for line in reversed(lines) if " points simulated, " in line)
    return tuple(datetime.fromisoformat(line[:19]) for line in (first, last))


def page(text: str, data: dict) -> str:
    """The page with its tables made from `data`. Raises ValueError where a marker is not there once."""
    for name, table in {"stages": stages_table(data), "simulation": simulation_table(data)}.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if len(pattern.findall(text)) != 1:
            raise ValueError(f"{PAGE}: the markers of {name} must be there once")
        text = pattern.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", text)
    return text


def stages_table(data: dict) -> str:
    """Seconds and memory of every stage, a column for each size."""
    runs = data["runs"]
    rows = [
        ("`ssi plan`, the first time (theory is computed)", [f"{r['plan_first']:.1f} s" for r in runs]),
        ("`ssi plan`, again", [f"{r['plan']:.1f} s" for r in runs]),
        *(
            (
                f"`{stage}`",
                [f"{r['stages'][stage]['seconds']:.0f} s, {r['stages'][stage]['gigabytes']:.1f} GB" for r in runs],
            )
            for stage in STAGES
        ),
        ("`snakemake`, all of it", [f"{r['whole']:.0f} s" for r in runs]),
        ("`snakemake` with nothing to do", [f"{r['nothing_to_do']:.1f} s" for r in runs]),
        ("`ssi status`", [f"{r['status']:.1f} s" for r in runs]),
        ("files in `results/`", [str(r["files"]) for r in runs]),
        ("size of `results/`", [f"{r['megabytes']:.0f} MB" for r in runs]),
    ]
    return _table(data, rows)


def simulation_table(data: dict) -> str:
    """Where the time of the simulation goes."""
    runs = data["runs"]
    rows = [
        ("tasks, each one segment", [str(r["tasks"]) for r in runs]),
        (f"kernels on {runs[0]['workers']} workers, in all", [f"{r['kernel_seconds']:.0f} s" for r in runs]),
        ("from Ray's start to the last point", [f"{r['simulation_seconds']:.0f} s" for r in runs]),
        ("a point, kernels included", [f"{r['milliseconds_in_all']:.2f} ms" for r in runs]),
        ("a point beyond its kernel", [f"{r['milliseconds_beyond_kernels']:.2f} ms" for r in runs]),
        ("kernel of the longest task, lost by a kill", [f"{r['longest_task_seconds']:.1f} s" for r in runs]),
    ]
    return _table(data, rows)


def _table(data: dict, rows: list[tuple[str, list[str]]]) -> str:
    heads = ["points", *(f"{r['points']:,}" for r in data["runs"])]
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *([name, *values] for name, values in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small map, once")
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--page", action="store_true", help="write the page from what was measured before")
    arguments = parser.parse_args()
    if not arguments.page:
        sides, rounds = ((8,), 1) if arguments.quick else ((100, 200), 3)
        runs = [measure(side, rounds) for side in sides]
        data = {"version": package_version(), "task_seconds": SECONDS, "runs": runs}
        arguments.out.write_text(json.dumps(data, indent=1) + "\n")
    if arguments.page or arguments.out == DATA:
        PAGE.write_text(page(PAGE.read_text(), json.loads(DATA.read_text())))


if __name__ == "__main__":
    main()
