"""Integer terms as index expressions: numbers that iota makes, entries of integer tensors, and choices among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certgrad.obligations.assume.conditions import IN_RANGE, Clause, Clauses, condition
from certgrad.obligations.assume.index_cases import failing, holding
from certgrad.obligations.assume.isl import Condition, feasible
from certgrad.obligations.laws.places import FEW_PLACES
from certgrad.obligations.terms.index import Ix, of_const, whole_number
from certgrad.obligations.terms.index_terms import NO_RANGES, Ranges, index_equal, index_number, index_pred
from certgrad.obligations.terms.integers import RANK, Chosen
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.predicates import PREDICATES, IxEq, IxPred
from certgrad.obligations.terms.rewriting import Rewriter, replaced, substitute
from certgrad.obligations.terms.rounded import as_rounded_index, is_number_of_places
from certgrad.obligations.terms.sums import open_sum
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import atoms_of, indices_of

from ._registry import UnprovedError

MAX_CHOICES = 64
"""Cases of one index, at most; with more, the program is unproved."""


@dataclass(frozen=True)
class Case:
    """An index expression, and when an index is that: its guard (0 or 1), and the guard's conditions on indices.

    A guard can say more than its conditions, when real predicates take part.
    """

    guard: Poly
    ix: Ix
    conditions: tuple[Condition, ...] = ()

    @property
    def is_its_conditions(self) -> bool:
        """The guard says what the conditions say, and no more."""
        return self.guard == _product(self.conditions)

    def where(self, holds: Poly, condition: Condition, ix: Ix | None = None) -> Case:
        return Case(self.guard * holds, ix or self.ix, (*self.conditions, condition))


def index_cases(poly: Poly, quotients: bool = True) -> list[Case]:
    """Return the term as index expressions, each under a guard: where(i < 0, i + n, i) is i + n under [i < 0], else i.

    Exactly one guard is 1. With `quotients`, an index may have rounded quotients in it, as ⌊i/2⌋, and the number of
    places of a short axis at which a condition holds is written out first. Only predicates on indices are conditions of
    a case: those on real numbers stand in its guard alone. Raises UnprovedError where a case is no index expression.
    """
    out: list[Case] = []

    def visit(p: Poly, guard: Poly, conditions: tuple[Condition, ...]) -> None:
        """Add the cases of an index, by whether each predicate in it holds. Raises UnprovedError where a case is no
        index.
        """
        if guard.is_zero:
            return
        choice = next((a for a in atoms_of(p) if isinstance(a, PREDICATES)), None)
        if choice is None:
            ix = as_rounded_index(p, quotients)
            if ix is None:
                raise UnprovedError("an index that is not an integer combination of indices, entries and sizes")
            out.append(Case(guard, ix, conditions))
            if len(out) > MAX_CHOICES:
                raise UnprovedError("an index with too many cases")
            return
        for value, holds in ((ONE, poly_of(choice)), (NOTHING, ONE - poly_of(choice))):

            def decide(a: Atom, value: Poly = value, choice: Atom = choice) -> Poly | None:
                return value if a is choice else None

            more: tuple[Condition, ...] = ()
            if isinstance(choice, (IxPred, IxEq)):
                more = (holding(choice) if value is ONE else failing(choice),)
            visit(Rewriter(replace=decide)(p), guard * holds, (*conditions, *more))

    visit(replaced(poly, _few_places) if quotients else poly, ONE, ())
    return out


def _few_places(a: Atom) -> Poly | None:
    """The number of places of a short axis at which a condition holds, written out.

    Of entries that are counted by their places in an order of the axis, `thresholds` knows more than that.
    """
    if (
        not is_number_of_places(a)
        or len(a.vars) > 1
        or (count := whole_number(a.ranges[0])) is None
        or count > FEW_PLACES
    ):
        return None
    ((v, _),), body = open_sum(a)
    if any(
        isinstance(t, Chosen) and t.comparison.kind == RANK and v in t.free for ix in indices_of(body) for t in ix.atoms
    ):
        return None
    return sum((substitute(body, {v: of_const(number(k))}) for k in range(count)), NOTHING)


def in_range(case: Case, room: Poly, ranges: Mapping[Var, Poly]) -> Clauses:
    """The condition 0 ≤ ix ≤ room, asked where the case holds, as far as ranges and the case do not show it."""
    out: list[Clause] = []
    for e in (case.ix, case.ix.scaled(-1).shifted(room)):
        fails = (e.scaled(-1).shifted(-ONE), ">=")
        if not feasible([*case.conditions, fails], ranges):
            continue
        clauses = condition(">= 0", index_number(e), IN_RANGE)
        # Where the case does not hold the condition may be true anyway: then it is said without the guard.
        always = case.guard == ONE or (
            case.is_its_conditions and all(not feasible([opposite(c), fails], ranges) for c in case.conditions)
        )
        out += clauses if always else [c.guarded(case.guard, True) for c in clauses]
    return tuple(out)


def opposite(condition: Condition) -> Condition:
    ix, relation = condition
    if relation == ">=":
        return ix.scaled(-1).shifted(-ONE), ">="
    return ix, "=" if relation == "!=" else "!="


def _product(conditions: Sequence[Condition]) -> Poly:
    """The product of the conditions, as 0 or 1."""
    total = ONE
    for ix, relation in conditions:
        holds = index_pred(ix) if relation == ">=" else index_equal(ix)
        total = total * (ONE - holds if relation == "!=" else holds)
    return total


def moved_into(case: Case, last: Poly, ranges: Ranges = NO_RANGES) -> list[Case]:
    """The case with its index moved into [0, last]."""
    if last.is_zero:
        return [Case(case.guard, of_const(NOTHING), case.conditions)]
    above, below = case.ix.shifted(-last - ONE), case.ix.scaled(-1).shifted(-ONE)
    over, under = index_pred(above, ranges), index_pred(below, ranges)
    out = [
        case.where(under, (below, ">="), of_const(NOTHING)),
        case.where(over, (above, ">="), of_const(last)),
        case.where(ONE - over, opposite((above, ">="))).where(ONE - under, opposite((below, ">="))),
    ]
    return [c for c in out if not c.guard.is_zero]
