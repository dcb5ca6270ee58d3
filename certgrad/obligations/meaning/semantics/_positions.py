"""Entries at positions that values hold: where a window begins, and which updates meet an entry.

An integer of an operand that stands in an index, or is compared with one, is an index in each of its cases: as it is,
or counted from the end where it is negative, or moved into a range. The entry at each of them is a case of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, product
from operator import add, mul
from typing import TYPE_CHECKING

from certgrad.language import tree as t
from certgrad.obligations.assume.conditions import Clauses, Relation, condition, merge_clauses
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.isl import Condition, feasible, inhabited
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.tensor import Tensor, for_all
from certgrad.obligations.laws.order import argument_of, may_be_empty
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_number, index_within
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, poly_of
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.predicates import IxEq
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, mentions, tensors_in

from . import _elementwise as of
from . import _folds as folds
from ._index_numbers import Case, in_range, index_cases, moved_into
from ._infinite import finite
from ._opaque import Opaque
from ._places import clamped, rounded
from ._registry import Params, UnprovedError

if TYPE_CHECKING:
    from ._specified import Binder, Dummies, Entry

BINDERS = (t.Fold, t.Minimum, t.ForAll, t.Exists, t.Chosen, t.Least)


def places_in(x: t.Node, compared: bool = False) -> list[t.Node]:
    """Integers of operands at which entries stand, or that are compared with indices, as they are moved into ranges."""
    found: dict[t.Node, None] = {}

    def look(node: t.Node, is_place: bool) -> None:
        if isinstance(node, BINDERS):
            return
        if is_place and (isinstance(node, t.SortedEntry) or ((moved := clamped(node)) and _has_entries(moved[0]))):
            found.setdefault(node)
            return
        if isinstance(node, t.Compare):
            is_place = compared and any(map(_has_indices, t.children(node)))
        for child in t.children(node):
            look(child, is_place or (isinstance(node, t.SortedEntry) and not compared))

    look(x, False)
    return list(found)


def _has_entries(x: t.Node) -> bool:
    return any(isinstance(part, t.SortedEntry) for part in t.walk(x))


def _has_indices(x: t.Node) -> bool:
    """Return whether an expression has indices in it, other than those of entries."""
    return isinstance(x, t.Index) or (not isinstance(x, t.SortedEntry) and any(map(_has_indices, t.children(x))))


def tensor_with_conditions(r: Entry, x: t.Node) -> Tensor:
    """Return an expression with entries at positions that values hold, with its conditions on these."""
    asked: Clauses = ()
    while True:
        match x:
            case t.Given(holds, value) if rounded(x) is None:
                asked, x = merge_clauses(asked, _required(r, holds)), value
            case t.If(t.Both() as holds, value, t.Integer() | t.Infinity()) if places_in(value) and _has_entries(holds):
                asked, x = (
                    merge_clauses(asked, _required(r, holds)),
                    value,
                )  # an integer or ∞ that fills in is not looked at
            case _:
                break
    places = places_in(x)
    out = by_cases(r, x, places) if places else r.tensor(x)
    return (
        replace(out, defined=merge_clauses(out.defined, asked), smooth=merge_clauses(out.smooth, asked))
        if asked
        else out
    )


def by_cases(r: Entry, x: t.Node, places: Sequence[t.Node]) -> Tensor:
    """Return the tensor of an expression that reads entries at positions which integers hold: a choice between its
    values, one for each way in which these positions can be indices.
    """
    parts: list[tuple[Poly, Tensor]] = []
    for guard, _ in _each_case(r, places):
        parts += r.placed(x, guard)
    if not parts:
        raise UnprovedError("an index of which there is none")
    kept = [part for part in parts if part[1] is not parts[-1][1]]
    if len(kept) < len(parts) - 1:  # in each case the same tensor, where no other one is
        parts = [*kept, (ONE - reduce(add, (g for g, _ in kept), ZERO), parts[-1][1])]
    return of.chosen(r.shape, parts)


def _cases(r: Entry, place: t.Node) -> list[Case]:
    """An integer as indices, each with where it is that."""
    moved = clamped(place)
    e = moved[0] if moved else place
    for part in t.walk(e):
        if isinstance(part, t.SortedEntry):
            r.holding.setdefault(part.name)
    ranges = r.ctx.ranges | r.ranges
    found = index_cases(r.tensor(e).body)
    if len(found) > 1:
        found = [c for c in found if feasible(c.conditions, ranges)]
        # Exactly one of them holds: where they all say the same, that is so.
        found = [Case(ONE, found[0].ix)] if len({c.ix for c in found}) == 1 else found
    if moved is None:
        return found
    room = r.size_of(moved[1])
    if "mode" not in r.ctx.equation.params:  # no other way is left to the program
        r.ctx.in_range |= dict.fromkeys(c for case in found for c in in_range(case, room, ranges))
    return [c for case in found for c in moved_into(case, room, ranges)]


def _each_case(r: Entry, places: Sequence[t.Node]) -> Iterator[tuple[Poly, tuple[Condition, ...]]]:
    """Yield each case of the positions, in which they are known: a 0/1-valued term for it, and its conditions on
    indices.
    """
    for cases in product(*(_cases(r, place) for place in places)):
        guard = reduce(mul, (c.guard for c in cases), ONE)
        if not guard.is_zero:
            r.known |= {place: c.ix for place, c in zip(places, cases, strict=True)}
            r.chosen.clear()
            yield guard, tuple(chain.from_iterable(c.conditions for c in cases))
    for place in places:
        r.known.pop(place, None)


# --- what is asked of places


def _required(r: Entry, x: t.Node) -> Clauses:
    """A condition on places, as far as it is not shown."""
    match x:
        case t.Both((t.Compare("<=", t.Integer(0), left), t.Compare("<", right, size))) if left == right:
            last, ranges = r.size_of(size) - ONE, r.ctx.ranges | r.ranges
            return merge_clauses(*(in_range(case, last, ranges) for case in _cases(r, left)))
        case t.Both(parts):
            return merge_clauses(*(_required(r, part) for part in parts))
        case t.ForAll():
            over, _, body = r.opened(x)
            return for_all(_promised(r, body) if isinstance(body, t.Either) else _required(r, body), over)
        case t.Compare("<=", t.Fold(), t.Integer(1)):
            return ()  # where several updates may meet an entry, any one of them counts
    raise UnprovedError(f"a condition on places that is written with {type(x).__name__}")


def _promised(r: Entry, x: t.Either) -> Clauses:
    """Return the clauses under which `unique_indices` or `indices_are_sorted` holds for two rows of indices; no clause
    where that is proved.

    `x` says "these are not two rows, or the promise holds for them". The promise is about the indices as the program
    gets them: wrapping or clamping keeps it where they are in range, which is a part of the clauses. Raises
    UnprovedError for other forms.
    """
    no_pair, claim = x.parts
    places = [*dict.fromkeys(_compared(claim))]
    ranges = r.ctx.ranges | r.ranges
    ways = ([*c, *way] for _, c in _each_case(r, places) for way in _ways(r, x, False))
    if not any(feasible(way, ranges) for way in ways):
        return ()
    what = "unique" if isinstance(claim, t.Not) else "sorted"
    match no_pair:
        case t.Not(t.Compare("<", t.Index(a), t.Index(b))) if len(places) == 2:
            plain = [_as_given(r, place, what, within=isinstance(claim, t.Not)) for place in places]
            r.known |= {place: case.ix for place, case in zip(places, plain, strict=True)}
            (((ix, relation),),) = _ways(r, claim, False)
            later = index_condition(r.variables[b].minus(r.variables[a]).shifted(-ONE))
            for place in places:
                del r.known[place]
            kept = ("!= 0", ix.scaled(-1)) if relation == "=" else (">= 0", ix.scaled(-1).shifted(-ONE))
            origin = f"indices that are {what}"
            said = tuple(c.guarded(later, True) for c in condition(kept[0], index_number(kept[1]), origin))  # type: ignore[arg-type]
            relations: dict[str, Relation] = {">=": ">= 0", "=": "= 0", "!=": "!= 0"}
            return merge_clauses(
                *(condition(relations[s], index_number(e), origin) for e, s in plain[0].conditions), said
            )
    raise UnprovedError(f"a promise that indices are {what}, which is not shown")


def _compared(x: t.Node) -> Iterator[t.Node]:
    """Yield the terms compared in a statement."""
    for part in t.children(x):
        if isinstance(x, t.Compare):
            yield part
        else:
            yield from _compared(part)


def _as_given(r: Entry, place: t.Node, what: str, within: bool) -> Case:
    """The case in which a place is as it is given: of i + n where i < 0, and i, that is i ≥ 0.

    What is moved into a range has to be `within` it to differ where it is given so; it keeps its order anyway.
    """
    moved = clamped(place)
    cases = sorted(_cases(r, moved[0] if moved else place), key=lambda c: len(index_number(c.ix)))
    plain = cases[0]
    alike = len(cases) > 1 and len(index_number(plain.ix)) == len(index_number(cases[1].ix))
    if alike or not plain.is_its_conditions:
        raise UnprovedError(f"a promise that indices are {what}, which is not shown")
    if moved is None or not within:
        return plain
    before, beyond = plain.ix, plain.ix.scaled(-1).shifted(r.size_of(moved[1]))
    return replace(plain, conditions=(*plain.conditions, (before, ">="), (beyond, ">=")))


def _ways(r: Entry, x: t.Node, holds: bool) -> list[list[Condition]]:
    """Return the ways in which a condition on indices can hold, or fail; in each way all of its conditions hold."""
    match x:
        case t.Not(part):
            return _ways(r, part, not holds)
        case t.Both(parts) | t.Either(parts):
            each = [_ways(r, part, holds) for part in parts]
            if isinstance(x, t.Both) == holds:
                return [[*chain.from_iterable(way)] for way in product(*each)]
            return [*chain.from_iterable(each)]
        case t.Compare("<" | "<=", left, right):
            more = r.index(right).minus(r.index(left)).shifted(-ONE if x.relation == "<" else ZERO)
            return [[(more if holds else more.scaled(-1).shifted(-ONE), ">=")]]
        case t.Compare("=", left, right):
            return [[(r.index(left).minus(r.index(right)), "=" if holds else "!=")]]
    raise UnprovedError(f"a condition on places that is written with {type(x).__name__}")


# --- updates that meet an entry


@dataclass(frozen=True)
class Hits:
    """The updates that meet an entry."""

    over: Dummies
    where: Poly
    """1 where an update meets the entry."""
    value: Tensor
    """An update's entry."""
    cases: list[tuple[list[Condition], list[Ix]]]
    """In each case of their places, its conditions, and what is 0 where an update meets the entry."""

    def may_meet(self, r: Entry) -> bool:
        """Return whether two updates may write one entry; a promise that none do becomes a condition."""
        if _told_apart(r.ctx.equation.params):
            return False
        other = {v: of_var(fresh()) for v, _ in self.over}
        ranges = r.ctx.ranges | r.ranges | {w: n for v, n in self.over for w in other[v].free}
        return any(
            feasible([*order, *one, *((ix.subst(other), s) for ix, s in two), *same], ranges)
            for (one, here), (two, there) in product(self.cases, repeat=2)
            for same in [[(a.minus(b.subst(other)), "=") for a, b in zip(here, there, strict=True)]]
            for order in _earlier([(of_var(v), other[v]) for v, _ in self.over])
        )

    def total(self, of_each: Poly) -> Poly:
        """Σ over the updates that meet the entry."""
        return sum_over(self.where * of_each, self.over)

    def conditions(self) -> tuple[Clauses, Clauses]:
        """Those of all updates."""
        return self.value.conditions_for_all(self.over)


def _told_apart(params: Params) -> bool:
    """Return whether positions are promised to be unique, for windows with one entry along the axes at which they
    begin.
    """
    if not params.get("unique_indices"):
        return False
    spec = params["dimension_numbers"]
    return {*spec.scatter_dims_to_operand_dims} <= {*spec.inserted_window_dims}


def _earlier(pairs: Sequence[tuple[Ix, Ix]]) -> Iterator[list[Condition]]:
    """Yield the ways in which the first of each pair come before the second in lexicographic order."""
    equal: list[Condition] = []
    for a, b in pairs:
        yield [*equal, (b.minus(a).shifted(-ONE), ">=")]
        equal.append((a.minus(b), "="))


def _update_condition(x: t.Node) -> t.Node:
    """Return the condition on updates in a binder, or in "one meets an entry"."""
    while isinstance(x, (t.Fold, t.Minimum, t.Exists)):
        x = x.holds if isinstance(x, t.Exists) else x.body
    return x.condition if isinstance(x, t.If) else x


def meets_places(r: Entry, x: t.Node) -> bool:
    """Return whether a binder is over the updates that meet an entry."""
    return any(place not in r.known for place in places_in(_update_condition(x), compared=True))


def _hits(r: Entry, x: t.Node, value: t.Node = t.TRUE) -> Hits:
    """Return the updates that a binder is over, or the one that there is."""
    over, _, body = r.opened(x) if isinstance(x, (t.Fold, t.Minimum, t.Exists)) else ([], ONE, x)
    meets, value = (body.condition, body.then) if isinstance(body, t.If) else (body, value)
    assert isinstance(meets, t.Both)
    on_places = [part for part in meets.parts if not isinstance(part, (t.SortedEntry, t.Not))]
    value = meets.parts[-1] if len(on_places) < len(meets.parts) else value
    where, cases = ZERO, list[tuple[list[Condition], list[Ix]]]()
    for guard, conditions in _each_case(r, places_in(meets, compared=True)):
        here = reduce(mul, map(r.holds, on_places), guard)
        if not here.is_zero:
            equations = [r.index(x.left).minus(r.index(x.right)) for x in on_places if isinstance(x, t.Compare)]
            where, cases = where + here, [*cases, ([*conditions], equations)]
    return Hits(over, where, finite(r.tensor(value)), cases)


def folded(r: Entry, x: Binder) -> Tensor:
    """Return the sum, product or extremum of the updates that meet an entry."""
    hits = _hits(r, x)
    match x:
        case t.Fold("sum"):
            return folds.total(hits.value, hits.over, hits.where)
        case t.Fold("product"):
            if hits.may_meet(r):
                raise UnprovedError("a product of several updates, which may meet an entry twice")
            body, (defined, smooth) = ONE + hits.total(hits.value.body - ONE), hits.conditions()
            return Tensor(r.shape, body, hits.value.kind, defined, smooth, hits.value.signs | POS)
        case t.Exists():
            return folds.some(hits.value, hits.over, hits.where)
    raise UnprovedError(f"updates of which {type(x).__name__} is taken")


def replaced(r: Entry, x: t.If) -> Tensor:
    """Return an entry after updates replace it: the update where one meets it, else the old entry."""
    old, new = r.tensor(x.otherwise), x.then
    match new:
        case t.If(t.Compare("<", left), best):
            hits = _hits(r, best) if isinstance(best, (t.Fold, t.Minimum)) else _hits(r, x.condition, best)
            return _extremum(r, old, hits, 1 if left == x.otherwise else -1)
        case t.Fold("sum") | t.Exists():
            hits = _hits(r, new)
            met = hits if _update_condition(new) == _update_condition(x.condition) else _hits(r, x.condition)
        case _:
            hits = met = _hits(r, x.condition, new)
    if met.may_meet(r):
        return _one_of_several(r, old, hits, met)
    left_out = ONE - met.total(ONE)
    kept, own = of.guarded(old, left_out), hits.conditions()
    body, signs = hits.total(hits.value.body) + left_out * old.body, old.signs | hits.value.signs
    return Tensor(r.shape, body, old.kind, merge_clauses(kept[0], own[0]), merge_clauses(kept[1], own[1]), signs)


TWICE = "a scatter that may write an entry twice: which write wins is not defined"
MAX_TERMS = 2
"""Of how many terms a condition is by which it is asked which write counts: that of one index, from either end."""
ONE_COUNTS = "of several writes to one entry, which one counts is determined by the places that are written to"


def _one_of_several(r: Entry, old: Tensor, hits: Hits, met: Hits) -> Tensor:
    """What updates make of an entry that several of them may meet: one counts, and nothing is known of which.

    It is the one of the greatest number among those that meet the entry. These numbers are arbitrary: whatever counts
    at each entry, there are numbers that say so, as an update meets one entry at most.
    """
    if met.where != hits.where or not all(n.positive for _, n in hits.over):
        raise UnprovedError(TWICE)
    told, where = _told_by_entry(r, met)
    where = resolved(where, Indices(r.own_ranges | dict(met.over)))  # an entry that is met is within the axis
    over = [(v, n) for v, n in hits.over if v not in told]
    if not may_be_empty(where) and not inhabited(where, dict(over), r.own_ranges):
        raise UnprovedError(TWICE)
    depends = frozenset[str]().union(*(tensors_in(a) for a in atoms_of(where)))
    if r.ctx.everything_followed or not depends.isdisjoint(r.ctx.moving):
        raise UnprovedError(TWICE)
    others = sorted(where.free - {*dict(over), *r.own_ranges})
    index = (*(told.get(v, of_var(v)) for v, _ in hits.over), *map(of_var, others))
    _, unnamed = argument_of(access("writes", index), over, where)
    if unnamed is None:
        raise UnprovedError(TWICE)
    name = f"writes‹{hashlib.blake2b(unnamed.key.encode(), digest_size=6).hexdigest()}›"
    r.ctx.opaque[name] = Opaque(TWICE, depends)
    place = told | argument_of(access(name, index), over, where)[0]
    some, value = substitute(where, place), substitute(hits.value.body, place)
    if mentions(value, [name]):
        if len(where) > MAX_TERMS:
            raise UnprovedError(TWICE)
        r.ctx.note(ONE_COUNTS)
    kept, own = of.guarded(old, ONE - some), hits.conditions()
    body, signs = some * value + (ONE - some) * old.body, old.signs | hits.value.signs
    return Tensor(r.shape, body, old.kind, merge_clauses(kept[0], own[0]), merge_clauses(kept[1], own[1]), signs)


def _told_by_entry(r: Entry, hits: Hits) -> tuple[dict[Var, Ix], Poly]:
    """The variables that an entry's own indices determine, as along a window, and the condition that is left."""
    told, where = dict[Var, Ix](), hits.where
    for v, n in hits.over:
        for a in atoms_of(where):
            if not isinstance(a, IxEq) or abs(c := a.ix.coefficient(v)) != 1 or where * poly_of(a) != where:
                continue
            rest = a.ix.minus(of_var(v).scaled(c)).scaled(-c)
            if set(rest.free) <= r.own_ranges.keys():
                told[v], where = rest, substitute(where, {v: rest}) * index_within(rest, n, r.own_ranges)
                break
    return told, where


def _extremum(r: Entry, old: Tensor, hits: Hits, sign: int) -> Tensor:
    """Return the maximum, or with sign −1 the minimum, of an entry and the updates that are written to it."""
    combined = of.greater if sign > 0 else of.lesser
    nothing = old.infinite * sign < 0 and old.kept.is_zero
    old = old if nothing else finite(old)
    defined, smooth = hits.conditions()
    defined, smooth = merge_clauses(old.defined, defined), merge_clauses(old.smooth, smooth)
    if not nothing and not hits.may_meet(r):
        met = combined(old, hits.value, r.shape)
        body = old.body + hits.total(met.body - old.body)
        return Tensor(r.shape, body, old.kind, defined, smooth, old.signs | met.signs)
    if not may_be_empty(hits.where) and not inhabited(hits.where, dict(hits.over), r.own_ranges):
        raise UnprovedError("a scatter-max of several windows that leaves entries out")
    some = pred(hits.total(ONE))
    found = max_over(hits.value.body.scale(sign), hits.over, hits.where).scale(sign)
    made = Tensor(r.shape, found, old.kind, defined, smooth, hits.value.signs)
    if nothing:
        return replace(made, infinite=old.infinite, kept=some)
    met = combined(old, made, r.shape)
    body = old.body + some * (met.body - old.body)
    return replace(
        met, body=body, signs=old.signs | met.signs, defined=defined, smooth=merge_clauses(smooth, met.smooth)
    )
