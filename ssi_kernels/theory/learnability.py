"""Whether a student can see a target at all, told before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ssi_kernels.theory.escape import escape
from ssi_kernels.theory.expansion import expand_target
from ssi_kernels.theory.exponent import exponent
from ssi_kernels.theory.landscape import landscape
from ssi_kernels.theory.overlaps import length_of
from ssi_kernels.theory.summed import SumValues, sum_rule

if TYPE_CHECKING:
    from ssi_kernels.model import Model
    from ssi_kernels.theory.escape import Escape

LEARNS, BLIND, SHRINKS, UNRESOLVED = VERDICTS = ("learns", "blind", "shrinks", "unresolved")
_SMALL = 1e-10


@dataclass(frozen=True)
class Learnability:
    """`learns`, `blind` (the risk does not depend on the overlap), `shrinks` (it goes up in every direction from 0) or
    `unresolved`; `reason` in words, and `remedy`, the nearest change that would help (empty where none is needed)."""

    verdict: str
    reason: str
    remedy: str = ""

    @property
    def warns(self) -> bool:
        """Whether the recovery time is infinite whatever the horizon."""
        return self.verdict in (BLIND, SHRINKS)


@lru_cache(maxsize=256)
def learnability(model: Model, length: int | None = None) -> Learnability:
    """Whether SGD from small overlaps can learn (Arnaboldi et al. 2025, section 3). Raises ConfigError."""
    length = length_of(model, length)
    seen, found = landscape(model, length).depends_on_target, escape(model, length)
    if seen is False:
        return _blind(model, length)
    if found.order is not None:
        return _learns(model, length, found)
    if seen is None and _even_meets_odd(model, length):
        return _blind(model, length)
    if seen is None or found.flatness is None:
        return Learnability(UNRESOLVED, f"no order up to {found.searched} can be told from 0 ({found.method})")
    order = _order_of_overlap(model, length, found.searched) or found.flatness
    return Learnability(
        SHRINKS,
        f"the coupling of order {order} has the wrong sign: the risk goes up in every direction from zero overlap, and "
        "SGD pushes the overlap back to 0",
        "change the sign of the target's term of that order, or of the student",
    )


def _order_of_overlap(model: Model, length: int, searched: int) -> int | None:
    """The lowest order at which the risk depends on the semantic overlap alone."""
    surface = landscape(model, length)
    along = np.array([name.startswith("m") for name in surface.coordinates], dtype=float)
    forms = ((order, surface.taylor(order)) for order in range(1, searched + 1))
    return next((order for order, form in forms if abs(form(along)) > form.tolerance), None)


def _learns(model: Model, length: int, found: Escape) -> Learnability:
    parts = [(x, name) for name, x in zip(found.coordinates, found.direction, strict=True) if abs(x) > 1e-9]
    where = ", ".join(f"{x:.3g} {name}" for x, name in parts)
    if len(parts) == 1:
        sign = "" if found.order % 2 == 0 else "negative " if parts[0][0] < 0 else "positive "
        where = sign + parts[0][1]
    return Learnability(LEARNS, f"escapes at order {found.order} along {_shortened(where)}")


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _even_meets_odd(model: Model, length: int) -> bool:
    """Whether an even student without encoding faces a polynomial that is odd: no average is needed to see that."""
    if model.student.sees_sum or not model.encoding.is_none:
        return False
    expansion = expand_target(model.target, length)
    return expansion is not None and bool((expansion.orders % 2 == 1).all())


def _blind(model: Model, length: int) -> Learnability:
    """Why the risk does not depend on the overlap."""
    leading = exponent(model.target, length, model.encoding)
    if leading.sie is None and escape(model, length).order is not None:
        return Learnability(LEARNS, "the label does not depend on the fields: only the positional overlap grows")
    if leading.sie is None:
        return Learnability(BLIND, "the target is constant", "use a target that depends on its fields")
    if model.student.sees_sum:
        return _blind_sum(model, length, leading)
    if model.encoding.injected is None:
        return Learnability(
            BLIND,
            "attention without an injected shift is even in its fields, and the target is odd in them",
            "inject a shift, such as encoding: {injected: [0.5, 0.5]}",
        )
    return Learnability(
        BLIND, "no Hermite component of the student meets one of the target", "change the target or the reduction"
    )


def _blind_sum(model: Model, length: int, leading) -> Learnability:
    if not model.student.is_untied and abs(leading.on_ones) <= _SMALL * max(leading.norm, 1e-300):
        return Learnability(
            BLIND,
            f"the leading Hermite tensor of the target, of order {leading.sie}, vanishes on (1,...,1), and a tied "
            "student sees nothing else",
            "use an untied student",
        )
    orders = visible_orders(model.student, 12)
    return Learnability(
        BLIND,
        f"{model.student.activation} has no Hermite component of order {leading.sie}, where the target's is",
        f"use an activation with such a component, such as h{leading.sie}; that of {model.student.activation} are "
        f"of order {', '.join(map(str, orders))}",
    )


def visible_orders(student, most: int) -> list[int]:
    """The orders k >= 1, up to `most`, at which sigma has a component E[sigma h_k]."""
    rule = sum_rule(most, 0.0)
    components = rule.weights(most) @ SumValues(student, rule).values[0]
    return [k for k in range(1, most + 1) if abs(components[k]) > _SMALL * np.abs(components).max()]
