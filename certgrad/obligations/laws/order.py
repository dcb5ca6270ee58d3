"""Maxima and their arguments: where a maximum is attained, whether at one index only, and what that makes of masks.

The arg-maximum is an integer that the entries determine, an index like any other. Where it is unique, max_j e(j) has
the derivative of e at it, and the mask [e(j) = max e] is [j = argmax e]. That it is unique is an ordinary condition:
the number of indices at which the maximum is attained is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flint import fmpq

from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.index_cases import Indices, holding, resolved
from certgrad.obligations.terms.atoms import Access, IndexNumber, Max, Product, Sum, access
from certgrad.obligations.terms.index import IntegerAtom, Ix, combine, of_atom, of_const, of_var
from certgrad.obligations.terms.index_terms import as_index, index_condition, index_equal
from certgrad.obligations.terms.integers import ORDER, Chosen, Comparison, by_entries, chosen, undone
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, mono_free, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.rewriting import Rewriter, substitute, variables_as_parameters, without_stops
from certgrad.obligations.terms.sums import maximum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_in_choices, atoms_of, deep_atoms, indices_of


def comparison(
    kind: str, variables: tuple[Var, ...], ranges: tuple[Poly, ...], bodies: tuple[Poly, ...], where: Poly = ONE
) -> tuple[Comparison, tuple[Ix, ...]]:
    """Return a comparison, which is a rule that chooses an index by entries, and the arguments for its parameters.

    The parameters stand for the free variables of the bodies and the condition; the arguments are these variables.
    """
    free = {v for p in (*bodies, where) for v in p.free} - {*variables}
    (*compared, condition), order = variables_as_parameters((*bodies, where), free)
    return Comparison(kind, variables, ranges, tuple(compared), condition), tuple(of_var(v) for v in order)


def argument(a: Max) -> tuple[Ix, ...]:
    """Return the first arg-maximum in row-major order, one expression for each bound variable."""
    rule, free = comparison("argmax", a.vars, a.ranges, (a.body,), a.where)
    return tuple(of_atom(Chosen(rule, k, free)) for k in range(len(a.vars)))


def argument_of(body: Poly, dummies: list[tuple[Var, Poly]], where: Poly) -> tuple[dict[Var, Ix], Max | None]:
    """Return the first arg-maximum over the variables, and the maximum, or None for it where all entries are equal.

    Raises UndefinedTermError where all entries are equal and not all indices take part.
    """
    _, a, bound = maximum(without_stops(body), dummies, without_stops(where))
    if a is None and where != ONE:
        raise UndefinedTermError("the first of equal entries among those that a mask leaves")
    place = {v: of_const(ZERO) for v, _ in dummies}
    return place | (dict(zip(bound, argument(a), strict=True)) if a is not None else {}), a


def opened(a: Max | Product) -> tuple[list[tuple[Var, Poly]], Poly, Poly]:
    """Return fresh variables with their ranges, and over them the body and the condition on indices that take part."""
    names = {v: fresh() for v in a.vars}
    rename = Rewriter({v: of_var(w) for v, w in names.items()})
    return [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)], rename(a.body), rename(a.where)


def attained_once(a: Max) -> Clause:
    """Return the condition that the arg-maximum is unique: Σ_j [e(j) = max e] = 1, if any index takes part."""
    clause = Clause((Atomic("= 0", _ties(a)),), origin="a unique maximum")
    if not may_be_empty(a.where):
        return clause
    dummies, _, where = opened(a)
    return clause.guarded(pred(sum_over(where, dummies)), True)


def may_be_empty(where: Poly) -> bool:
    """Return whether entries of integer tensors decide which values take part in a maximum.

    It may then be a maximum over nothing, as that of an empty segment.
    """
    return any(isinstance(a, (IxPred, IxEq)) and by_entries(a.ix) for a in atoms_of(where))


def _ties(a: Max) -> Poly:
    dummies, body, where = opened(a)
    return sum_over(where * (ONE - pred(poly_of(a) - body)), dummies) - ONE


def sole_maximum(clause: Clause) -> Max | None:
    """Return the maximum that the clause says is attained once, if it says that and nothing else; else None."""
    return maximum_once(clause.alternatives[0]) if len(clause.alternatives) == 1 else None


def maximum_once(relation: Atomic) -> Max | None:
    """Return the maximum that the relation says is attained once; None where it says something else."""
    if relation.relation != "= 0":
        return None
    for a in deep_atoms(relation.poly):
        if (
            isinstance(a, Max) and not any(v[0] == "b" for v in a.free) and _ties(a).key == relation.poly.key
        ):  # by key: the clause may be older than the atoms of now
            return a
    return None


def boundaries_in_choices(poly: Poly) -> list[Poly]:
    """Return the terms p of the predicates [p > 0] that decide integers in index expressions, at arbitrary indices.

    The place of the first true entry, say, is such an integer: it jumps where such a predicate does.
    """
    terms: dict[Poly, None] = {}
    for a in atoms_in_choices(poly):
        if isinstance(a, (Pred, Side)) and -a.poly not in terms:
            terms.setdefault(a.poly)
    return [substitute(p, {v: of_var(fresh("q")) for v in p.free}) for p in terms]


def place_in_order(keys: Sequence[Poly], v: Var, n: Poly, place: Ix) -> Ix:
    """Return the index v < n of the entry that comes to `place` when entries are sorted by the keys, stably.

    Where the key is a permutation of the axis, the entry that comes to place t is the one whose key is t; where it is
    the negative of one, the one whose key is n − 1 − t. Entries that are in order already stay where they are.
    """
    if (inverted := _inverted(keys, v, n, place)) is not None:
        return inverted
    if any(_puts_in_order(t, keys, v, n) for k in keys for ix in indices_of(k) for t in ix.atoms):
        applied(Law.IN_ORDER)
        return place
    level = 1 + max(k.level for k in keys)
    bound: Var = ("b", level, 0)
    rename = Rewriter({v: of_var(bound)})
    rule, free = comparison(ORDER, (bound,), (n,), tuple(rename(without_stops(k)) for k in keys))
    return chosen(rule, 0, (place, *free))


def _inverted(keys: Sequence[Poly], v: Var, n: Poly, place: Ix) -> Ix | None:
    """Return the index of the entry that comes to `place` if the first key is a permutation or minus one; else None."""
    value = as_index(without_stops(keys[0])) if all(isinstance(a, IndexNumber) for a in atoms_of(keys[0])) else None
    if value is None or len(value.terms) != 1:
        return None
    ((term, c),) = value.terms
    place = place if c > 0 else place.scaled(-1).shifted(n - ONE)
    if term == v:
        return place
    if not isinstance(term, Chosen) or not term.comparison.permutes or term.room != n:
        return None
    return undone(term, place) if term.arguments[0].variable() == v and _free_of(v, term.arguments[1:]) else None


def _puts_in_order(order: IntegerAtom, keys: Sequence[Poly], v: Var, n: Poly) -> bool:
    """Return whether the keys are read at the places of `order`, which sorts by these same keys: they are sorted."""
    if not (isinstance(order, Chosen) and order.comparison.kind == ORDER and order.room == n):
        return False
    if order.arguments[0].variable() != v or not _free_of(v, order.arguments[1:]):
        return False
    w = fresh()
    before = [substitute(k, {v: undone(order, of_var(w))}) for k in keys]
    return place_in_order(before, w, n, of_var(v)) == of_atom(order)


def _free_of(v: Var, parts: Sequence[Ix]) -> bool:
    return not any(v in ix.free for ix in parts)


def all_different(entry: Poly, v: Var, n: Poly) -> Clause:
    """Return the condition that no two entries along an axis are equal: Σ_jk [e(j) = e(k)] is the axis's size."""
    j, k = fresh(), fresh()
    difference = substitute(entry, {v: of_var(j)}) - substitute(entry, {v: of_var(k)})
    equal = ONE - pred(difference) - pred(-difference)
    return Clause((Atomic("= 0", sum_over(equal, [(j, n), (k, n)]) - n),), origin="entries that differ")


def different_entries(clause: Clause) -> tuple[Poly, Var, Poly] | None:
    """Return (entry, v, n) where the clause says that the entries for v < n are all different; else None."""
    if len(clause.alternatives) != 1 or clause.alternatives[0].relation != "= 0":
        return None
    poly = clause.alternatives[0].poly
    for a in deep_atoms(poly):
        single = a.body[0][0] if isinstance(a, Sum) and len(a.vars) == 2 and len(a.body) == 1 else None
        if not isinstance(a, Sum) or not isinstance(single, Pred):
            continue
        v = fresh()
        # Of the difference e(j) − e(k), the terms with j are the entry e(j).
        terms = {m: c for m, c in single.poly.items() if a.vars[0] in mono_free(m)}
        entry = substitute(Poly(terms), {a.vars[0]: of_var(v)})
        for e in (entry, -entry):
            if all_different(e, v, a.ranges[0]).alternatives[0].poly.key == poly.key:
                return (e if any(c > 0 for _, c in e.items()) else -e), v, a.ranges[0]
    return None


def attained(clause: Clause) -> bool:
    """Return whether the clause says that some maximum is attained at all: Σ_j [e(j) = max e] is not 0."""
    return any(
        x.relation in ("> 0", ">= 0", "!= 0") and _primitive(x.poly).key == _primitive(_ties(a) + ONE).key
        for x in clause.alternatives
        for a in deep_atoms(x.poly)
        if isinstance(a, Max) and not any(v[0] == "b" for v in a.free)
    )


def _primitive(poly: Poly) -> Poly:
    """Return the term divided by the absolute value of its first coefficient."""
    return poly.scale(1 / abs(poly.sorted_items()[0][1])) if not poly.is_zero else poly


@dataclass(frozen=True)
class Unique:
    """A maximum that is attained once, for all arguments of its comparison within the ranges."""

    rule: Comparison
    ranges: tuple[Poly, ...]


def unique(a: Max, ranges: Mapping[Var, Poly]) -> Unique | None:
    """Return that the maximum is attained once for all values of its free variables; None where one has no range."""
    rule, free = comparison("argmax", a.vars, a.ranges, (a.body,), a.where)
    variables = [ix.variable() for ix in free]
    known_ranges = [ranges[v] for v in variables if v is not None and v in ranges]
    return Unique(rule, tuple(known_ranges)) if len(known_ranges) == len(free) else None


def _arguments(rule: Comparison, a: Max) -> tuple[Ix, ...] | None:
    """Return the arguments at which a comparison is that of the maximum `a`; None where none are found.

    They are a's own free variables, or the value that an equation in the comparison's condition gives its only
    parameter: the maximum over the segment i of entries, at i = s(k), is that over the segment of k.
    """
    own_rule, free = comparison("argmax", a.vars, a.ranges, (a.body,), a.where)
    if own_rule.key == rule.key:
        return free
    if (own_rule.kind, own_rule.variables, own_rule.ranges) != (rule.kind, rule.variables, rule.ranges):
        return None
    argument: Var = ("p", 0, 0)
    if {v for p in (*rule.bodies, rule.where) for v in p.free if v[0] == "p"} != {argument}:
        return None
    equations = [b.ix for b in atoms_of(rule.where) if isinstance(b, IxEq) and abs(b.ix.coefficient(argument)) == 1]
    for pattern in equations:
        c = pattern.coefficient(argument)
        rest = pattern.minus(of_var(argument).scaled(c))
        for target in (b.ix for b in atoms_of(a.where) if isinstance(b, IxEq)):
            for sign in (1, -1):
                value = target.scaled(sign).minus(rest).scaled(c)
                if set(value.free) & set(a.vars):
                    continue
                at = {argument: value}
                if substitute(rule.where, at) == a.where and [substitute(b, at) for b in rule.bodies] == [a.body]:
                    return (value,)
    return None


def decide_max_comparisons(poly: Poly, indices: Indices, known: Sequence[Unique] = ()) -> Poly:
    """Return the term with the predicates decided that compare a maximum with an entry that it is taken over.

    [e(k) > max e] is 0; where the maximum is attained once, [max e > e(k)] is 1 − [k = argmax e].
    """
    if not any(isinstance(a, Max) for a in deep_atoms(poly)):
        return poly
    return _at_arguments(_Ordered(indices, known)(poly) if poly.piecewise else poly)


def above_entry(p: Poly, indices: Indices) -> Max | None:
    """Return the maximum that the term compares with one of the entries that it is taken over; else None."""
    return next((a for a, *_ in _Ordered(indices, ()).compared(p)), None)


def _at_arguments(poly: Poly) -> Poly:
    """Return the term with max e as e(argmax e), wherever argmax e stands in the term as an index.

    The predicates that say that the arg-maximum takes part are then 1.
    """
    if not poly.structured:
        return poly
    chosen = [t for ix in indices_of(poly) for t in ix.atoms if isinstance(t, Chosen)]
    rules = {t.comparison.key for t in chosen}
    true_predicates = {a for t in chosen for a in _taking_part(t)}

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Max) and argument_rule(a) in rules:
            return substitute(a.body, dict(zip(a.vars, argument(a), strict=True)))
        return ONE if a in true_predicates else None

    if not rules:
        return poly
    applied(Law.MAXIMUM_AT_ARGUMENT)
    return Rewriter(replace=value)(poly)


def of_entries(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts about maxima as facts about the entries that attain them: max e is e(argmax e)."""

    def value(a: Atom) -> Poly | None:
        return substitute(a.body, dict(zip(a.vars, argument(a), strict=True))) if isinstance(a, Max) else None

    about = [f for f in facts if any(isinstance(a, Max) for a in atoms_of(f.poly))]
    if about:
        applied(Law.MAXIMUM_AT_ARGUMENT)
    return [replace(f, poly=Rewriter(replace=value)(f.poly)) for f in about]


def _taking_part(t: Chosen) -> list[Atom]:
    """Return the predicates at an arg-maximum that are 1 because only indices where they are 1 take part."""
    rule = t.comparison
    if rule.kind != "argmax" or rule.where == ONE or may_be_empty(rule.where):
        return []
    place: dict[Var, Ix] = {v: of_atom(Chosen(rule, k, t.arguments)) for k, v in enumerate(rule.variables)}
    place |= {("p", k, 0): ix for k, ix in enumerate(t.arguments)}
    single = substitute(rule.where, place).single()
    return [a for a, _ in single[0] if isinstance(a, Pred)] if single and single[1] == 1 else []


def by_rules(poly: Poly, indices: Indices) -> Poly:
    """Return the term with the conditions simplified on which entries take part in its arg-max and rank atoms.

    Only conditions that entries of integer tensors decide (segments) are simplified, by the ranges and facts of
    `indices`. One that never holds is kept: an arg-max over nothing is no index.
    """

    def simplified(ix: Ix) -> Ix:
        parts = [(1, of_const(ix.const))]
        for t, c in ix.terms:
            inner = t.rebuilt(tuple(map(simplified, t.parts()))) if isinstance(t, IntegerAtom) else of_var(t)
            choice = inner.only_term()
            if isinstance(choice, Chosen) and may_be_empty(choice.comparison.where):
                rule = choice.comparison
                ranges = dict(zip(rule.variables, rule.ranges, strict=True))
                where = resolved(rule.where, Indices(ranges, facts=indices.facts, clauses=indices.clauses))
                if not where.is_zero:
                    rule = Comparison(rule.kind, rule.variables, rule.ranges, rule.bodies, where)
                inner = of_atom(Chosen(rule, choice.component, choice.arguments))
            parts.append((c, inner))
        return combine(parts)

    def replace(a: Atom) -> Poly | None:
        if isinstance(a, Access) and any(ix.atoms for ix in a.index):
            return access(a.tensor, tuple(map(simplified, a.index)))
        if isinstance(a, (IxPred, IxEq)) and a.ix.atoms:
            return index_condition(simplified(a.ix)) if isinstance(a, IxPred) else index_equal(simplified(a.ix))
        return None

    chosen = (t for ix in indices_of(poly) for t in ix.atoms)
    if not any(isinstance(t, Chosen) and may_be_empty(t.comparison.where) for t in chosen):
        return poly
    return Rewriter(replace=replace)(poly)


def argument_rule(a: Max) -> str:
    """Return the key of the comparison that finds where the maximum is attained."""
    return comparison("argmax", a.vars, a.ranges, (a.body,), a.where)[0].key


class _Ordered(Rewriter):
    """Decides predicates that compare maxima with entries; `known` are maxima that are attained once.

    `true` has the predicates that are factors beside the one that is examined, in the rewriter's own names.
    """

    def __init__(
        self, context: Indices, known: Sequence[Unique], names: Mapping[Var, Ix] | None = None, true: Mono = ()
    ) -> None:
        super().__init__(names, replace=self._value)
        self.context, self.known, self.true = context, known, true

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        context = replace(self.context, ranges={**self.context.ranges, **ranges})
        return _Ordered(context, self.known, {**self.indices, **names}, self.true)

    def mono(self, mono: Mono) -> Poly:
        conditions = [type(a)(a.ix.subst(self.indices)) for a, _ in mono if isinstance(a, (IxPred, IxEq))]
        # What is assumed of a factor must stay a factor, so it is no predicate that is decided here.
        plain = [a for a, _ in mono if isinstance(a, Pred) and not any(isinstance(b, Max) for b in deep_atoms(a.poly))]
        true = [b for a in plain if (b := Rewriter(self.indices)(poly_of(a)).atom())]
        if not conditions and not true:
            return super().mono(mono)
        context = self.context
        for a in conditions:
            context = context.where(holding(a))
        here = _Ordered(context, self.known, self.indices, (*self.true, *((b, 1) for b in true)))
        return Rewriter.mono(here, mono)

    def _value(self, a: Atom) -> Poly | None:
        if not a.piecewise:
            return poly_of(a)
        return self._decided(Rewriter(self.indices)(a.poly)) if isinstance(a, Pred) else None

    def _decided(self, p: Poly) -> Poly | None:
        """Return the value of [p > 0] where p is a positive multiple of max e − e(k) or of e(k) − max e; else None."""
        for a, c, place in self.compared(p):
            if c < 0:
                applied(Law.MAXIMUM_ABOVE)
                return ZERO
            if (argument := self._once(a)) is not None:
                applied(Law.MAXIMUM_ABOVE)
                return ONE - self._at_argument(a, argument, place)
        return None

    def compared(self, p: Poly) -> Iterator[tuple[Max, fmpq, Mapping[Var, Ix]]]:
        """Yield (maximum, c, place) for each way to write the term as c·(max e − e(place)).

        The place is one of those that the maximum is taken over.
        """
        for mono, c in p.items():
            a = mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None
            if isinstance(a, Max):
                place = place_of(a, poly_of(a) - p.scale(1 / c))
                if place is not None and self._takes_part(a, place):
                    yield a, c, place

    def _takes_part(self, a: Max, place: Mapping[Var, Ix]) -> bool:
        """Return whether the maximum is taken over this place too."""
        if not all(self._within(place[v], n) for v, n in zip(a.vars, a.ranges, strict=True)):
            return False
        true = {b for b, _ in self.true}
        where = Rewriter(replace=lambda b: ONE if b in true else None)(substitute(a.where, place))
        return resolved(where, self.context) == ONE

    def _within(self, ix: Ix, size: Poly) -> bool:
        below, above = ix.scaled(-1).shifted(-ONE), ix.shifted(-size)
        return not self.context.feasible((below, ">=")) and not self.context.feasible((above, ">="))

    def _once(self, a: Max) -> tuple[Ix, ...] | None:
        """Return where the maximum is attained, if it is known to be attained once."""
        for u in self.known:
            free = _arguments(u.rule, a)
            if free is not None and all(self._within(ix, n) for ix, n in zip(free, u.ranges, strict=True)):
                return tuple(of_atom(Chosen(u.rule, k, free)) for k in range(len(a.vars)))
        return None

    def _at_argument(self, a: Max, argument: Sequence[Ix], place: Mapping[Var, Ix]) -> Poly:
        total = ONE
        for v, ix in zip(a.vars, argument, strict=True):
            total = total * index_equal(place[v].minus(ix))
        return total


def place_of(a: Max | Product, entry: Poly) -> dict[Var, Ix] | None:
    """Return the values of the bound variables at which the body is the entry; None where none are found."""
    targets = [t for t in deep_atoms(entry) if isinstance(t, Access)]
    for pattern in deep_atoms(a.body):
        if not isinstance(pattern, Access):
            continue
        for target in targets:
            if target.tensor == pattern.tensor and len(target.index) == len(pattern.index):
                place = solved_for(a.vars, pattern.index, target.index)
                if place is not None and substitute(a.body, place) == entry:
                    return place
    return None


def solved_for(variables: tuple[Var, ...], pattern: Sequence[Ix], target: Sequence[Ix]) -> dict[Var, Ix] | None:
    """Return the values of the variables at which the pattern is the target; None where one is not determined.

    Each must stand alone along some axis, as i + v or i − v.
    """
    place: dict[Var, Ix] = {}
    for pattern_ix, wanted in zip(pattern, target, strict=True):
        solvable = [v for v in variables if v in pattern_ix.free]
        if (
            len(solvable) != 1
            or abs(c := pattern_ix.coefficient(v := solvable[0])) != 1
            or any(v in t.free for t in pattern_ix.atoms)
        ):
            continue
        if v not in place:
            place[v] = wanted.minus(pattern_ix).scaled(c).plus(of_var(v))
    return place if len(place) == len(variables) else None
