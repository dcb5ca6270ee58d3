"""Predicates: atoms whose value is 0 or 1, and the laws of their products.

A predicate is idempotent, [φ]² = [φ], and the product of two predicates that exclude each other is 0.
"""

from __future__ import annotations

from flint import fmpq

from .exponents import Exponent
from .index import Ix
from .law import Law, applied
from .polynomials import Atom, Factors, Poly
from .session import Memo, intern

_ONE = fmpq(1)


class Predicate(Atom):
    """An atom whose value is 0 or 1."""

    __slots__ = ()
    any_exponent = False
    conditional = True

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        if e < 0:
            raise ArithmeticError("a predicate has no inverse")
        if e != 1:
            applied(Law.IDEMPOTENT)
        return _ONE, None, 1


class Sign(Predicate):
    """A predicate on the sign of a polynomial: those of p and −p exclude each other."""

    __slots__ = ("poly",)
    poly: Poly

    def parts(self) -> list[Poly]:
        return [self.poly]

    @classmethod
    def together(cls, factors: Factors) -> Factors | None:
        """Return the factors; None where two of them are [p > 0] and [−p > 0], whose product is 0."""
        signs = [a for a, _ in factors if type(a) is cls]
        if len(signs) > 1:
            keys = {a.poly.key for a in signs}
            if any(_opposite(a) in keys for a in signs):
                applied(Law.OPPOSITES)
                return None
        return factors


class Pred(Sign):
    """[p > 0]: 1 where p > 0, else 0."""

    __slots__ = ()

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"[{poly.key}>0]", poly.free, poly.level, False, True, poly.structured)


class Side(Sign):
    """[p > 0] in a derivative: equal to [p > 0] where p ≠ 0; where p = 0 it stands for its value on either side."""

    __slots__ = ()

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"[{poly.key}>~0]", poly.free, poly.level, False, True, poly.structured)


class IxPred(Predicate):
    """[e ≥ 0] for an index expression e."""

    __slots__ = ("ix",)

    def __init__(self, ix: Ix) -> None:
        self.ix = ix
        self._finish(f"[{ix.key}>=0]", frozenset(ix.free), 0, False, True, True)

    @classmethod
    def together(cls, factors: Factors) -> Factors | None:
        return _without_implied_conditions(factors)


class IxEq(Predicate):
    """[e = 0] for an index expression e."""

    __slots__ = ("ix",)

    def __init__(self, ix: Ix) -> None:
        self.ix = ix
        self._finish(f"[{ix.key}==0]", frozenset(ix.free), 0, False, True, True)


PREDICATES = (Pred, Side, IxPred, IxEq)
"""Atoms whose value is 0 or 1."""
INDEX_PREDICATES = (IxPred, IxEq)


class Confined(Atom):
    """An atom that is 0 unless an index expression is not negative."""

    __slots__ = ()
    conditional = True

    def bound(self) -> Ix | None:
        """Return an index expression such that the atom is 0 where it is negative; None where there is none."""
        raise NotImplementedError


_opposites: Memo[Atom, str] = Memo()


def _opposite(a: Sign) -> str:
    """Return the key of −p for the predicate [p > 0]."""
    key = _opposites.table.get(a)
    if key is None:
        key = _opposites.table[a] = (-a.poly).key
    return key


def _without_implied_conditions(factors: Factors) -> Factors | None:
    """Return the factors without conditions [e ≥ 0] that another factor implies; None where two exclude each other.

    An entry of a triangular matrix implies one too: it is 0 unless row ≥ column. [e ≥ 0]·[−e ≥ 0] becomes [e = 0].
    """
    out = [(a, e) for a, e in factors if type(a) is not IxPred]
    bounds = [bound for a, e in out if isinstance(a, Confined) and e > 0 and (bound := a.bound()) is not None]
    conditions = [a for a, _ in factors if isinstance(a, IxPred)]
    for a in conditions:
        implied = opposite = False
        for ix in (*bounds, *(b.ix for b in conditions if b is not a)):
            if (c := _offset(a.ix, ix, -1)) is not None:
                if c < 0:
                    applied(Law.INDEX_CONDITIONS)
                    return None
                opposite = opposite or c == 0
            elif (c := _offset(a.ix, ix, 1)) is not None:
                implied = implied or c >= 0
        if opposite or implied:
            applied(Law.INDEX_CONDITIONS)
        if opposite:
            equation = intern(IxEq(a.ix if a.ix.terms[0][1] > 0 else a.ix.scaled(-1)))
            if (equation, 1) not in out:
                out.append((equation, 1))
        elif not implied:
            out.append((a, 1))
    return out


def _offset(a: Ix, b: Ix, sign: int) -> fmpq | None:
    """Return the number that a − b is (sign 1), or a + b (sign −1); None where their terms do not cancel."""
    if len(a.terms) != len(b.terms):
        return None
    for (v, c), (w, d) in zip(a.terms, b.terms, strict=True):
        if c != sign * d or v != w:
            return None
    return (a.const - b.const.scale(sign)).constant()
