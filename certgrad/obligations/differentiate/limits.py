"""Whether a term is a continuous function of the arguments, also where a selection stands for a quotient at its zero.

A term without predicates is continuous where its functions are smooth and what it divides by is not 0. A term with the
predicates [p > 0] and [−p > 0] of one p is continuous on p = 0 if the forms that it has on the sides tend to the value
that it has there: sin(x)/x to 1. Such a form is a Laurent series in a small number ε with |x| = ε, or p = ε², by the
Taylor series of the functions in it; its coefficients are terms in all that is not small. If none of a negative order
is left, it tends to the coefficient of order 0, uniformly around each point.

A term of a form that is not understood counts as not continuous.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import factorial

from flint import fmpq

from certgrad.obligations.assume.conditions import discharged
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.decide.cases import Region, by_summand, nonzero_part
from certgrad.obligations.laws.functions import FUNCTIONS
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.terms.atoms import Access, Base, Exp, Fn, IndexNumber, Max, Num, Sum, access
from certgrad.obligations.terms.exponents import Exponent, exponent
from certgrad.obligations.terms.index import IntegerAtom, whole_number
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, monomial, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError, exp_of, fn, log_of, power
from certgrad.obligations.terms.predicates import INDEX_PREDICATES, Pred, Side
from certgrad.obligations.terms.rewriting import Rewriter, eliminated, replaced
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions

from .derivative import Differentiator
from .seams import forced

TERMS = 12
"""How many terms of a Taylor series are computed. Where all of these cancel, continuity is not shown."""
_ANALYTIC = frozenset("log sin cos asin acos atan asinh acosh atanh erf erf_inv".split())
"""Functions that are analytic wherever the table `FUNCTIONS` says that they are smooth."""
_U, _DU = "°", "d°"
"""Names of the argument of a function whose derivatives are taken, and of its tangent."""


class NotContinuousError(Exception):
    """The term is not shown to be continuous."""


@dataclass(frozen=True)
class Continuity:
    """A check that terms in entries of the `tensors` are continuous in those of the `moving` ones, under the facts."""

    facts: Facts
    tensors: Collection[str]
    moving: Mapping[str, Sequence[Poly]]
    """The shapes of the tensors that vary, by name."""
    sizes: Collection[Atom]
    """The sizes of the arguments. Any other integer may be a count that depends on values, and jump."""

    def under(self, *facts: Fact) -> Continuity:
        """Return the check with further facts assumed."""
        return replace(self, facts=self.facts.extended(facts))

    def check(self, poly: Poly) -> None:
        """Raise NotContinuousError unless the term is shown to be continuous wherever the facts hold.

        A term without predicates is checked as it is. Otherwise each summand of its sums is checked, then the rest: it
        may have predicates of one boundary p = 0, across which it must be continuous.
        """
        if not any(isinstance(a, (Pred, Side)) for a in deep_atoms(poly)):
            self._plain(poly)
            return
        plain, groups = by_summand(poly)
        for summand, _ in groups:
            self.check(summand)
        boundaries: dict[Poly, None] = {}
        for a in deep_atoms(plain):
            if isinstance(a, (Pred, Side)) and -a.poly not in boundaries:
                boundaries.setdefault(a.poly)
        if not boundaries:
            self._plain(plain)
        elif len(boundaries) > 1 or any(a.piecewise and hasattr(a, "vars") for a in deep_atoms(plain)):
            raise NotContinuousError("several boundaries that may meet")
        else:
            self._across(plain, next(iter(boundaries)))

    def _across(self, poly: Poly, p: Poly) -> None:
        """Check continuity across the seam p = 0: on each side and on it, and that both sides tend to the value there.

        On a side, the term is the form that it takes where the predicates of p have their values there.
        """
        if any(isinstance(a, (Pred, Side)) for a in deep_atoms(p)):
            raise NotContinuousError("a predicate inside of another")
        if not self.facts.signs(p) & ZERO:
            raise NotContinuousError("a choice that is decided otherwise")
        if not mentions(p, {*self.moving}):
            raise NotContinuousError("a choice that no argument that moves decides")
        self._plain(p)  # p is continuous, so that the two sides meet at p = 0 alone
        at_zero = self.under(Fact(p, ZERO, universal=False))
        small = [Small(p, side, self.moving) for side in (1, -1)]
        on_seam = small[0].on_boundary(forced(poly, p, 0))
        for beside, sign in zip(small, (POS, NEG), strict=True):
            if not self.facts.signs(p) & sign:
                continue
            form = forced(poly, p, beside.side)
            self.under(Fact(p, sign, universal=False))._plain(form)
            difference = beside.on_boundary(at_zero.limit(form, beside, Region(self.facts))) - on_seam
            if nonzero_part(difference, Region(at_zero.facts)) is not None:
                raise NotContinuousError("a side tends to another value")
        at_zero._plain(on_seam)

    def limit(self, form: Poly, small: Small, around: Region) -> Poly:
        """Return the limit of a term without predicates at a point of a boundary, from one side.

        It is the coefficient of order 0 of the Laurent series in ε. The facts hold at the point alone, those of the
        region `around` also beside it: coefficients of negative orders must be 0 in that region.
        """
        series = Expansion(self, small).of(form)
        if series.end <= 0:
            raise NotContinuousError("a singularity of too high an order")
        for order, coefficient in series.terms.items():
            if order < 0 and nonzero_part(coefficient, around) is not None:
                raise NotContinuousError("a singularity that is left")
            self._plain(coefficient)
        return series.terms.get(0, NOTHING)

    def _plain(self, poly: Poly) -> None:
        """Check a term without predicates, factor by factor."""
        for mono in poly:
            for a, e in mono:
                self.factor(a, e)

    def factor(self, a: Atom, e: Exponent) -> None:
        """Check the continuity of a power a^e of an atom. Raises NotContinuousError where it is not shown.

        The atom must be continuous. For a negative e it must not be 0 either, for a fraction not negative.
        """
        parts: Sequence[Poly] = ()
        if isinstance(a, (Sum, Max)) and not all(b in self.sizes for n in a.ranges for b in atoms_of(n)):
            raise NotContinuousError("a number of summands that is no size")
        if isinstance(a, Access):
            if a.tensor not in self.tensors or any(ix.atoms for ix in a.index):
                raise NotContinuousError(f"{a.tensor} is no argument")
        elif isinstance(a, (Exp, Base, Sum)):
            parts = a.parts()
        elif isinstance(a, Max):
            parts = (a.body,)
            if a.where != ONE:
                raise NotContinuousError("a maximum over chosen values")
        elif isinstance(a, Fn):
            parts = a.args
            if a.name not in _ANALYTIC or not self.smooth(a.name, a.args[0]):
                raise NotContinuousError(f"{a.name} of {a.args[0].key}")
        elif not (isinstance(a, Num) or a in self.sizes or _of_places(a)):
            raise NotContinuousError(f"{type(a).__name__} is not looked into")
        for part in parts:
            self.check(part)
        if isinstance(a, Exp) or (isinstance(e, int) and e > 0):
            return
        signs = self.facts.signs(a.poly if isinstance(a, Base) else poly_of(a))
        if (e < 0 and signs & ZERO) or (isinstance(e, Fraction) and signs & NEG):
            raise NotContinuousError("a divisor, or what a root is taken of, may be 0")

    def smooth(self, name: str, argument: Poly) -> bool:
        """Return whether a function is smooth at the argument, under the facts."""
        return all(discharged(c, self.facts) for c in FUNCTIONS[name].smooth(argument))


class Small:
    """The atoms that are small beside a boundary p = 0, as powers of a small ε > 0.

    If p is c·x for an entry x of an argument, x is ±ε. If p is c·s with a number c > 0, for a sum s, then s is ε². Of
    any other p, no atom is small but p itself, as the base of a power. `side` is the sign of p beside the boundary.
    """

    def __init__(self, p: Poly, side: int, moving: Mapping[str, Sequence[Poly]]) -> None:
        self.p, self.side, self.sign = p, side, side
        self.entry: Access | None = None
        self.sum: Sum | None = None
        self.squares: Access | None = None
        """If p is a sum of even powers of entries, all of which are 0 where the sum is: the entry under the sum."""
        single = p.single()
        if single is not None and len(single[0]) == 1 and single[0][0][1] == 1:
            ((a, _),), c = single
            if isinstance(a, Access) and a.tensor in moving:
                self.entry, self.sign = a, side if c > 0 else -side
            elif isinstance(a, Sum) and c > 0 and side > 0:
                self.sum = a
                self.squares = _over_even_powers(a, moving)

    def on_boundary(self, poly: Poly) -> Poly:
        """Return the term on p = 0: with p solved for an atom, or with the small sum and its entries 0."""
        if self.sum is None:
            return eliminated(poly, self.p)

        def value(a: Atom) -> Poly | None:
            if a is self.sum or (self.squares is not None and self._covers(a)):
                return NOTHING
            return None

        return replaced(poly, value)

    def _covers(self, a: Atom) -> bool:
        """Return whether an atom is one of the entries whose even powers are summed."""
        assert self.sum is not None
        assert self.squares is not None
        if not isinstance(a, Access) or a.tensor != self.squares.tensor:
            return False
        return all(j.variable() in self.sum.vars or i == j for i, j in zip(a.index, self.squares.index, strict=True))

    def order(self, a: Atom, e: Exponent) -> tuple[Exponent, Poly] | None:
        """Return the order m and the coefficient c of a small atom's power a^e = c·ε^m; None if the atom is not small.

        Raises NotContinuousError where the atom may be small without being a known power of ε.
        """
        if self.entry is not None:
            if a is self.entry:
                if isinstance(e, int):
                    return e, number(self.sign if e % 2 else 1)
                raise NotContinuousError("a root of what is small")
            if isinstance(a, Access) and a.tensor == self.entry.tensor and not _are_distinct_entries(a, self.entry):
                raise NotContinuousError("entries that may be the same one")
            return None
        if a is self.sum or (isinstance(a, Base) and a.poly == self.p):
            if isinstance(e, int):
                return e * 2, number(self.sign if e % 2 else 1)
            if self.sign > 0:
                return exponent(e * 2), ONE
            raise NotContinuousError("a root of what is negative")
        return None


def _over_even_powers(a: Sum, moving: Mapping[str, Sequence[Poly]]) -> Access | None:
    """Return the entry of which a sum adds even powers, if each variable runs over a whole axis of it; else None."""
    if len(a.body) != 1:
        return None
    entry, e = a.body[0]
    if not isinstance(entry, Access) or entry.tensor not in moving or not isinstance(e, int) or e % 2:
        return None
    axes = [k for k, ix in enumerate(entry.index) if ix.variable() in a.vars]
    ranges = dict(zip(a.vars, a.ranges, strict=True))
    axis_of = {entry.index[k].variable(): k for k in axes}
    runs_over_whole_axes = all(v in axis_of and moving[entry.tensor][axis_of[v]] == ranges[v] for v in a.vars)
    return entry if runs_over_whole_axes and len(axes) == len(a.vars) else None


def _are_distinct_entries(a: Access, b: Access) -> bool:
    """Return whether two entries are at places along an axis that differ by a number other than 0."""
    steps = (i.minus(j) for i, j in zip(a.index, b.index, strict=True))
    return any(not step.terms and whole_number(step.const) not in (None, 0) for step in steps)


def _of_places(a: Atom) -> bool:
    """Return whether an atom is an index as a number, or a condition on indices, that depends on no values."""
    if isinstance(a, IndexNumber):
        return not isinstance(a.var, IntegerAtom)
    return isinstance(a, INDEX_PREDICATES) and not a.ix.atoms


@dataclass(frozen=True)
class Series:
    """A truncated Laurent series: Σ terms[k]·ε^k + O(ε^end)."""

    terms: Mapping[int, Poly]
    end: int

    @property
    def first(self) -> int:
        """The lowest order that has a term; `end` if none has."""
        return min(self.terms, default=self.end)

    def __add__(self, other: Series) -> Series:
        end = min(self.end, other.end)
        orders = {k for k in (*self.terms, *other.terms) if k < end}
        return Series(
            _nonzero_terms((k, self.terms.get(k, NOTHING) + other.terms.get(k, NOTHING)) for k in orders), end
        )

    def __mul__(self, other: Series) -> Series:
        end = min(self.end + other.first, other.end + self.first)
        products: dict[int, Poly] = {}
        for j, a in self.terms.items():
            for k, b in other.terms.items():
                if j + k < end:
                    products[j + k] = products.get(j + k, NOTHING) + a * b
        return Series(_nonzero_terms(products.items()), end)

    def shifted(self, by: int) -> Series:
        """Return the series times ε^by."""
        return Series({k + by: c for k, c in self.terms.items()}, self.end + by)

    def without_first(self) -> Series:
        """Return the terms of positive orders."""
        return Series({k: c for k, c in self.terms.items() if k > 0}, self.end)


def _nonzero_terms(terms: Iterable[tuple[int, Poly]]) -> dict[int, Poly]:
    return {k: c for k, c in terms if not c.is_zero}


def _number(c: Poly) -> Series:
    return Series({} if c.is_zero else {0: c}, TERMS)


@dataclass(frozen=True)
class Expansion:
    """The Laurent series of terms in ε, by the orders of the small atoms; all other atoms are coefficients."""

    at: Continuity
    small: Small

    def of(self, poly: Poly) -> Series:
        """Return the series of a term. Raises NotContinuousError where it is not computed."""
        total = Series({}, TERMS)
        for mono, c in poly.items():
            total = total + self.of_mono(mono) * _number(Poly({(): c}))
        return total

    def of_mono(self, mono: Mono) -> Series:
        product = _number(ONE)
        for a, e in mono:
            product = product * self.of_power(a, e)
        return product

    def of_power(self, a: Atom, e: Exponent) -> Series:
        """Return the series of a^e: a small power, a coefficient, or the Taylor series of a function of a series."""
        small_power = self.small.order(a, e)
        if small_power is not None:
            order, coefficient = small_power
            if not isinstance(order, int):
                raise NotContinuousError("a root of what is small")
            return Series({order: coefficient}, TERMS + order)
        if not self._moves(a):
            return _number(monomial({a: e}))
        if isinstance(a, Exp):
            argument = self.of(Poly({a.mono: fmpq(Fraction(e).numerator, Fraction(e).denominator)}))
            start = self._start(argument)
            return self._taylor(argument, lambda k: exp_of(start).scale(fmpq(1, factorial(k))))
        if isinstance(a, Fn) and a.name in _ANALYTIC:
            argument = self.of(a.args[0])
            return self._whole(self._taylor(argument, self._derivatives(a.name, self._start(argument))), e)
        if isinstance(a, Base):
            return self._raised(self.of(a.poly), e)
        raise NotContinuousError(f"{type(a).__name__} of what is small")

    def _moves(self, a: Atom) -> bool:
        """Return whether an atom contains a small one. Raises NotContinuousError for a sum or maximum that does."""
        every = (a, *(b for part in a.parts() for b in deep_atoms(part)))
        contains_small = any(self.small.order(b, 1) is not None for b in every)
        if contains_small and isinstance(a, (Sum, Max)):
            raise NotContinuousError("a sum of what is small")
        return contains_small

    def _start(self, argument: Series) -> Poly:
        """Return the value of a series at ε = 0. Raises NotContinuousError where it has none."""
        if argument.first < 0 or argument.end <= 0:
            raise NotContinuousError("a function of what is unbounded")
        return argument.terms.get(0, NOTHING)

    def _derivatives(self, name: str, start: Poly) -> Callable[[int], Poly]:
        """Return the function of k whose values are the Taylor coefficients f⁽ᵏ⁾(start)/k!."""
        if not self.at.smooth(name, start):
            raise NotContinuousError(f"{name} at {start.key}")
        u = access(_U, ())
        derivatives = [log_of(u) if name == "log" else fn(name, u)]
        differentiate = Differentiator({_U: _DU})

        def coefficient(k: int) -> Poly:
            while len(derivatives) <= k:
                slope = differentiate(derivatives[-1])
                derivatives.append(
                    replaced(slope, lambda a: ONE if isinstance(a, Access) and a.tensor == _DU else None)
                )
            at = Rewriter(replace=lambda a: start if isinstance(a, Access) and a.tensor == _U else None)
            return at(derivatives[k]).scale(fmpq(1, factorial(k)))

        return coefficient

    def _taylor(self, argument: Series, coefficient: Callable[[int], Poly]) -> Series:
        """Return Σ cₖ·δ^k with cₖ = coefficient(k), where δ is the argument without its term of order 0."""
        change = argument.without_first()
        total, raised = _number(coefficient(0)), _number(ONE)
        for k in range(1, TERMS + 1):
            raised = raised * change
            if raised.first >= min(TERMS, argument.end):
                break
            total = total + raised * _number(coefficient(k))
        return Series({k: c for k, c in total.terms.items() if k < argument.end}, min(total.end, argument.end))

    def _whole(self, series: Series, e: Exponent) -> Series:
        """Return a power of a series: by multiplication if e is a positive integer, else by the binomial series."""
        if isinstance(e, int) and e > 0:
            out = series
            for _ in range(e - 1):
                out = out * series
            return out
        return self._raised(series, e)

    def _raised(self, series: Series, e: Exponent) -> Series:
        """Return (ε^m·c·(1 + δ))^e = ε^(m·e)·c^e·Σ binomial(e, k)·δ^k for a series with the first term c·ε^m.

        Raises NotContinuousError unless c ≠ 0, for a fraction e also c > 0, and m·e is an integer.
        """
        if not series.terms:
            raise NotContinuousError("a power of what may be 0")
        m = series.first
        lead = series.terms[m]
        signs = self.at.facts.signs(lead)
        order = Fraction(e) * m
        if signs & ZERO or (isinstance(e, Fraction) and signs & NEG) or order.denominator != 1:
            raise NotContinuousError("a power of what may be 0")
        scaled = series.shifted(-m) * _number(power(lead, -1))
        binomials = [Fraction(1)]
        for k in range(TERMS + 1):
            binomials.append(binomials[-1] * (Fraction(e) - k) / (k + 1))
        raised = self._taylor(scaled, lambda k: number(binomials[k]))
        return (raised * _number(power(lead, e))).shifted(int(order))


def continuous(polys: Iterable[Poly], asked: Continuity) -> bool:
    """Return whether all terms are shown to be continuous in the entries that move, wherever the facts hold."""
    try:
        for poly in polys:
            asked.check(poly)
    except (NotContinuousError, UndefinedTermError, NoDerivativeError, ArithmeticError):
        return False
    return True
