# ruff: noqa: E501 - the lines of a page
"""docs/performance.md from the measurements: `python benchmarks/performance.py` (benchmarks/kernels.py calls it)."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS, GPU = HERE / "kernels.json", HERE / "gpu.json"
PAGE = HERE.parent / "docs" / "performance.md"
TARGETS = {
    "reduced, attention L = 2": 15_000,
    "reduced, attention L = 2, 16 lanes": 10_000,
    "reduced, tied ReLU L = 8": 8_000,
    "reduced, untied ReLU L = 8, joint norm": 8_000,
    "reduced, attention trace L = 8": 3_000,
    "full, one noise vector, attention L = 2": 60,
    "full, attention L = 2": 25,
}


def page(data: dict, gpu: dict | None) -> str:
    """The page as Markdown."""
    parts = [
        _head(data),
        _ratios(data),
        _pipeline(data),
        _scaling(data),
        _limit(data),
        (HERE / "tried.md").read_text(),
        _gpu(gpu),
    ]
    return "\n".join(part.strip() + "\n" for part in parts if part)


def _head(data: dict) -> str:
    versions, machine = data["versions"], data["machine"]
    yardstick = data["results"][data["yardstick"]]
    return f"""# Performance

<!-- Made by `python benchmarks/kernels.py` from benchmarks/kernels.json; edit benchmarks/performance.py, not this page. -->

A *lane-step* is one SGD step of one replica. The yardstick is the usual way, a PyTorch loop over samples
(`benchmarks/torch_loop.py`): {yardstick["median"]:,} steps/s here. Everything is timed in turn in one process on one core;
medians of {yardstick["rounds"]} rounds. {machine["cpu"]}, {machine["cores"]} cores, Python {versions["python"]},
jaxlib {versions["jaxlib"]}, PyTorch {versions["torch"]}, {data["date"]}. Again on your machine:

```
pip install -c constraints.txt '.[benchmark]'
python benchmarks/kernels.py
```
"""


def _ratios(data: dict) -> str:
    rows = [
        f"| {name} | {row['median']:,} | {row['ratio_to_pytorch']:,.0f} x | {target:,} x |"
        for name, target in TARGETS.items()
        for row in [data["results"][name]]
    ]
    table = "\n".join(rows)
    return f"""## One core, d = 1000

| work | lane-steps/s | against PyTorch | asked for |
|---|---|---|---|
{table}

64 lanes (replicas), or 16 where it says so and for the kernels that keep the weights. `full` draws all L d numbers of
a sample, `one noise vector` the L (r + 2) that matter and one vector of d.
"""


def _pipeline(data: dict) -> str:
    if "pipeline" not in data:
        return ""
    p = data["pipeline"]
    return f"""## The pipeline on {p["cores"]} cores

`snakemake --cores {p["cores"]}` on {p["points"]} points with {p["replicas"]} replicas each, {p["lane_steps"]:.3g} lane-steps, from a bare results
folder to the report, Ray's start and all compilations included: {p["seconds"]:,} s, {p["lane_steps_per_second"]:,} lane-steps/s,
**{p["ratio_to_pytorch"]:,.0f} x** the PyTorch loop timed before and after it (asked for: 25,000 x).
"""


def _scaling(data: dict) -> str:
    results = data["results"]
    speed = lambda name: 1e9 / results[name]["median"]  # noqa: E731
    base = speed("reduced, attention L = 2")
    by_d = "\n".join(
        f"| {name} | {speed(name):.1f} | {speed(name) / base - 1:+.1%} |" for name in results if name.startswith("d = ")
    )
    tied = {n: speed(f"tied ReLU L = {n}") for n in (1, 2, 4, 16, 32, 64)} | {8: speed("reduced, tied ReLU L = 8")}
    trace = {n: speed(f"attention trace L = {n}") for n in (16, 32, 64)} | {8: speed("reduced, attention trace L = 8")}
    row = lambda found: " | ".join(f"{found[n]:,.0f}" for n in sorted(found))  # noqa: E731
    memory = ", ".join(f"{value:,} MB after {name}" for name, value in data["peak_memory_megabytes"].items())
    own = speed("own model of docs/extending.md")
    return f"""## What the cost depends on

Not on d (attention, L = 2; nanoseconds per lane-step, and against d = 1000):

| d | ns | difference |
|---|---|---|
{by_d}

Linearly on L for students that see a sum (tied ReLU), by L^2 for attention, whose matrix has so many entries; ns per
lane-step:

| student | {" | ".join(f"L = {n}" for n in sorted(tied))} |
|---|{"---|" * len(tied)}
| tied ReLU | {row(tied)} |
| attention, trace | {" | ".join(f"{trace[n]:,.0f}" if n in trace else "" for n in sorted(tied))} |

Not on the horizon: peak memory of the process, {memory} (16 lanes, ten recordings).

A model of one's own, in a dozen lines with its gradient by autodiff ([extending.md](extending.md)): {own:.1f} ns,
{own / base:.2f} times the built-in attention. In float64 attention takes {speed("float64, attention L = 2"):.0f} ns.
"""


def _limit(data: dict) -> str:
    found = data["limits"]
    total = 1e9 / data["results"]["reduced, attention L = 2"]["median"]
    normals, operations = found["nanoseconds_of_normals"], found["operations"]
    rows = "\n".join(f"| {name} | {count} |" for name, count in operations.items())
    return f"""## Where the time goes, and how far it is to the limit

Attention, L = 2: {total:.1f} ns per lane-step. Its {found["normals_per_step"]} normals alone, drawn and added up in a loop without a step, take
{normals:.1f} ns ({found["normals_per_second"]:,} normals/s, the most that this core makes with this cipher): {normals / total:.0%} of the time. A kernel whose
steps cost nothing would be {total / normals:.1f} times as fast. The other {total - normals:.1f} ns are the step and the loop around it.

| part | operations per lane-step |
|---|---|
{rows}

Operations are counted in the program's own terms, before XLA simplifies: {sum(operations.values())} in {total:.1f} ns, eight lanes to a vector,
{sum(operations.values()) / total / 8:.1f} vector operations per nanosecond.
"""


def _gpu(gpu: dict | None) -> str:
    if gpu is None:
        return """## GPU

`python benchmarks/gpu.py` (under 5 minutes) compares the GPU kernel with stored trajectories of the CPU and measures it
at 10^2 to 10^6 lanes. It has not run on a GPU yet: none could be had. On CPUs the kernel is tested in Pallas'
interpreter, to the bit for most models, and lowered for CUDA (`tests/unit/kernels/test_pallas.py`).
"""
    rows = "\n".join(
        f"| {row['program']} | {row['lanes']:,} | {row.get('error') or format(row['median'], ',')} |"
        for row in gpu["speeds"]
    )
    right = [name for name, row in gpu["correctness"].items() if row.get("right")]
    return f"""## GPU

{gpu["model"]}, on {gpu["versions"]["device"]}, {gpu["date"]}. Against the CPU's trajectories: {len(right)} of {len(gpu["correctness"])} comparisons hold.

| program | lanes | lane-steps/s |
|---|---|---|
{rows}
"""


def write() -> None:
    """Writes docs/performance.md."""
    gpu = json.loads(GPU.read_text()) if GPU.exists() else None
    PAGE.write_text(page(json.loads(KERNELS.read_text()), gpu))


if __name__ == "__main__":
    write()
