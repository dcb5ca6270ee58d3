"""A point at which a term is not 0: what holds there is not proved, and need not be tried.

To show that two terms are equal takes the calculus; that they are not, a point. Where several things may be equal, as
the carries of loops, most are not. A point only ever ends an attempt: nothing is proved by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import cycle
from random import Random

from flint import arb, fmpq

from certgrad.obligations.assume.index_cases import Indices
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
"""Of dimensions, in turn, at each point."""
TRIES = 8
"""Places in the ranges are drawn so often, until the conditions on them hold."""


def differs(poly: Poly, region: Region) -> bool:
    """The term is not 0 at one of a few points where the assumptions hold; False where that does not show.

    Entries are numbers between 1/4 and 7/4. Where more than ranges of indices and conditions on them is assumed, no
    point is looked at.
    """
    if region.facts.facts or region.clauses or not poly.free <= region.indices.ranges.keys():
        return False
    solved = {s.name for s in implicit()}
    if any(solved & tensors_in(a) for mono in poly for a, _ in mono):
        return False
    if any(isinstance(t, Entry) for ix in indices_of(poly) for t in ix.atoms):
        return False  # entries of it are integers
    return any(_nonzero(poly, region, sizes, seed) for seed, sizes in enumerate(SIZES))


def _nonzero(poly: Poly, region: Region, sizes: tuple[int, ...], seed: int) -> bool:
    dims: Mapping[str, int] = defaultdict(cycle(sizes).__next__)
    drawn: dict[tuple[str, tuple[int, ...]], fmpq] = {}

    def entry(tensor: str, place: tuple[int, ...]) -> fmpq:
        found = drawn.get((tensor, place))
        if found is None:
            found = drawn[tensor, place] = fmpq(random.randint(250, 1750), 1000)
        return found

    random = Random(seed)
    try:
        places = _places(region.indices, dims, entry, random)
        if places is None:
            return False
        value = evaluate(poly, dims, entry, places)
    except (UndecidedError, ArithmeticError, LookupError, TypeError, ValueError):
        return False  # it has no value there, or none that is known
    return bool(value.is_finite() and value != 0)


def _places(indices: Indices, dims: Mapping[str, int], entry: Values, random: Random) -> dict[Var, int] | None:
    """Values of the free indices, in their ranges, where the conditions hold; None where none are found."""
    for _ in range(TRIES):
        places: dict[Var, int] = {}
        for v, n in indices.ranges.items():
            places[v] = random.randrange(int(evaluate(n, dims, entry).unique_fmpz()))
        if all(_holds(evaluate(index_number(ix), dims, entry, places), r) for ix, r in indices.conditions):
            return places
    return None


def _holds(value: arb, relation: str) -> bool:
    return bool(value >= 0 if relation == ">=" else value == 0 if relation == "=" else value != 0)
