"""Places of extrema, and of entries in order. Where entries are equal the first counts, in row-major order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.obligations.assume.conditions import Clause, Clauses, condition, merge_clauses
from certgrad.obligations.assume.isl import inhabited
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.order import all_different, argument_of, attained_once, place_in_order
from certgrad.obligations.terms.atoms import Max
from certgrad.obligations.terms.determined import CARRY
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.polynomials import ONE, Poly, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError
from certgrad.obligations.terms.predicates import PREDICATES, Pred
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, tensors_in

from ._registry import UnprovedError

Dummies = list[tuple[Var, Poly]]


# --- arguments -----------------------------------------------------------------------------------------------------


def _refuse_carries(polys: Sequence[Poly]) -> None:
    if any(name.startswith(CARRY) for p in polys for a in atoms_of(p) for name in tensors_in(a)):
        raise UnprovedError("a comparison of values that a loop carries")


def first_argmax(
    x: Tensor, over: Dummies, where: Poly, ranges: Mapping[Var, Poly]
) -> tuple[dict[Var, Ix], Clauses, Clauses]:
    """Return the first arg-maximum, by variable, where it is determined, and where it is locally constant."""
    defined, smooth = x.conditions_for_all(over)
    if not over:
        return {}, defined, smooth
    if not (all(n.positive for _, n in over) if where == ONE else inhabited(where, dict(over), ranges)):
        raise UnprovedError("an arg-extremum over a range that may be empty")
    _refuse_carries([x.body, where])
    try:
        place, atom = argument_of(x.body, over, where)
    except UndefinedTermError as error:
        raise UnprovedError(str(error)) from None
    return place, defined, merge_clauses(smooth, _steady(x, atom))


def _steady(x: Tensor, atom: Max | None) -> Clauses:
    """Conditions under which the argument is locally constant: it is unique, and no entry jumps."""
    if atom is None or x.kind == "i":
        return ()
    return (attained_once(atom), *_seams(atom.body), *_seams(atom.where))


def _seams(poly: Poly) -> Clauses:
    """Return the conditions that no predicate in the term is on its boundary, at any index."""
    out: list[Clause] = []
    for a in deep_atoms(poly):
        if isinstance(a, Pred):
            change = {v: of_var(fresh("q")) for v in a.free if v[0] == "b"}
            out += condition("!= 0", substitute(a.poly, change), "kink")
    return tuple(out)


FEW = 8
"""An arg-extremum over so many entries is written out where predicates alone determine them."""
MAX_CASES = 64
"""Cases of predicates in an arg-extremum that is written out; with more, it stays."""


def of_few(x: Tensor, v: Var, n: Poly) -> Tensor | None:
    """Return the first arg-maximum of a few entries that are numbers in each case of their predicates; else None.

    It is Σ over the cases of [the case]·(the first extremum there), which jumps where one of the predicates does.
    """
    count = n.constant()
    if count is None or count > FEW or x.infinite:
        return None
    places = [{v: of_const(number(k))} for k in range(int(count.p))]
    body = _first_by_cases([substitute(x.body, place) for place in places])
    if body is None:
        return None
    defined, smooth = ([c.substituted(place) for c in clauses for place in places] for clauses in (x.defined, x.smooth))
    return Tensor(x.shape, body, "i", merge_clauses(defined), merge_clauses(smooth), NONNEG)


def _first_by_cases(entries: list[Poly]) -> Poly | None:
    """The place of the first greatest entry; None where some case leaves an entry open, or there are too many."""
    total, left = NOTHING, MAX_CASES
    waiting = [(entries, ONE)]
    while waiting:
        here, guard = waiting.pop()
        if guard.is_zero:
            continue
        choice = next((a for p in here for a in atoms_of(p) if isinstance(a, PREDICATES)), None)
        if choice is not None:
            for value, holds in ((ONE, poly_of(choice)), (NOTHING, ONE - poly_of(choice))):
                decide = Rewriter(replace=lambda a, value=value, choice=choice: value if a is choice else None)  # type: ignore[misc]
                waiting.append(([decide(p) for p in here], guard * holds))
            continue
        known = [p.constant() for p in here]
        left -= 1
        if left < 0 or any(c is None for c in known):
            return None
        total = total + guard.scale(known.index(max(c for c in known if c is not None)))
    return total


# --- sorting -------------------------------------------------------------------------------------------------------


def coming_to(keys: Sequence[Tensor], v: Var, n: Poly, place: Ix, sign: int) -> tuple[Ix, Clauses, Clauses]:
    """Return the index, among v < n, of the entry at a place of the keys' order, its conditions, and where it is
    locally constant.

    `sign` is that of the first key in these conditions.
    """
    if not n.positive:
        raise UnprovedError("an order of entries of which there may be none")
    entries = [k.body for k in keys]
    _refuse_carries(entries)
    found = place_in_order(entries, v, n, place)
    steady: Clauses = ()
    if keys[0].kind == "f":  # where its entries differ, the order is theirs alone, and does not change around them
        steady = (all_different(entries[0].scale(sign), v, n), *_seams(entries[0]))
    elif any(k.kind == "f" for k in keys):
        raise UnprovedError("an order by integers first")
    conditions = [k.conditions_for_all([(v, n)]) for k in keys]
    return found, merge_clauses(*(d for d, _ in conditions)), merge_clauses(*(s for _, s in conditions), steady)
