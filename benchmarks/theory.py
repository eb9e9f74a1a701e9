# ruff: noqa: E501 - the lines of a page
"""How fast and how exact the theory is: `python benchmarks/theory.py` (minutes; `--quick` for a look).

One process on one core, medians of a few rounds, in benchmarks/theory.json. From it the tables of docs/theory.md,
between markers `<!-- begin NAME -->` and `<!-- end NAME -->`, are written again; `--page` does only that.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":  # before any library starts its threads
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

import ssi_kernels as ssi
from ssi_kernels.provenance import provenance
from ssi_kernels.theory import arc_table, product

HERE = Path(__file__).resolve().parent
DATA, PAGE = HERE / "theory.json", HERE.parent / "docs" / "theory.md"
PAIR = ssi.encodings.opposite_pair()
SIDES = {"paper": ((0.4, 1.0), (0.7, 1.0)), "unit square": ((0.0, 1.0), (0.0, 1.0))}
"""omega and a of the diagrams."""

POINTS = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (0.6, 0.8), (0.86, 0.51), (0.3, 0.2)]
STRENGTHS = [(0.3, 0.8), (0.6, 1.0), (0.9, 1.0)]
STARTS = [(0.1, 0.9), (0.9, 0.1), (0.6, 0.6), (0.05, 0.05)]
"""(e, m), (omega, a), and (e, m) to minimise from."""

RESOLUTIONS = {
    "Chebyshev nodes in e": {"nodes": 61},
    "Hermite degree": {"degree": 300},
    "nodes on the arc": {"arc_nodes": 129},
    "reach and step of the rule": {"rule": (16.0, 0.08)},
    "all of these": {"nodes": 61, "degree": 300, "arc_nodes": 129, "rule": (16.0, 0.08)},
}
COARSE = {"nodes": 9, "degree": 24, "arc_nodes": 17, "rule": (8.0, 0.4)}


def attention(omega: float, a: float, loss: str = "squared") -> ssi.Model:
    """The model of the phase diagram."""
    return ssi.Model(ssi.targets.positional_semantic(omega, a), ssi.students.attention(), PAIR, loss)


def scalar(text: str, student, encoding=None) -> ssi.Model:
    """A model with an expression as its target."""
    return ssi.Model(ssi.targets.expression(text), student, encoding or ssi.encodings.none())


# What is measured


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def summary(values: list[float]) -> dict:
    return {"median": _short(statistics.median(values)), "min": _short(min(values)), "rounds": len(values)}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def forget(keep: tuple[str, ...] = ()) -> None:
    """Empties the package's caches of theory, but for the functions named."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("ssi_kernels.theory.", "ssi_kernels.expressions")):
            for key, value in vars(module).items():
                if hasattr(value, "cache_clear") and key not in keep:
                    value.cache_clear()


def first_and_again(work: Callable[[], object], rounds: int) -> dict:
    """Seconds with empty caches, and of the call after it."""
    first, again = [], []
    for _ in range(rounds):
        forget()
        first.append(seconds(work))
        again.append(seconds(work))
    return {"first": summary(first), "again": summary(again)}


def diagrams(names: list[str], side: int, rounds: int) -> dict:
    """Of each diagram: a first call in a new process, with the table but no boundaries known, and again."""
    found = {}
    for name in names:
        work = diagram(name, side)
        work()
        known, again = [], []
        for _ in range(rounds):
            forget(keep=("arc_table", "_scanned"))
            known.append(seconds(work))
            again.append(seconds(work))
        cold = [_cold(name, side) for _ in range(rounds)]
        parts = {"cold": cold, "table known": known, "again": again}
        found[name] = {"side": side} | {key: summary(values) for key, values in parts.items()}
    return found


def diagram(name: str, side: int) -> Callable[[], object]:
    omega, a = (np.linspace(*ends, side) for ends in SIDES[name])
    return lambda: ssi.theory.phase_diagram(omega, a)


def _cold(name: str, side: int) -> float:
    """Seconds of the first call after the import, in a process of its own on the same core."""
    asked = [sys.executable, __file__, "--cold", name, "--side", str(side)]
    return float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


class GaussHermite:
    """The risk by the usual product rule over (z*, xi), four dimensions; `evaluations` counts risks."""

    def __init__(self, points: int):
        x, w = np.polynomial.hermite_e.hermegauss(points)
        self.z = np.stack(np.meshgrid(*[x] * 4, indexing="ij")).reshape(4, -1)
        self.weights = np.prod(np.meshgrid(*[w / w.sum()] * 4, indexing="ij"), axis=0).ravel()
        self.semantic = _affinity(self.z[:2])
        self.evaluations = 0

    def risk(self, e: float, m: float, omega: float, a: float) -> float:
        self.evaluations += 1
        fields = m * self.z[:2] + np.sqrt(max(0.0, 1 - m * m)) * self.z[2:] + np.array([[e], [-e]])
        label = (1 - omega) * self.semantic + omega * _affinity(np.array([[a], [-a]]))
        return float(self.weights @ ((label - _affinity(fields)) ** 2).sum(axis=(0, 1)))


def _affinity(z: np.ndarray) -> np.ndarray:
    """Row-wise softmax of z z^T, shape (2, 2, n)."""
    logits = z[:, None] * z[None]
    grown = np.exp(logits - logits.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def product_rule(points: int, cells: int, rounds: int) -> dict:
    """One risk, the minimisation at one (omega, a), a whole diagram at that price, and how wrong the risk is."""
    rule = GaussHermite(points)
    one = summary([seconds(lambda: rule.risk(0.3, 0.4, 0.6, 1.0)) for _ in range(4 * rounds)])
    rule.evaluations = 0
    took = seconds(lambda: minima_by_search(rule, 0.6, 1.0))
    risks = rule.evaluations
    errors = np.array([abs(rule_error(rule, *x, *y)) for x in POINTS for y in STRENGTHS])
    return {
        "points_per_axis": points,
        "nodes": points**4,
        "seconds": one,
        "minimisation": {"starts": len(STARTS), "risks": risks, "seconds": _short(took)},
        "diagram_seconds": _short(took * cells),
        "errors": {"points": errors.size, "median": _short(np.median(errors)), "max": _short(errors.max())},
    }


def minima_by_search(rule: GaussHermite, omega: float, a: float) -> list[np.ndarray]:
    """Minima on the quarter disc as one would look for them: SLSQP from a few starts."""
    from scipy.optimize import minimize

    inside = {"type": "ineq", "fun": lambda x: 1 - x @ x}
    options = dict(method="SLSQP", bounds=[(0, 1), (0, 1)], constraints=[inside])
    return [minimize(lambda x: rule.risk(*x, omega, a), start, **options).x for start in STARTS]


def rule_error(rule: GaussHermite, e: float, m: float, omega: float, a: float) -> float:
    return rule.risk(e, m, omega, a) - float(ssi.theory.risk(attention(omega, a), e=e, m=m))


def boundaries(quick: bool) -> dict:
    """At a = 1, and by how much they move when resolutions are changed."""
    forget()
    found = lines()
    chosen = {name: RESOLUTIONS[name] for name in RESOLUTIONS if not quick or name == "all of these"}
    changes = [{"changed": name, **changed, "change": _moved(found, changed)} for name, changed in chosen.items()]
    return {"a": 1.0, "found": found, "changes": changes, "coarse": COARSE | {"change": _moved(found, COARSE)}}


def lines() -> dict[str, float]:
    return ssi.theory.boundaries(1.0).as_dict()


def _moved(found: dict[str, float], changed: dict) -> float:
    with resolution(**changed):
        other = lines()
    return _short(max(abs(other[name] - found[name]) for name in found))


@contextmanager
def resolution(nodes=None, arc_nodes=None, degree=None, rule=None) -> Iterator[None]:
    """Other constants of the table, None for those of the package."""
    saved = arc_table._NODES, arc_table._ARC_NODES, product.DEGREES[2], product._RULES[2]
    wanted = [new if new is not None else old for new, old in zip((nodes, arc_nodes, degree, rule), saved, strict=True)]
    try:
        _set_resolution(*wanted)
        yield
    finally:
        _set_resolution(*saved)


def _set_resolution(nodes, arc_nodes, degree, rule) -> None:
    arc_table._NODES, arc_table._ARC_NODES, product.DEGREES[2], product._RULES[2] = nodes, arc_nodes, degree, rule
    forget()


EXPRESSIONS = {
    "He4(z1) + 2*He4(z2)": 2,
    "z1*z2*z3": 3,
    "He1(z1)*He4(z2) + He2(z3)*He2(z4)": 4,
    "tanh(z1)*z2": 2,
    "sum(He2(z))/sqrt(2)": 64,
    "z1*prod(1 + z)": 20,
}
SQUARES, TRACE = "sum(He2(z))/sqrt(2)", ssi.students.attention("trace")
QUICK_MODELS = ("attention identity, positional-semantic, L = 2", "tied ReLU, L = 8")


def models() -> dict[str, tuple[ssi.Model, int]]:
    """Name -> model and length."""
    alternating = ssi.Model(
        ssi.targets.positional_semantic(0.5, 1.0), ssi.students.attention(), ssi.encodings.alternating()
    )
    return {
        "attention identity, positional-semantic, L = 2": (attention(0.5, 1.0), 2),
        "attention trace, polynomial, L = 2": (scalar(SQUARES, TRACE), 2),
        "attention trace, polynomial, L = 3": (scalar(SQUARES, TRACE), 3),
        "attention trace, polynomial, L = 4": (scalar(SQUARES, TRACE), 4),
        "attention trace, polynomial, L = 8": (scalar(SQUARES, TRACE), 8),
        "attention identity, positional-semantic, L = 3": (alternating, 3),
        "attention identity, `frobenius`, L = 2": (attention(0.5, 1.0, "frobenius"), 2),
        "tied ReLU, L = 8": (scalar(SQUARES, ssi.students.tied("relu")), 8),
        "untied ReLU, L = 8": (scalar(SQUARES, ssi.students.untied("relu")), 8),
    }


def risks(quick: bool) -> dict:
    """Per model: method, estimated error, seconds of a first risk and of a hundred more."""
    found = {}
    for name, (model, length) in models().items():
        if quick and name not in QUICK_MODELS:
            continue
        forget()
        few = np.full(1, 0.3), np.full(100, 0.3)
        work = [lambda m=m: ssi.theory.risk(model, m=m, length=length) for m in few]  # noqa: B023
        times = {"first": _short(seconds(work[0])), "again": _short(seconds(work[1]))}
        surface = ssi.theory.landscape(model, length)
        found[name] = {"method": surface.method, "error": _short(surface.error), **times}
    return found


def flows(quick: bool) -> dict:
    """Per model: seconds of a first flow, which compiles, and of another."""
    found = {}
    for name in QUICK_MODELS[1 if quick else 0 :]:
        model, length = models()[name]
        e0 = 0.03 if model.rank(length) else None
        ask = dict(d=1000, learning_rate=0.05, steps=300_000, m0=0.03, e0=e0, length=length)
        found[name] = first_and_again(lambda: ssi.theory.flow(model, **ask), 1)  # noqa: B023
    return found


def gains(lengths: tuple[int, ...]) -> list[dict]:
    """The gain at each student's best rate, and the noise bound of the tied one."""
    tied, untied = scalar(SQUARES, ssi.students.tied("relu")), scalar(SQUARES, ssi.students.untied("relu"))
    rows = []
    for length in lengths:
        best = ssi.theory.predicted_gain(tied, untied, d=1000, length=length)
        rates = {"tied_rate": best.tied_rate, "untied_rate": best.untied_rate}
        row = {"gain": best.gain, **rates, "bound": ssi.theory.noise_bound(tied, length, 1000)}
        rows.append({"length": length} | {key: _short(value) for key, value in row.items()})
    return rows


def bounds() -> list[dict]:
    """The noise bound of a tied student h_k on its own target, L = 1, by k and d."""
    rows = []
    for k in (1, 2, 3, 4):
        model = ssi.Model(ssi.targets.hermite(k), ssi.students.tied(f"h{k}"))
        found = {str(d): _short(ssi.theory.noise_bound(model, 1, d)) for d in (100, 1000, 10_000)}
        rows.append({"sie": k, "bounds": found})
    return rows


def verdict_models() -> dict[str, ssi.Model]:
    """Examples at L = 2."""
    tied, untied = ssi.students.tied, ssi.students.untied
    difference, squares = "z1 - z2", "(z1**2 - z2**2)/sqrt(2)"
    fourth = "4/3 + He4(z1) + 2*He4(z2)"
    return {
        "ReLU, target of SIE 3": ssi.Model(ssi.targets.hermite(3), tied("relu")),
        "tied ReLU, z1 - z2": scalar(difference, tied("relu")),
        "untied ReLU, z1 - z2": scalar(difference, untied("relu")),
        "tied ReLU, (z1^2 - z2^2)/√2": scalar(squares, tied("relu")),
        "untied ReLU, (z1^2 - z2^2)/√2": scalar(squares, untied("relu")),
        "attention trace, He3(z1) + He3(z2)": scalar("sum(He3(z))", TRACE),
        "the same, shift (0.5, 0.5) injected": scalar("sum(He3(z))", TRACE, ssi.encodings.injected([0.5, 0.5])),
        "attention trace, He4(z1) + He4(z2)": scalar("sum(He4(z))", TRACE),
        "attention trace, -He4(z1) - He4(z2)": scalar("-sum(He4(z))", TRACE),
        "attention trace, 4/3 + He4(z1) + 2 He4(z2)": scalar(fourth, TRACE),
        "the same, opposite pair": scalar(fourth, TRACE, PAIR),
    }


def verdicts() -> list[dict]:
    """Learnability, SIE, flatness and escape order of the examples."""
    rows = []
    for name, model in verdict_models().items():
        seen, left = ssi.theory.learnability(model, 2), ssi.theory.escape(model, 2)
        exponent = {"sie": ssi.theory.sie(model.target, 2), "flatness": left.flatness, "order": left.order}
        rows.append({"model": name, "verdict": seen.verdict, "reason": seen.reason, **exponent})
    return rows


def measure(quick: bool, rounds: int) -> dict:
    """Everything."""
    side = 20 if quick else 200
    return {
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": provenance(),
        "date": time.strftime("%Y-%m-%d"),
        "diagrams": diagrams([*SIDES][: 1 if quick else None], side, rounds),
        "product_rule": product_rule(5 if quick else 19, side**2, rounds),
        "boundaries": boundaries(quick),
        "sie": {text: first_and_again(lambda: ssi.theory.sie(text, n), rounds) for text, n in EXPRESSIONS.items()},  # noqa: B023
        "risk": risks(quick),
        "flow": flows(quick),
        "gains": gains(() if quick else (2, 4, 8)),
        "bounds": bounds(),
        "verdicts": verdicts(),
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


# The page


def page(text: str, data: dict) -> str:
    """The text of the page with its tables made from the data."""
    for name, make in TABLES.items():
        pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: found[1] + make(data) + found[2], text)  # noqa: B023
        if count != 1:
            raise ValueError(f"{PAGE}: the markers of {name} must be there once")
    return text


def table(heads: str, rows: Iterator[list[str]]) -> str:
    count = heads.count("|") + 1
    lines = [f"| {heads} |", "|" + "---|" * count, *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def errors_table(data: dict) -> str:
    rows = (
        [name, row["method"], f"{row['error']:.0e}", duration(row["first"]), duration(row["again"])]
        for name, row in data["risk"].items()
    )
    return table("model | method | error of R, estimated | first risk | 100 more", rows)


def verdict_table(data: dict) -> str:
    rows = (
        [row["model"], *(_whole(row[key]) for key in ("sie", "flatness", "order")), f"**{row['verdict']}**"]
        for row in data["verdicts"]
    )
    return table("model (L = 2) | SIE | flatness | escape order | verdict", rows)


def _whole(value: int | None) -> str:
    return "" if value is None else str(value)


def bound_table(data: dict) -> str:
    dimensions = list(data["bounds"][0]["bounds"])
    rows = ([str(row["sie"]), *(f"{row['bounds'][d]:.3g}" for d in dimensions)] for row in data["bounds"])
    return table("SIE | " + " | ".join(f"d = {int(d):,}" for d in dimensions), rows)


def gain_table(data: dict) -> str:
    keys = ("gain", "tied_rate", "untied_rate", "bound")
    rows = ([str(row["length"]), *(f"{row[key]:.3g}" for key in keys)] for row in data["gains"])
    return table("L | gain | best rate, tied | best rate, untied | noise bound, tied", rows)


BOUNDARY_WORDS = {
    "positional_appears": "a positional minimum appears",
    "dynamics": "the steepest direction at 0 becomes positional",
    "global": "the positional minimum becomes the lowest",
    "semantic_disappears": "the semantic minimum disappears",
}


def boundary_table(data: dict) -> str:
    found = data["boundaries"]["found"]
    return table("at a = 1 | ω", ([words, f"{found[key]:.10f}"] for key, words in BOUNDARY_WORDS.items()))


def resolution_table(data: dict) -> str:
    found = data["boundaries"]
    rows = [[row["changed"], _values(row), f"{row['change']:.0e}"] for row in found["changes"]]
    coarse = ["a coarse table, for comparison", _values(found["coarse"]), f"{found['coarse']['change']:.0e}"]
    return table("changed | to | largest change of a boundary", [*rows, coarse])


def _values(row: dict) -> str:
    keys = (key for key in ("nodes", "degree", "arc_nodes", "rule") if key in row)
    return "; ".join(" and ".join(map(str, row[key])) if key == "rule" else str(row[key]) for key in keys)


def times_table(data: dict) -> str:
    side = data["diagrams"]["paper"]["side"]
    kinds = ("cold", "table known", "again")
    rows = [
        [f"phase diagram, {side} x {side}, {name}", *(duration(found[kind]["median"]) for kind in kinds)]
        for name, found in data["diagrams"].items()
    ]
    rows += [
        [f"{what} {name}", duration(found["first"]["median"]), "", duration(found["again"]["median"])]
        for what, parts in (("SIE of", _coded(data["sie"])), ("flow of", data["flow"]))
        for name, found in parts.items()
    ]
    return table("work | first | table known | again", rows)


def _coded(parts: dict) -> dict:
    return {f"`{name}`, L = {EXPRESSIONS[name]}": value for name, value in parts.items()}


def product_text(data: dict) -> str:
    rule, ours = data["product_rule"], data["diagrams"]["paper"]
    search, errors = rule["minimisation"], rule["errors"]
    return f"""A four-dimensional Gauss-Hermite rule over (z\\*, ξ) with {rule["points_per_axis"]} points per axis ({rule["nodes"]:,} nodes) takes {duration(rule["seconds"]["median"])} for one
risk. Looking for the minima at one (ω, a) from {search["starts"]} starts takes {search["risks"]} risks, {duration(search["seconds"])}; the {ours["side"]} x {ours["side"]} diagram at
this price {duration(rule["diagram_seconds"])}, against {duration(ours["cold"]["median"])} here. At {errors["points"]} points its risk is wrong by {errors["median"]:.0e} (median), at most {errors["max"]:.0e}.
"""


def machine_text(data: dict) -> str:
    versions = data["versions"]
    rounds = data["diagrams"]["paper"]["cold"]["rounds"]
    return f"""One process on one core, medians of {rounds} rounds. {data["machine"]["cpu"]}, {data["machine"]["cores"]} cores, Python {versions["python"]}, jaxlib {versions["jaxlib"]}, {data["date"]}.
"""


def duration(value: float) -> str:
    """Seconds in words, two digits."""
    units = {"days": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3}
    unit, size = next(((unit, size) for unit, size in units.items() if value >= size), ("µs", 1e-6))
    return f"{float(f'{value / size:.2g}'):g} {unit}"


TABLES: dict[str, Callable[[dict], str]] = {
    "errors": errors_table,
    "verdicts": verdict_table,
    "bounds": bound_table,
    "gains": gain_table,
    "boundaries": boundary_table,
    "resolutions": resolution_table,
    "machine": machine_text,
    "times": times_table,
    "product": product_text,
}


def write() -> None:
    """Writes the tables of docs/theory.md."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), json.loads(DATA.read_text())), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small diagrams, few models, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="default: benchmarks/theory.json, or nowhere for --quick")
    parser.add_argument("--page", action="store_true", help="only write the page from what was measured")
    parser.add_argument("--cold", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cold:
        print(seconds(diagram(asked.cold, asked.side)))
        return
    out = asked.out or (None if asked.quick else DATA)
    if not asked.page:
        text = json.dumps(measure(asked.quick, 1 if asked.quick else asked.rounds), indent=1)
        print(text)
        if out:
            out.write_text(text + "\n")
    if out == DATA:
        write()


if __name__ == "__main__":
    main()
