"""`reduced` is exact in law: two-sample Kolmogorov-Smirnov tests against `full`, in float64.

Every student, reduction, encoding and norm; all overlaps and the recovery step. All p-values of a run are held
against one level with Bonferroni's correction: the family raises a false alarm with probability 1e-4.
"""

from functools import cache

import numpy as np
import pytest
from cases import AT, CASES, PAIR, Case, mixed
from harness import run_case, samples
from scipy.stats import ks_2samp

import ssi_kernels as ssi
from ssi_kernels import students
from ssi_kernels.kernels.reduced import SharedReduced

pytestmark = pytest.mark.statistical
REPLICAS = 6000
FAMILY = 1e-4
TESTS = sum(2 + c.model.rank(c.length) + c.length * c.model.student.is_untied for c in CASES)
LEVEL = FAMILY / TESTS
DEFAULT = (
    "attention identity, rank 2",
    "tied relu, lopsided pair",
    "untied relu, joint",
)
SPOILT = ("tied relu, lopsided pair", "untied relu, joint")


def chosen(cases, default):
    """All cases, those not named in `default` only in the slow run."""
    return [pytest.param(c, marks=[] if c.name in default else pytest.mark.slow, id=c.name) for c in cases]


@cache
def full(case, replicas=REPLICAS):
    return samples(case, run_case(case, "full", replicas))


def p_values(case, replicas=REPLICAS, **options):
    """The p-value of every overlap and of the recovery step, `reduced` against `full`."""
    reduced = samples(case, run_case(case, "reduced", replicas, **options))
    return {name: ks_2samp(x, full(case, replicas)[name]).pvalue for name, x in reduced.items()}


@pytest.mark.parametrize("case", chosen(CASES, DEFAULT))
def test_reduced_and_full_have_one_law(case):
    spread = {name: np.std(x) for name, x in full(case).items()}
    recovery = spread.pop("recovery step")
    assert min(spread.values()) > 0.05 or (case.model.student.is_untied and min(list(spread.values())[1:]) > 0.05)
    assert recovery > 1
    assert np.abs(full(case)["m"]).max() <= 1 + 1e-9  # a diverged run would count as BEYOND
    p = p_values(case)
    assert min(p.values()) > LEVEL, p


@pytest.mark.parametrize("case", chosen(CASES, SPOILT))
def test_without_the_chi_square_term_the_law_is_another(case):
    def forget(data):
        data["nu"] = 0 * data["nu"]

    assert min(p_values(case, alter=forget).values()) < LEVEL


ENCODED = [c for c in CASES if c.model.rank(c.length)]


@pytest.mark.parametrize("case", chosen(ENCODED, SPOILT))
def test_without_the_encoding_in_the_update_the_law_is_another(case, monkeypatch):
    from ssi_kernels.kernels.program import program

    monkeypatch.setattr(SharedReduced, "_through_encoding", lambda self, q, pattern: 0.0)
    program.cache_clear()
    try:
        assert min(p_values(case).values()) < LEVEL
    finally:
        program.cache_clear()


def test_one_degree_of_freedom_too_many_is_seen():
    """The smallest error of all, where it shows: d = 10, opposite pair, gamma = 1, 300 steps."""
    model = ssi.Model(mixed(), students.attention(), PAIR)
    case = Case("one degree too many", model, d=10, length=2, learning_rate=1.0, steps=300, start=AT(0.1, 0.1))

    def too_many(data):
        data["nu"] = data["nu"] + 1

    assert min(p_values(case, 10_000).values()) > LEVEL
    assert min(p_values(case, 10_000, alter=too_many).values()) < LEVEL
