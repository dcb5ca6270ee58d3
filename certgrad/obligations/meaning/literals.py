"""Float literals that stand for exact numbers: 0.7071067811865476 for √2/2, 1.1283791670955126 for 2/√π.

A literal means its shortest decimal. Python rounds what it computes (`1 / math.sqrt(2)`), so a rule with such literals
is seldom exactly right. A second reading takes each long literal for a closed form that is at most two units in its
last place away, as far as two roundings move it, the same one wherever the literal stands. What is proved under that
reading is proved of the program with these numbers in place of its literals, and the verdict says so: `proved up to
rounding`.

So does a mask that writes −1e30 for −∞: exp makes 0 of both in floats, and of −∞ alone over the reals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from certgrad.obligations.terms.atoms import Num
from certgrad.obligations.terms.polynomials import Poly, number, poly_of
from certgrad.obligations.terms.power import log_of, power
from certgrad.obligations.terms.session import intern
from certgrad.process.threads import precision

DIGITS = {"float64": 15, "float32": 7}
"""A literal with fewer significant digits is meant as it is written."""
HEIGHT = {"float64": 10**11, "float32": 200}
"""Numerator times denominator of a coefficient. One literal in a thousand is that near to such a number by chance."""
UNITS = 2
"""Units in the last place by which a literal may be moved to a closed form."""
FOLDED, DIVISORS = 10, (3, 6, 7, 9, 12)
"""A decimal of so many digits, as a square of a short one is, divided by one of these: `4.685**2 / 6`, which Python
folds. One literal in ten thousand is that near to such a number by chance."""
ROOTS = (1, 2, 3, 5, 6, 7, 10, 14, 15, 21, 30, 35, 42, 70, 105, 210)
"""Square-free products of 2, 3, 5 and 7: the constants of spherical harmonics up to the fourth degree have them."""
SMALL = 10
"""A larger root is less likely: it costs as much as another factor."""
POWERS_OF_PI = tuple(Fraction(k, 2) for k in (0, 1, -1, 2, -2, 3, -3))
FAR = "beside values that are all far from it"
"""Of which values a claim is that reads a number as an infinity: of −10⁹ and −2·10⁹ the first one is the greater."""
MASKING = 10**9
"""A mask that writes a number this large means an infinity."""
LOGARITHMS = (2, 3, 5, 7, 10)
"""Numbers whose logarithms may be factors of a closed form."""
BITS = 320
"""How exactly a closed form is evaluated: a comparison that rests on more bits counts as one of equal numbers."""
LOGARITHMS_OF_PI = (1, 2)
"""Powers of log π that may be factors of a closed form."""


@dataclass(frozen=True)
class ClosedForm:
    """coefficient · √root · π^pi · log(log)^log_power, where a log of 1 stands for no logarithm.

    With `of_pi`, the logarithm is that of log·π: the constants of normal densities are ½·log(2π) and log(2π).
    """

    coefficient: Fraction
    root: int = 1
    pi: Fraction = Fraction(0)
    log: int = 1
    log_power: int = 1
    of_pi: bool = False

    def term(self) -> Poly:
        out = number(self.coefficient)
        if self.root != 1:
            out = out * power(number(self.root), Fraction(1, 2))
        if self.pi:
            out = out * power(poly_of(intern(Num("pi"))), self.pi)
        if self.logarithmic:
            inside = number(self.log) * (poly_of(intern(Num("pi"))) if self.of_pi else number(1))
            out = out * power(log_of(inside), self.log_power)
        return out

    def approximately(self) -> Fraction:
        """Return a rational number next to it, far nearer than any float."""
        with precision(BITS):
            return _middle(_ball(self.coefficient) * _factor(self))

    def text(self) -> str:
        """The form for a reader: √2/2, 2/√π, log(2)."""
        above = [str(self.coefficient.numerator)] if self.coefficient.numerator != 1 else []
        below = [str(self.coefficient.denominator)] if self.coefficient.denominator != 1 else []
        above += [f"√{self.root}"] if self.root != 1 else []
        side, whole = above if self.pi > 0 else below, abs(self.pi)
        side += {Fraction(1, 2): ["√π"], Fraction(1): ["π"], Fraction(3, 2): ["π", "√π"]}.get(whole, [])
        if self.logarithmic:
            inside = ("" if self.log == 1 else str(self.log)) + "π" if self.of_pi else str(self.log)
            (above if self.log_power > 0 else below).append(f"log({inside})")
        top, bottom = "·".join(above) or "1", "·".join(below)
        return f"{top}/({bottom})" if len(below) > 1 else f"{top}/{bottom}" if bottom else top

    def data(self) -> dict[str, Any]:
        """Return the closed form as a certificate states it."""
        return {
            "text": self.text(),
            "coefficient": str(self.coefficient),
            "root": self.root,
            "pi": str(self.pi),
            "log": self.log,
            "log_power": self.log_power,
            "of_pi": self.of_pi,
        }

    @property
    def logarithmic(self) -> bool:
        """Whether a logarithm is a factor."""
        return self.log != 1 or self.of_pi


PLAIN = ClosedForm(Fraction(1))
"""The factor 1: what is read is a rational number."""


class LongLiteral(NamedTuple):
    """The absolute value of a literal that has more digits than anyone writes by hand.

    With its dtype: the number to which 32 bits round √2/2 is as good as √2/2 there, and 1e-8 beside it in 64.
    """

    value: float
    dtype: str

    @property
    def text(self) -> str:
        """The literal as it is written, in its own dtype."""
        return str(np.dtype(self.dtype).type(self.value))

    def read_as(self, form: ClosedForm) -> str:
        """Return the certificate's words for reading it as this closed form."""
        return f"{self.text} is read as {form.text()}"


@dataclass
class Reading:
    """How literals are read. `long` collects those that might stand for something else; `meant` says for what."""

    meant: Mapping[LongLiteral, ClosedForm] = field(default_factory=dict)
    long: set[LongLiteral] = field(default_factory=set)
    ideal: bool = False
    """Functions that JAX computes by approximation are read as what they approximate."""
    approximated: dict[str, None] = field(default_factory=dict)
    """Of each such function that was met, what the certificate says if it is read so."""

    masks: dict[str, None] = field(default_factory=dict)
    """Of each large number that a mask chooses, what the certificate says if it is read as an infinity."""
    infinite: bool = False
    """Such numbers are read as infinities."""

    refused: dict[str, None] = field(default_factory=dict)
    """Why literals that were met are not read as what they may stand for."""

    trial: bool = False
    """Where rounding alone may keep it from being proved as written, it is read otherwise before witnesses count."""

    @property
    def gives_up(self) -> bool:
        """Whether only a complete proof counts: else nothing is claimed of this reading."""
        return self.moved or (self.trial and bool(self.masks or not self.exact) and self.moving() is not None)

    def closed_forms(self) -> dict[LongLiteral, ClosedForm]:
        """Return the closed forms that the long literals met so far may stand for, by their values."""
        return {x: form for x in sorted(self.long) if (form := closed_form(*x)) is not None}

    def moving(self) -> Reading | None:
        """Return the reading of all literals met so far as closed forms; None where none can be read so."""
        meant, ideal, infinite = self.closed_forms(), bool(self.approximated), bool(self.masks)
        if not (meant or ideal or infinite):
            return None
        return Reading(meant, ideal=ideal, approximated=self.approximated, masks=self.masks, infinite=infinite)

    @property
    def exact(self) -> bool:
        """Whether all literals met so far have 64 bits, so that what is plainly wrong as written is wrong in any
        reading.

        In 32 bits rounding itself is that large, and so is the distance of an approximation.
        """
        return not self.approximated and all(x.dtype == "float64" for x in self.long)

    def without(self, refused: Collection[LongLiteral]) -> Reading | None:
        """Return the reading with these literals as written; None where no other is left."""
        meant = {literal: form for literal, form in self.meant.items() if literal not in refused}
        return replace(self, meant=meant, long=set()) if meant or self.ideal or self.infinite else None

    def idealisations(self) -> list[str]:
        """Return the certificate's words for this reading."""
        return [*(literal.read_as(form) for literal, form in self.meant.items()), *self.approximated, *self.masks]

    @property
    def moved(self) -> bool:
        """Whether a literal is read as something else than written."""
        return self.ideal or self.infinite or bool(self.meant)

    def masking(self, value: Fraction) -> int:
        """The sign of the infinity that a mask's number stands for; 0 where the number itself is meant."""
        if abs(value) < MASKING:
            return 0
        sign = 1 if value > 0 else -1
        infinity = "−∞" if sign < 0 else "∞"
        self.masks.setdefault(f"{float(value):.8g}, where a mask chooses it, is read as {infinity}, {FAR}")
        return sign if self.infinite else 0

    def term(self, value: np.floating[Any]) -> Poly | None:
        """Return the closed form of a literal as a term; None where it means its shortest decimal."""
        if digits(value) < DIGITS.get(str(value.dtype), math.inf):
            return None
        literal = LongLiteral(abs(float(value)), str(value.dtype))
        self.long.add(literal)
        form = self.meant.get(literal)
        return None if form is None else form.term() if value > 0 else -form.term()

    def moves(self, array: np.ndarray) -> bool:
        """Return whether an entry of an array is a literal that is read as a closed form."""
        dtype = str(array.dtype)
        return dtype in DIGITS and any(LongLiteral(abs(float(x)), dtype) in self.meant for x in array.flat)


def digits(value: np.floating[Any] | float) -> int:
    """The significant digits of the shortest decimal."""
    mantissa = np.format_float_scientific(np.abs(value), trim="-").partition("e")[0].replace(".", "")
    return len(mantissa.strip("0"))


@lru_cache(maxsize=1024)
def closed_form(value: float, dtype: str = "float64") -> ClosedForm | None:
    """The simplest closed form of a positive number, within `UNITS` in its last place."""
    best: tuple[int, ClosedForm] | None = None
    unit = _unit(value, dtype)
    with precision(256):
        for cost, form, factor in _factors():
            low, high = ((Fraction(value) + sign * UNITS * unit) / factor for sign in (-1, 1))
            c = simplest_between(low, high, HEIGHT[dtype] // cost)
            if c is None:
                continue
            if form == PLAIN and Fraction(float(np.dtype(dtype).type(float(c)))) == c:
                continue  # a float itself: no rounding leads from it to another
            weight = c.numerator * c.denominator * cost
            if weight <= HEIGHT[dtype] and (best is None or weight < best[0]):
                found = replace(form, coefficient=c)
                if rounds_to(found, value, dtype):
                    best = weight, found
    return _folded(value, dtype) if best is None else best[1]


def _folded(value: float, dtype: str) -> ClosedForm | None:
    """A short decimal divided by a small number, within `UNITS` in the last place."""
    for divisor in DIVISORS if dtype == "float64" else ():
        if not np.isfinite(value * divisor):
            break
        found = ClosedForm(Fraction(f"{value * divisor:.{FOLDED - 1}e}") / divisor)
        if Fraction(float(found.coefficient)) != found.coefficient and rounds_to(found, value, dtype):
            return found
    return None


def rounds_to(form: ClosedForm, value: float, dtype: str = "float64") -> bool:
    """Return whether a closed form is certainly within `UNITS` in the last place of a literal."""
    with precision(256):
        distance = abs(_ball(Fraction(value)) - _ball(form.coefficient) * _factor(form))
        return bool(distance <= _ball(UNITS * _unit(value, dtype)))


def _unit(value: float, dtype: str) -> Fraction:
    """Return one unit in the last place of half the value, as nothing lies above the largest."""
    return 2 * Fraction(float(np.spacing(np.dtype(dtype).type(value / 2))))


def simplest_between(low: Fraction, high: Fraction, most: int | None = None) -> Fraction | None:
    """The fraction with the least denominator in an interval of positive numbers (by continued fractions).

    None where its numerator times its denominator is above `most`.
    """
    a, b, c, d = low.numerator, low.denominator, high.numerator, high.denominator
    h, k, before_h, before_k = 1, 0, 0, 1
    while True:
        term, rest = divmod(a, b)
        last = not rest or (term + 1) * d <= c
        term += bool(rest and last)
        h, before_h = term * h + before_h, h
        k, before_k = term * k + before_k, k
        if most is not None and h * k > most:
            return None
        if last:
            return Fraction(h, k)
        a, b, c, d = d, c - term * d, b, rest


@lru_cache
def _factors() -> list[tuple[int, ClosedForm, Fraction]]:
    """The factors that a closed form may have beside a rational, each with its cost and its value to 128 bits."""
    one = Fraction(1)
    forms = [
        (3 ** ((root != 1) + (root > SMALL) + (pi != 0)), ClosedForm(one, root, pi))
        for root in ROOTS
        for pi in POWERS_OF_PI
    ]
    forms += [(3, ClosedForm(one, log=n, log_power=k)) for n in LOGARITHMS for k in (1, -1)]
    forms += [(3, ClosedForm(one, log=n, of_pi=True)) for n in LOGARITHMS_OF_PI]
    with precision(128):
        return [(cost, form, _middle(_factor(form))) for cost, form in forms]


def _factor(form: ClosedForm) -> arb:
    out = arb(form.root).sqrt() * arb.pi() ** _ball(form.pi)
    if not form.logarithmic:
        return out
    return out * (arb(form.log) * (arb.pi() if form.of_pi else arb(1))).log() ** form.log_power


def _ball(x: Fraction) -> arb:
    return arb(x.numerator) / arb(x.denominator)


def _middle(x: arb) -> Fraction:
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
