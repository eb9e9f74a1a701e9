"""How axes and numbers are written, in figures (mathtext) and in sentences (plain text)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from markupsafe import Markup, escape

LONG = {
    "d": "dimension $d$",
    "length": "sequence length $L$",
    "sie": "sequence information exponent",
    "omega": r"positional weight $\omega$",
    "a": "positional strength $a$",
    "learning_rate": r"learning rate $\gamma$",
    "target": "target",
    "student": "student",
    "encoding": "encoding",
    "threshold": r"threshold $\eta$",
}
_MATH = {
    "d": "$d$",
    "length": "$L$",
    "sie": "SIE",
    "omega": r"$\omega$",
    "a": "$a$",
    "learning_rate": r"$\gamma$",
    "threshold": r"$\eta$",
}
_PLAIN = {"d": "d", "length": "L", "sie": "SIE", "omega": "ω", "a": "a", "learning_rate": "γ", "threshold": "η"}
_NAMES = ("target", "student", "encoding")


def coordinates_math(coords: Mapping[str, object]) -> str:
    """Coordinates for a figure: "$d$ = 1000, tied"."""
    return ", ".join(_coordinate(axis, value, _MATH, escape=True) for axis, value in coords.items())


def coordinates_plain(coords: Mapping[str, object]) -> str:
    """Coordinates for a sentence: "d = 1,000, tied"."""
    return ", ".join(_coordinate(axis, value, _PLAIN, escape=False) for axis, value in coords.items())


def _coordinate(axis: str, value: object, symbols: Mapping[str, str], escape: bool) -> str:
    written = str(value) if isinstance(value, str) else number(value)
    if escape:
        written = written.replace("$", r"\$")
    return written if axis in _NAMES else f"{symbols[axis]} = {written}"


def power_math(law: str) -> str:
    """A law such as "d^1.5 log d" for a figure."""
    return "$" + re.sub(r"\^(\S+)", r"^{\1}", law).replace(" log d", r"\,\log d") + "$"


def power_html(law: str) -> Markup:
    """A law such as "d^1.5 log d" for a sentence."""
    power, caret, rest = law.partition("^")
    exponent, space, log = rest.partition(" ")
    return Markup("{}<sup>{}</sup>{}").format(power, exponent, f"{space}{log}") if caret else escape(law)


def number(value: float, digits: int = 4) -> str:
    """A number at some significant digits, with separators between thousands and powers of ten far from 1.

    >>> number(1792), number(0.64213), number(2.5e7), number(float("nan"))
    ('1,792', '0.6421', '2.5e7', '–')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
        text = f"{value:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace("-", "−")
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def with_interval(estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """An estimate and the ends of its interval, all to the decimal that two digits of the interval's width need.

    >>> with_interval(1.01234, 0.9912, 1.0333)
    ('1.012', '0.991', '1.033')
    """
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return number(estimate, 3), number(low, 3), number(high, 3)
    decimals = 1 - math.floor(math.log10(width))
    if decimals > 6 or abs(high) >= 1e6:
        return number(estimate, 4), number(low, 4), number(high, 4)
    decimals = max(decimals, 0)
    return tuple(f"{value:,.{decimals}f}".replace("-", "−") for value in (estimate, low, high))
