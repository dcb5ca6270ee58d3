"""Index expressions as terms: as numbers, and as the conditions [e ≥ 0] and [e = 0].

A condition becomes 1 or 0 where its form decides it: by the ranges that the caller gives, and as an index is never
negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from flint import fmpq

from .atoms import Access, Dim, IndexNumber, access
from .index import IntegerAtom, Ix, IxTerm, combine, of_atom, of_const, of_term, whole_number
from .integers import Chosen, Entry, Quotient, Remainder, Rounded, RowMajor, where_equal
from .polynomials import ONE, ZERO, Poly, monomial, poly_of
from .predicates import IxEq, IxPred
from .session import intern
from .variables import Var

Ranges = Mapping[Var, Poly]
"""Variables with their ranges: 0 ≤ v < range."""
NO_RANGES: Ranges = {}


def index_number(ix: Ix) -> Poly:
    """Return the value of an index expression as a term over the real numbers."""
    from .power import fn
    from .rewriting import substitute  # which is made of index terms

    total = ix.const
    for v, c in ix.terms:
        m = whole_number(v.divisor) if isinstance(v, Quotient) else None
        if isinstance(v, Quotient) and m is not None and any(isinstance(t, Rounded) for t in v.ix.atoms):
            value = fn("floor", index_number(v.ix).scale(fmpq(1, m)))  # a quotient of rounded reals is written as floor
        elif isinstance(v, Rounded):
            value = substitute(v.body, {("p", k, 0): inner for k, inner in enumerate(v.arguments)})
        else:
            value = access(v.tensor, v.index) if isinstance(v, Entry) else poly_of(intern(IndexNumber(v)))
        total = total + value.scale(c)
    return total


def as_index(poly: Poly) -> Ix | None:
    """Return the term as an index expression; None where it is no integer combination of indices, entries, dimensions.

    The caller makes sure that the term is an integer: every entry that occurs in it is taken for one of an integer
    tensor.
    """
    parts: list[tuple[int, Ix]] = []
    for mono, c in poly.items():
        if c.q != 1:
            return None
        atom = mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None
        if isinstance(atom, IndexNumber):
            parts.append((int(c.p), of_term(atom.var)))
        elif isinstance(atom, Access):
            parts.append((int(c.p), of_atom(Entry(atom.tensor, atom.index))))
        elif all(isinstance(a, Dim) and isinstance(e, int) and e > 0 for a, e in mono):
            parts.append((1, of_const(Poly({mono: c}))))
        else:
            return None
    return combine(parts)


def index_pred(ix: Ix, ranges: Ranges = NO_RANGES) -> Poly:
    """Return [ix ≥ 0] as a term, by a condition whose first variable has a positive coefficient.

    [1 − i ≥ 0] is 1 − [i − 2 ≥ 0].
    """
    if ix.terms and ix.terms[0][1] < 0:
        return ONE - index_condition(ix.scaled(-1).shifted(-ONE), ranges)
    return index_condition(ix, ranges)


def index_condition(ix: Ix, ranges: Ranges = NO_RANGES) -> Poly:
    """Return [ix ≥ 0] as one atom, so that a product stays a product when variables are renamed.

    It is a number where the ranges decide it, and a condition on rows and columns where two places in row-major order
    are compared.
    """
    if not ix.terms:
        return at_least(ix.const)
    places = _row_major_places(ix)
    if places is not None:
        (a, b), (c, d), shift = places
        return index_condition(a.minus(c).shifted(-ONE), ranges) + index_equal(a.minus(c), ranges) * index_condition(
            b.minus(d).shifted(shift), ranges
        )
    least, most = bounds(ix, ranges)
    if least is not None and at_least(least) == ONE:
        return ONE
    if most is not None and at_least(most).is_zero:
        return ZERO
    # A chosen integer has no linear order with others: a bound that one value meets, or one fails, is an equation.
    if len(ix.terms) == 1 and isinstance(ix.terms[0][0], Chosen):
        if most is not None and most.is_zero:
            return index_equal(ix)
        if least is not None and (least + ONE).is_zero:
            return ONE - index_equal(ix.shifted(ONE))
    return poly_of(intern(IxPred(_reduced(ix))))


def index_equal(ix: Ix, ranges: Ranges = NO_RANGES) -> Poly:
    """Return [ix = 0] as a term, written so that its first variable has a positive coefficient.

    It is 0 where the ranges or a common factor of the coefficients exclude it; an equation between two places in
    row-major order becomes one of their rows and one of their columns.
    """
    ix = where_equal(ix)
    if not ix.terms:
        return at_least(ix.const) * at_least(-ix.const)
    if ix.terms[0][1] < 0:
        ix = ix.scaled(-1)
    places = _row_major_places(ix)
    if places is not None and places[2].is_zero:
        (a, b), (c, d), _ = places
        return index_equal(a.minus(c), ranges) * index_equal(b.minus(d), ranges)
    least, most = bounds(ix, ranges)
    if (least is not None and at_least(least - ONE) == ONE) or (most is not None and at_least(most).is_zero):
        return ZERO
    # A common factor divides the left side but for its number: if not that too, it is never 0.
    common = gcd(*(c for _, c in ix.terms))
    if all((c / common).q == 1 for mono, c in ix.const.items() if mono):
        if any((c / common).q != 1 for _, c in ix.const.items()):
            return ZERO  # [2i + 2n − 1 = 0]: the left side is odd
        ix = Ix(tuple((v, c // common) for v, c in ix.terms), ix.const.scale(fmpq(1, common)))
    return poly_of(intern(IxEq(ix)))


def _row_major_places(ix: Ix) -> tuple[tuple[Ix, Ix], tuple[Ix, Ix], Poly] | None:
    """Return ((a, b), (c, d), t) where ix = a·m + b − (c·m + d) + t compares two places in row-major order; else None.

    m is the number of columns, (a, b) and (c, d) are row and column of each place, and t is 0 or −1. With 0 ≤ b < m and
    0 ≤ d − t ≤ m, ix ≥ 0 is the same as a > c, or a = c and b ≥ d − t: where a < c, a·m + b < c·m. For t = 0 and
    0 ≤ d < m, ix = 0 is the same as a = c and b = d. The second place may also be a size: q·m, q·m + 1 or q·m − 1.
    """
    if len(ix.terms) == 2 and {c for _, c in ix.terms} == {1, -1} and ix.const.constant() in (0, -1):
        (left, sign), (right, _) = ix.terms
        if isinstance(left, RowMajor) and isinstance(right, RowMajor) and left.stride == right.stride:
            first, second = (left, right) if sign == 1 else (right, left)
            return (first.major, first.minor), (second.major, second.minor), ix.const
    if len(ix.terms) == 1 and ix.terms[0][1] == 1 and isinstance(place := ix.terms[0][0], RowMajor):
        size, m = -ix.const, place.stride
        for rest, shift in ((ZERO, ZERO), (m - ONE, ZERO), (ZERO, -ONE)):
            q = ZERO if (size - rest + shift).is_zero else divided(size - rest + shift, m)
            if q is not None:
                return (place.major, place.minor), (of_const(q), of_const(rest)), shift
    return None


def divided(n: Poly, divisor: Poly) -> Poly | None:
    """Return n / divisor where the quotient is a dimension expression with whole coefficients, and not 0; else None."""
    single = divisor.single()
    if single is None:
        return None
    out = (n * monomial({a: -e for a, e in single[0]})).scale(1 / single[1])
    whole = all(c.q == 1 and all(isinstance(e, int) and e > 0 for _, e in m) for m, c in out.items())
    return out if whole and not out.is_zero else None


def index_within(ix: Ix, size: Poly, ranges: Ranges = NO_RANGES) -> Poly:
    """Return [0 ≤ ix < size]."""
    if size == ONE:
        return index_equal(ix, ranges)
    return index_pred(ix, ranges) * index_pred(ix.scaled(-1).shifted(size - ONE), ranges)


def _reduced(ix: Ix) -> Ix:
    """Return e such that [e ≥ 0] is [ix ≥ 0], with common factors of the coefficients divided out.

    [2i − 1 ≥ 0] is [i − 1 ≥ 0]: the number is rounded down after the division, as e is an integer.
    """
    common = gcd(*(c for _, c in ix.terms))
    if common == 1:
        return ix
    whole = {m: (c / common) if m else fmpq((c / common).floor()) for m, c in ix.const.items()}
    if any(c.q != 1 for c in whole.values()):
        return ix
    return Ix(tuple((v, c // common) for v, c in ix.terms), Poly({m: c for m, c in whole.items() if c != 0}))


def bounds(ix: Ix, ranges: Ranges) -> tuple[Poly | None, Poly | None]:
    """Return the least and the largest value of the expression, as dimension expressions; None where not known."""
    least: Poly | None = ix.const
    most: Poly | None = ix.const
    for v, c in ix.terms:
        low, top = _ends(v, ranges)
        if low is None:
            return None, None
        first, last = (low, top) if c > 0 else (top, low)
        least = least + first.scale(c) if least is not None and first is not None else None
        most = most + last.scale(c) if most is not None and last is not None else None
    return least, most


def _ends(v: IxTerm, ranges: Ranges) -> tuple[Poly | None, Poly | None]:
    """Return the least and the largest value of an index variable or an integer atom; None where not known."""
    if isinstance(v, Remainder):
        return ZERO, v.divisor - ONE
    if isinstance(v, Chosen):
        return ZERO, v.room - ONE
    if isinstance(v, Quotient):
        rows = _rows(v, ranges)
        return (None, None) if rows is None else (ZERO, rows - ONE)
    if isinstance(v, Rounded):
        from .rounded import bounds_of_number  # which is made of index terms

        return bounds_of_number(v.body.atom())
    if isinstance(v, IntegerAtom) or v[0] == "s":
        return None, None
    return ZERO, ranges[v] - ONE if v in ranges else None


def _rows(a: Quotient, ranges: Ranges) -> Poly | None:
    """Return q with 0 ≤ ⌊e / m⌋ < q, as 0 ≤ e < q·m, for the quotient ⌊e / m⌋; None where none is known."""
    least, most = bounds(a.ix, ranges)
    if least is None or most is None or at_least(least) != ONE:
        return None
    return divided(most + ONE, a.divisor)


def at_least(const: Poly) -> Poly:
    """Return [const ≥ 0] for a dimension expression: 1 or 0 where its form decides it, else a condition on sizes."""
    if const.is_zero or const.positive or not_negative(const):
        return ONE
    if (-const).positive or not_negative(-const - ONE):
        return ZERO
    if const.sorted_items()[-1][1] < 0:
        return ONE - poly_of(intern(IxPred(of_const(-const - ONE))))
    return poly_of(intern(IxPred(of_const(const))))


def not_negative(const: Poly) -> bool:
    """Return whether a dimension expression is ≥ 0 at all sizes ≥ 1, by its form.

    If no coefficient but the constant's is negative, the expression is least where all sizes are 1. False where the
    form does not show it, as for a size that may be 0, such as floordiv(n, 2).
    """
    total = 0
    for mono, c in const.items():
        if mono and (c < 0 or not all(isinstance(a, Dim) and a.positive and e in (1, 2, 3) for a, e in mono)):
            return False
        total = total + c
    return bool(total >= 0)
