"""Models on which `reduced` and `full` must agree in law: every student, reduction, encoding and norm."""

from __future__ import annotations

from dataclasses import dataclass

import ssi_kernels as ssi
from ssi_kernels import encodings, starts, students, targets
from ssi_kernels.model.starts import Start

PAIR, SWAP, NONE = encodings.opposite_pair(), encodings.alternating(), encodings.none()
RANK_TWO = encodings.pattern([[1, 0], [-0.5, 1], [0, -1]])
RANK_TWO_PAIR = encodings.pattern([[1, 0.5], [-1, 1]])
LOPSIDED = encodings.pattern([[1], [0.5]])  # a tied student sees only the sum of the pattern
SHIFT = encodings.injected([0.6, -0.3])
SHIFT_THREE = encodings.injected([0.6, -0.3, 0.4])
COLUMN = [[1], [-1]]
COLUMN_THREE = [[1], [-1], [1]]


@dataclass(frozen=True)
class Case:
    """One model, with a rate and a horizon at which the final overlaps spread visibly."""

    name: str
    model: ssi.Model
    d: int
    length: int
    learning_rate: float
    steps: int
    start: Start
    threshold: float = 0.5


def mixed(omega=0.4, a=1.0, pattern=None):
    return targets.positional_semantic(omega, a, pattern)


def scalar(text):
    return targets.expression(text)


def _case(name, target, student, encoding, d, length, rate, steps, start, loss="squared", threshold=0.5):
    return Case(name, ssi.Model(target, student, encoding, loss), d, length, rate, steps, start, threshold)


AT = starts.overlaps
HE2, ODD = scalar("sum(He2(z))/sqrt(2)"), scalar("sum(z)/sqrt(L)")
PROJECTION = dict(reduction="projection", a_left=[0.8, -0.2], a_right=[0.5, -1.0])

CASES = [
    _case("attention identity, none", mixed(pattern=COLUMN), students.attention(), NONE, 9, 2, 1.0, 200, AT(0.3)),
    _case("attention identity, pair", mixed(), students.attention(), PAIR, 10, 2, 1.0, 300, AT(0.1, 0.1)),
    _case(
        "attention identity, pair, frobenius",
        mixed(),
        students.attention(),
        PAIR,
        20,
        2,
        0.5,
        200,
        AT(0.2, 0.3),
        "frobenius",
    ),
    _case("attention identity, alternating", mixed(), students.attention(), SWAP, 16, 3, 2.0, 150, AT(0.2, 0.2)),
    _case(
        "attention identity, rank 2",
        mixed(pattern=COLUMN_THREE),
        students.attention(),
        RANK_TWO,
        12,
        3,
        2.0,
        100,
        AT(0.2, [0.3, -0.2]),
    ),
    _case(
        "attention identity, pair and injected",
        mixed(),
        students.attention(),
        PAIR + SHIFT,
        12,
        2,
        1.0,
        200,
        AT(0.2, 0.2),
    ),
    _case("attention trace, none", HE2, students.attention("trace"), NONE, 15, 2, 1.0, 200, starts.random()),
    _case("attention trace, pair", HE2, students.attention("trace"), PAIR, 15, 2, 1.0, 200, AT(0.3, 0.3)),
    _case("attention trace, injected", ODD, students.attention("trace"), SHIFT, 30, 2, 1.0, 300, AT(0.2)),
    _case("attention projection, none", ODD, students.attention(**PROJECTION), NONE, 12, 2, 0.5, 200, AT(0.3)),
    _case(
        "attention projection, rank 2",
        ODD,
        students.attention(**PROJECTION),
        RANK_TWO_PAIR,
        12,
        2,
        0.5,
        200,
        AT(0.3, [0.1, 0.4]),
        threshold=0.7,
    ),
    _case("linear identity, pair", mixed(), students.linear_attention(), PAIR, 40, 2, 0.05, 150, AT(0.2, 0.3)),
    _case("linear trace, none", HE2, students.linear_attention("trace"), NONE, 20, 2, 0.05, 200, AT(0.3)),
    _case(
        "linear projection, pair",
        HE2,
        students.linear_attention(**PROJECTION),
        PAIR,
        12,
        2,
        0.2,
        60,
        AT(0.3, 0.6),
        threshold=0.75,
    ),
    _case("tied relu, none", HE2, students.tied("relu"), NONE, 12, 3, 0.3, 200, starts.random()),
    _case("tied relu, lopsided pair", HE2, students.tied("relu"), LOPSIDED, 20, 2, 0.3, 150, AT(0.2, 0.3)),
    _case(
        "tied tanh, rank 2",
        scalar("z1 + z1*z2"),
        students.tied("tanh"),
        RANK_TWO,
        12,
        3,
        0.3,
        150,
        AT(0.2, [0.3, 0.4]),
        threshold=0.65,
    ),
    _case("tied sigmoid, injected", ODD, students.tied("sigmoid"), SHIFT_THREE, 50, 3, 8.0, 200, AT(0.1)),
    _case("tied h2, L = 1", targets.hermite(2), students.tied("h2"), NONE, 9, 1, 0.05, 150, AT(0.4)),
    _case("untied relu, joint", HE2, students.untied("relu"), NONE, 10, 3, 0.4, 200, starts.random()),
    _case("untied relu, row", HE2, students.untied("relu", "row"), NONE, 12, 3, 0.4, 200, starts.random()),
    _case(
        "untied relu, row, many degrees",
        HE2,
        students.untied("relu", "row"),
        NONE,
        40,
        3,
        0.8,
        200,
        starts.random(),
        threshold=0.3,
    ),
    _case(
        "untied tanh, row, L = 1", targets.hermite(1), students.untied("tanh", "row"), NONE, 34, 1, 2.0, 150, AT(0.1)
    ),
    _case("untied tanh, joint", ODD, students.untied("tanh"), NONE, 20, 2, 2.0, 200, AT(0.1)),
    _case("untied square, row", scalar("z1*z2"), students.untied("square", "row"), NONE, 40, 2, 0.05, 200, AT(0.3)),
]
