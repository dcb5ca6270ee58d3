"""Float literals that stand for exact numbers: 0.7071067811865476 for √2/2, 1.1283791670955126 for 2/√π.

A literal means its shortest decimal. Python rounds what it computes (`1 / math.sqrt(2)`), so a rule with such literals
is seldom exactly right. A second reading takes each long literal for a closed form that is at most two units in its
last place away, as far as two roundings move it, the same one wherever the literal stands. What is proved under that
reading is proved of the program with these numbers in place of its literals, and the verdict says so: `proved up to
rounding`.

Masks that write −1e30 for −∞ have such a reading as well: in floats exp(−1e30) is 0, as exp(−∞) is, and over the reals
it is not.
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
"""The largest numerator · denominator of a coefficient: by chance one literal in a thousand is near such a number."""
UNITS = 2
"""Units in the last place by which a literal may be moved to a closed form."""
FOLDED, DIVISORS = 10, (3, 6, 7, 9, 12)
"""Digits of a decimal, and numbers that it may be divided by: Python folds `4.685**2 / 6`, where the square of a short
decimal has that many digits. By chance one literal in ten thousand is near to such a quotient."""
ROOTS = (1, 2, 3, 5, 6, 7, 10, 14, 15, 21, 30, 35, 42, 70, 105, 210)
"""Square-free products of 2, 3, 5 and 7: the constants of spherical harmonics up to the fourth degree have them."""
SMALL = 10
"""A root of a larger number is less likely in a closed form: it costs as much as another factor."""
POWERS_OF_PI = tuple(Fraction(k, 2) for k in (0, 1, -1, 2, -2, 3, -3))
FAR = "beside values that are all far from it"
"""The condition on a claim that reads a number as an infinity: beside −2·10⁹, which is less, −10⁹ is no −∞."""
MASKING = 10**9
"""A mask that writes a number this large means an infinity."""
LOGARITHMS = (2, 3, 5, 7, 10)
"""Numbers whose logarithms may be factors of a closed form."""
BITS = 320
"""Bits to which a closed form is evaluated: numbers that differ only beyond these bits count as equal."""
LOGARITHMS_OF_PI = (1, 2)
"""Numbers n for which log(n·π) may be a factor of a closed form."""


@dataclass(frozen=True)
class ClosedForm:
    """The number coefficient · √root · π^pi · ln(log)^log_power, by its fields.

    If `log` is 1, no logarithm is a factor. With `of_pi` the logarithm is ln(log·π): the constants of normal densities
    are ½·ln(2π) and ln(2π).
    """

    coefficient: Fraction
    root: int = 1
    pi: Fraction = Fraction(0)
    log: int = 1
    log_power: int = 1
    of_pi: bool = False

    def term(self) -> Poly:
        """Return the closed form as a term of the calculus."""
        out = number(self.coefficient)
        if self.root != 1:
            out = out * power(number(self.root), Fraction(1, 2))
        if self.pi:
            out = out * power(poly_of(intern(Num("pi"))), self.pi)
        if self.logarithmic:
            argument = number(self.log) * (poly_of(intern(Num("pi"))) if self.of_pi else number(1))
            out = out * power(log_of(argument), self.log_power)
        return out

    def approximately(self) -> Fraction:
        """Return a rational number that is far nearer to the closed form than any float."""
        with precision(BITS):
            return _middle(_ball(self.coefficient) * _factor(self))

    def text(self) -> str:
        """Return the closed form as a reader writes it: √2/2, 2/√π, log(2)."""
        above = [str(self.coefficient.numerator)] if self.coefficient.numerator != 1 else []
        below = [str(self.coefficient.denominator)] if self.coefficient.denominator != 1 else []
        above += [f"√{self.root}"] if self.root != 1 else []
        side, whole = above if self.pi > 0 else below, abs(self.pi)
        side += {Fraction(1, 2): ["√π"], Fraction(1): ["π"], Fraction(3, 2): ["π", "√π"]}.get(whole, [])
        if self.logarithmic:
            argument = ("" if self.log == 1 else str(self.log)) + "π" if self.of_pi else str(self.log)
            (above if self.log_power > 0 else below).append(f"log({argument})")
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
"""The form without roots, π and logarithms: a closed form with these fields is its rational coefficient."""


class LongLiteral(NamedTuple):
    """The absolute value of a literal that has more digits than anyone writes by hand.

    Its `dtype` decides what it may stand for: the 32-bit float next to √2/2 stands for √2/2, and the same number as a
    64-bit literal does not, as 64-bit floats come much nearer to √2/2.
    """

    value: float
    dtype: str

    @property
    def text(self) -> str:
        """The literal as it is written, in its own dtype."""
        return str(np.dtype(self.dtype).type(self.value))

    def read_as(self, form: ClosedForm) -> str:
        """Return the certificate's words for reading the literal as this closed form."""
        return f"{self.text} is read as {form.text()}"


@dataclass
class Reading:
    """How the float literals of a program are read, and which ones were met while it was interpreted.

    `meant` gives the closed form of each literal that is read as one; `long` collects all long literals that were met.
    """

    meant: Mapping[LongLiteral, ClosedForm] = field(default_factory=dict)
    long: set[LongLiteral] = field(default_factory=set)
    ideal: bool = False
    """Whether functions that JAX computes by approximation are read as the functions that they approximate."""
    approximated: dict[str, None] = field(default_factory=dict)
    """The certificate's words for each approximated function that was met, if it is read as what it approximates."""

    masks: dict[str, None] = field(default_factory=dict)
    """The certificate's words for each large number that a mask chooses, if it is read as an infinity."""
    infinite: bool = False
    """Whether large numbers that masks choose are read as infinities."""

    refused: dict[str, None] = field(default_factory=dict)
    """Reasons why literals that were met are not read as the closed forms that they may stand for."""

    trial: bool = False
    """Whether the program is read otherwise before any witness counts, if rounding alone may prevent the proof."""

    @property
    def gives_up(self) -> bool:
        """Whether an audit under this reading claims nothing unless it proves every obligation."""
        return self.moved or (self.trial and bool(self.masks or not self.exact) and self.moving() is not None)

    def closed_forms(self) -> dict[LongLiteral, ClosedForm]:
        """Return the closed form of each long literal met so far that may stand for one."""
        return {x: form for x in sorted(self.long) if (form := closed_form(*x)) is not None}

    def moving(self) -> Reading | None:
        """Return the reading in which literals are closed forms, approximations are ideal and masks are infinite.

        This applies to all that was met so far. None if nothing of it can be read otherwise than written.
        """
        meant, ideal, infinite = self.closed_forms(), bool(self.approximated), bool(self.masks)
        if not (meant or ideal or infinite):
            return None
        return Reading(meant, ideal=ideal, approximated=self.approximated, masks=self.masks, infinite=infinite)

    @property
    def exact(self) -> bool:
        """Whether a large gap between two sides cannot come from how the program is read.

        It may where a long literal has 32 bits, whose rounding is that large, or where a function is approximated.
        """
        return not self.approximated and all(x.dtype == "float64" for x in self.long)

    def without(self, refused: Collection[LongLiteral]) -> Reading | None:
        """Return the reading with the `refused` literals as written; None if it then reads everything as written."""
        meant = {literal: form for literal, form in self.meant.items() if literal not in refused}
        return replace(self, meant=meant, long=set()) if meant or self.ideal or self.infinite else None

    def idealisations(self) -> list[str]:
        """Return the certificate's words for this reading."""
        return [*(literal.read_as(form) for literal, form in self.meant.items()), *self.approximated, *self.masks]

    @property
    def moved(self) -> bool:
        """Whether a literal, an approximated function or a mask's number is read otherwise than written."""
        return self.ideal or self.infinite or bool(self.meant)

    def masking(self, value: Fraction) -> int:
        """Return the sign of the infinity that a mask's number is read as; 0 if the number itself is meant.

        A number that may stand for an infinity is noted in `masks`.
        """
        if abs(value) < MASKING:
            return 0
        sign = 1 if value > 0 else -1
        infinity = "−∞" if sign < 0 else "∞"
        self.masks.setdefault(f"{float(value):.8g}, where a mask chooses it, is read as {infinity}, {FAR}")
        return sign if self.infinite else 0

    def term(self, value: np.floating[Any]) -> Poly | None:
        """Return the closed form that a literal is read as, as a term; None if it means its shortest decimal.

        A long literal is noted in `long`.
        """
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
    """Return how many significant digits the shortest decimal of a float has."""
    mantissa = np.format_float_scientific(np.abs(value), trim="-").partition("e")[0].replace(".", "")
    return len(mantissa.strip("0"))


@lru_cache(maxsize=1024)
def closed_form(value: float, dtype: str = "float64") -> ClosedForm | None:
    """Return the simplest closed form within `UNITS` in the last place of a positive number; None if there is none.

    For each product of a root, π and a logarithm, the coefficient is the simplest fraction that comes so near. The
    simplest form has the least numerator · denominator · cost, where the cost rises with the factors.
    """
    best: tuple[int, ClosedForm] | None = None
    unit = _unit(value, dtype)
    with precision(256):
        for cost, form, factor in _factors():
            low, high = ((Fraction(value) + sign * UNITS * unit) / factor for sign in (-1, 1))
            coefficient = simplest_between(low, high, HEIGHT[dtype] // cost)
            if coefficient is None:
                continue
            if form == PLAIN and Fraction(float(np.dtype(dtype).type(float(coefficient)))) == coefficient:
                continue  # a fraction that is a float: a literal for it would be that float, and no other
            weight = coefficient.numerator * coefficient.denominator * cost
            if weight <= HEIGHT[dtype] and (best is None or weight < best[0]):
                candidate = replace(form, coefficient=coefficient)
                if rounds_to(candidate, value, dtype):
                    best = weight, candidate
    return _folded(value, dtype) if best is None else best[1]


def _folded(value: float, dtype: str) -> ClosedForm | None:
    """Return a short decimal divided by a small number, within `UNITS` in the last place; None if there is none."""
    for divisor in DIVISORS if dtype == "float64" else ():
        if not np.isfinite(value * divisor):
            break
        candidate = ClosedForm(Fraction(f"{value * divisor:.{FOLDED - 1}e}") / divisor)
        if Fraction(float(candidate.coefficient)) != candidate.coefficient and rounds_to(candidate, value, dtype):
            return candidate
    return None


def rounds_to(form: ClosedForm, value: float, dtype: str = "float64") -> bool:
    """Return whether a closed form is certainly within `UNITS` in the last place of a literal."""
    with precision(256):
        distance = abs(_ball(Fraction(value)) - _ball(form.coefficient) * _factor(form))
        return bool(distance <= _ball(UNITS * _unit(value, dtype)))


def _unit(value: float, dtype: str) -> Fraction:
    """Return one unit in the last place of the value: twice that of its half, as the largest float has no successor."""
    return 2 * Fraction(float(np.spacing(np.dtype(dtype).type(value / 2))))


def simplest_between(low: Fraction, high: Fraction, most: int | None = None) -> Fraction | None:
    """Return the fraction with the least denominator from `low` to `high`, which are positive.

    None where its numerator times its denominator is above `most`. The continued fractions of both ends are followed as
    long as they agree; h/k is the fraction of the terms so far.
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
    """Return the factors that a closed form may have beside a rational, with their costs and values to 128 bits."""
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
