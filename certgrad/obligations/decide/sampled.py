"""Points at which a term is not 0, where a proof that it is 0 need not be tried.

That two terms are equal is shown by the calculus; that they differ, by one point. Where many pairs of terms may be
equal, as the carries of loops, most pairs are not. A point only ever ends an attempt: no proof rests on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, product
from random import Random

from flint import fmpq

from certgrad.obligations.assume.signs import NEG, NONNEG, NONZERO, POS, ZERO
from certgrad.obligations.laws.solutions import implicit
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.index_terms import index_number
from certgrad.obligations.terms.integers import Entry
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import indices_of, tensors_in

from .cases import Region
from .evaluate import Values, evaluate

SIZES = ((2, 3), (3, 2))
"""Sizes of the dimensions, in turn, at each sampled point."""
TRIES = 8
"""The most draws of a point until one satisfies the assumptions; after them, the answer is open."""

Point = tuple[Mapping[str, int], Values, dict[Var, int]]
"""Sizes, entries, and values of the free indices."""


def differs(poly: Poly, region: Region) -> bool:
    """Return whether the term is shown not to be 0 at one of a few points where the assumptions hold.

    False says nothing: the term may be 0, or no value is known. Entries are random numbers between 1/4 and 7/4.
    """
    if not poly.free <= region.indices.ranges.keys() or any(f.signs == ZERO for f in region.facts.facts):
        return False
    solved = {s.name for s in implicit()}
    if any(solved & tensors_in(a) for mono in poly for a, _ in mono):
        return False
    if any(isinstance(t, Entry) for ix in indices_of(poly) for t in ix.atoms):
        return False  # entries of it are integers
    return any(_nonzero(poly, region, sizes, Random(seed)) for seed, sizes in enumerate(SIZES))


def _nonzero(poly: Poly, region: Region, sizes: tuple[int, ...], random: Random) -> bool:
    try:
        point = next((p for _ in range(TRIES) if _satisfies(p := _drawn(region, sizes, random), region)), None)
        value = None if point is None else evaluate(poly, *point)
    except (UndecidedError, ArithmeticError, LookupError, TypeError, ValueError):
        return False  # it has no value there, or none that is known
    return bool(value is not None and value.is_finite() and value != 0)


def _drawn(region: Region, sizes: tuple[int, ...], random: Random) -> Point:
    dims: Mapping[str, int] = defaultdict(cycle(sizes).__next__)
    entries: Mapping[tuple[str, tuple[int, ...]], fmpq] = defaultdict(lambda: fmpq(random.randint(250, 1750), 1000))

    def entry(tensor: str, place: tuple[int, ...]) -> fmpq:
        return entries[tensor, place]

    ends = {v: int(evaluate(n, dims, entry).unique_fmpz()) for v, n in region.indices.ranges.items()}
    return dims, entry, {v: random.randrange(n) for v, n in ends.items()}


def _satisfies(point: Point, region: Region) -> bool:
    """Return whether the region's assumptions hold at the point.

    An assumption with open indices, which holds at all of them, is tried at the first values of each.
    """
    dims, entry, places = point

    def sign(poly: Poly, here: Mapping[Var, int]) -> int:
        value = evaluate(poly, dims, entry, here)
        return POS if value > 0 else NEG if value < 0 else ZERO if value == 0 else 0

    def everywhere(free: Iterable[Var]) -> Iterator[Mapping[Var, int]]:
        others = [v for v in free if v not in places]
        for indices in product(range(max(SIZES[0])), repeat=len(others)):
            yield {**places, **dict(zip(others, indices, strict=True))}

    for ix, relation in region.indices.conditions:
        condition_sign = sign(index_number(ix), places)
        if not condition_sign & {">=": NONNEG, "=": ZERO, "!=": NONZERO}[relation]:
            return False
    for fact in region.facts.facts:
        if not all(sign(fact.poly, here) & fact.signs for here in everywhere(fact.poly.free)):
            return False
    for clause in region.clauses:
        for here in everywhere(clause.free):
            guarded = all((sign(g, here) == POS) == wanted for g, wanted in clause.guards)
            if guarded and not any(a.signs and sign(a.poly, here) & a.signs for a in clause.alternatives):
                return False
    return True
