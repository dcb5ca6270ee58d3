"""Conditions on indices, decided where ranges and other conditions decide them, and split into cases where not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from certgrad.obligations.terms.atoms import Access, IndexNumber, Sum, access
from certgrad.obligations.terms.index import IntegerAtom, Ix, combine, of_atom, of_const, of_term, of_var, solved
from certgrad.obligations.terms.index_terms import as_index, divided, index_condition, index_equal, index_number
from certgrad.obligations.terms.integers import Entry, Quotient, Rounded, by_entries, row_major
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, poly_of
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred
from certgrad.obligations.terms.ranges import divisors_of, in_rows_and_columns
from certgrad.obligations.terms.rewriting import Rewriter, replaced
from certgrad.obligations.terms.rounded import as_rounded_index
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

from .conditions import Clause
from .fact import match
from .facts import Facts
from .isl import Condition, digits, feasible
from .signs import NEG, NONNEG, NONPOS, NONZERO, POS
from .signs import ZERO as SIGN_ZERO


@dataclass(frozen=True)
class Indices:
    """The free index variables with their ranges, and the conditions in force on them."""

    ranges: Mapping[Var, Poly] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    facts: Facts = field(default_factory=Facts)
    clauses: tuple[Clause, ...] = ()
    """Of these, those that say which of several conditions on one entry holds are used."""
    sizes: Mapping[str, tuple[Poly, ...]] = field(default_factory=dict)
    """The shapes of tensors: what stands at a variable in one of them is an entry of it."""

    def known_of(self, entry: Entry | Rounded) -> list[tuple[Condition, ...]]:
        """Groups of conditions on an entry of an integer tensor, or on a rounded number; of each group one holds."""
        out: list[tuple[Condition, ...]]
        out = [(c[0],) for f in self.facts.facts if (c := _on_entry(f.poly, f.signs, f.universal, entry)) is not None]
        for clause in self.clauses:
            if clause.guards:
                continue
            said = [_on_entry(a.poly, a.signs, True, entry) for a in clause.alternatives]
            group = [c for c in said if c is not None]
            if len(group) == len(said) and all(places == group[0][1] for _, places in group):
                out.append(tuple(condition for condition, _ in group))
        if isinstance(entry, Rounded) and self.facts.facts:  # what is known of ⌊x⌋ may follow from what is of x
            found = _CONDITIONS.get(self.facts.signs(index_number(of_atom(entry))))
            if found is not None:
                factor, shift, relation = found
                out.append(((of_atom(entry).scaled(factor).shifted(shift), relation),))
        return out

    def feasible(self, *more: Condition) -> bool:
        return feasible([*self.conditions, *more], self.ranges, self.known_of)

    def where(self, condition: Condition) -> Indices:
        return replace(self, conditions=(*self.conditions, condition))

    def substituted(self, mapping: Mapping[Var, Ix], more: Mapping[Var, Poly]) -> Indices:
        """Return the indices with variables replaced by expressions; the variables' ranges become conditions."""
        conditions = [(ix.subst(mapping), r) for ix, r in self.conditions]
        for v, value in mapping.items():
            if v in self.ranges:
                conditions += [(value, ">="), (value.scaled(-1).shifted(self.ranges[v] - ONE), ">=")]
        left = {v: n for v, n in self.ranges.items() if v not in mapping}
        return replace(self, ranges={**left, **more}, conditions=tuple(conditions))

    def decide(self, a: IxPred | IxEq) -> Poly | None:
        """The value of a condition on indices where it has the same one throughout."""
        if not self.feasible(holding(a)):
            return ZERO
        if not self.feasible(failing(a)):
            return ONE
        return None


_OnEntry = tuple[Condition, Mapping[Var, Ix]]
"""A condition on an entry, and what the indices of the statement are there: alternatives hold at the same ones."""


def _on_entry(poly: Poly, signs: int | None, universal: bool, entry: Entry | Rounded) -> _OnEntry | None:
    """Return "the term, with one entry in it, has one of the signs" as a condition on that entry."""
    if isinstance(entry, Rounded):
        return _on_rounded(poly, signs, universal, entry)
    entries = [a for a in deep_atoms(poly) if isinstance(a, Access)]
    if len(entries) != 1 or entries[0].tensor != entry.tensor or signs not in _CONDITIONS:
        return None
    if universal:
        mapping = match(entries[0], Access(entry.tensor, entry.index), poly.level)
    else:
        mapping = {} if entries[0].index == entry.index else None
    value = as_index(poly) if mapping is not None else None
    if value is None or mapping is None:
        return None
    factor, shift, relation = _CONDITIONS[signs]
    return (value.scaled(factor).subst(mapping).shifted(shift), relation), mapping


def _on_rounded(poly: Poly, signs: int | None, universal: bool, asked: Rounded) -> _OnEntry | None:
    value = as_rounded_index(poly) if signs in _CONDITIONS else None
    (known,) = value.atoms if value is not None and len(value.atoms) == 1 else (None,)
    if value is None or not isinstance(known, Rounded) or known.body != asked.body:
        return None
    mapping: dict[Var, Ix] = {}
    for own, wanted in zip(known.arguments, asked.arguments, strict=True):
        v = own.variable() if universal else None
        if (mapping.setdefault(v, wanted) if v is not None else own) != wanted:
            return None
    factor, shift, relation = _CONDITIONS[signs]
    return (value.scaled(factor).subst(mapping).shifted(shift), relation), mapping


_CONDITIONS: dict[int | None, tuple[int, Poly, str]] = {
    POS: (1, -ONE, ">="),
    NONNEG: (1, ZERO, ">="),
    NEG: (-1, -ONE, ">="),
    NONPOS: (-1, ZERO, ">="),
    SIGN_ZERO: (1, ZERO, "="),
    NONZERO: (1, ZERO, "!="),
}
"""What an integer of a sign satisfies: the factor and the shift of the expression, and its relation to 0."""


def holding(a: IxPred | IxEq) -> Condition:
    return (a.ix, ">=") if isinstance(a, IxPred) else (a.ix, "=")


def failing(a: IxPred | IxEq) -> Condition:
    return (a.ix.scaled(-1).shifted(-ONE), ">=") if isinstance(a, IxPred) else (a.ix, "!=")


def counts(a: Pred) -> bool:
    """Return whether a predicate says that a count is positive: [Σ_j [i(j) = i(k)] > 0]."""
    return all(
        c > 0 and all(isinstance(b, Sum) and all(isinstance(x, (IxPred, IxEq)) for x, _ in b.body) for b, _ in m)
        for m, c in a.poly.items()
    )


def some_place(poly: Poly, indices: Indices) -> bool:
    """Return whether a term that counts places is known to be positive: one entry of the same tensor is a place that it
    counts.

    Entries are those in the term and in the conditions that are in force.
    """
    for mono, _ in poly.items():
        if len(mono) != 1 or mono[0][1] != 1 or not isinstance(a := mono[0][0], Sum):
            continue
        entries = [e for b, _ in a.body for e in _atoms_in(b.ix) if isinstance(e, Entry)]  # type: ignore[attr-defined]
        bound = [e for e in entries if e.free & set(a.vars)]
        entries += [e for ix, _ in indices.conditions for e in _atoms_in(ix) if isinstance(e, Entry)]
        for entry in (e for e in entries if not e.free & set(a.vars)):
            for pattern in (e for e in bound if e.tensor == entry.tensor and len(e.index) == len(entry.index)):
                place = {
                    v: ix for p, ix in zip(pattern.index, entry.index, strict=True) if (v := p.variable()) in a.vars
                }
                tensor_sizes = indices.sizes.get(entry.tensor)
                whole_axes = tensor_sizes is not None and all(
                    ix.variable() is not None and dict(zip(a.vars, a.ranges, strict=True)).get(p.variable()) == n  # type: ignore[arg-type]
                    for p, ix, n in zip(pattern.index, entry.index, tensor_sizes, strict=True)
                )
                if len(place) == len(a.vars) and _hold_at(a, place, indices, whole_axes):
                    return True
    return False


def _hold_at(a: Sum, place: Mapping[Var, Ix], indices: Indices, within: bool) -> bool:
    """Return whether the place is in the ranges (known if `within`), and the conditions in the sum hold there."""
    for v, n in zip(a.vars, a.ranges, strict=True):
        below, above = place[v].scaled(-1).shifted(-ONE), place[v].shifted(-n)
        if not within and (indices.feasible((below, ">=")) or indices.feasible((above, ">="))):
            return False
    moved = (type(b)(b.ix.subst(place)) for b, _ in a.body if isinstance(b, (IxPred, IxEq)))
    return all(b.ix.is_zero or indices.decide(b) == ONE for b in moved)


_loops: Memo[tuple, dict[str, Any]] = Memo()
"""What became of loops without free variables, by what is assumed."""


class _Deciding(Rewriter):
    """Replaces index conditions that hold throughout, or nowhere, given the ranges of all variables around them."""

    def __init__(self, indices: Indices, names: Mapping[Var, Ix]) -> None:
        super().__init__(names, replace=self._decide)
        self.context = indices
        self.loops = _loops.table.setdefault((indices.facts, indices.clauses), {})

    def of_closed(self) -> Rewriter:
        """The rewriter for terms without free variables, to which conditions on indices around a loop do not apply."""
        return _Deciding(replace(self.context, ranges={}, conditions=()), {})

    def mono(self, mono: Mono) -> Poly:
        """Return a monomial whose inequalities are decided by equations beside them, where these are about unbounded
        integers.
        """
        equations = [a for a, _ in mono if isinstance(a, IxEq) and by_entries(a.ix)]
        open_ones = [a for a, _ in mono if isinstance(a, IxPred) and by_entries(a.ix)]
        if not equations or not open_ones:
            return super().mono(mono)
        there = self.context
        for equation in equations:
            there = there.where((equation.ix.subst(self.indices), "="))
        values = {a: there.decide(IxPred(a.ix.subst(self.indices))) for a in open_ones}
        if any(value is not None and value.is_zero for value in values.values()):
            return ZERO
        kept = [(a, e) for a, e in mono if not isinstance(a, IxPred) or values.get(a) is None]
        return super().mono(tuple(kept))

    def _decide(self, a: Atom) -> Poly | None:
        if isinstance(a, (IxPred, IxEq)):
            moved = type(a)(a.ix.subst(self.indices))
            known = self.context.decide(moved)
            return known if known is not None or isinstance(a, IxPred) else self._by_digits(moved.ix)
        if isinstance(a, Pred) and a.structured:
            made = pred(self(a.poly))
            counted = made.atom()
            some = isinstance(counted, Pred) and counts(counted) and some_place(counted.poly, self.context)
            return ONE if some else made
        if not a.structured and not a.free & self.indices.keys():
            return poly_of(a)
        return None

    def _by_digits(self, ix: Ix) -> Poly | None:
        """Return [e = 0] as a product of equations, where e is a place in row-major order less another."""
        found = digits(ix, self.context.feasible) if any(isinstance(t, Quotient) for t in ix.atoms) else [ix]
        if len(found) == 1:
            return None
        applied(Law.ROW_MAJOR)
        out = ONE
        for one in found:
            out = out * index_equal(one)
        return out

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _Deciding(replace(self.context, ranges={**self.context.ranges, **ranges}), {**self.indices, **names})


def resolved(poly: Poly, indices: Indices) -> Poly:
    """The term with index conditions decided where the ranges decide them, in sums too."""
    return _Deciding(indices, {})(poly) if poly.structured else poly


class _Beside(_Deciding):
    """Decides conditions also by those beside them: a term with a factor [φ] matters only where φ holds.

    A condition that the others imply is left out, and φ is in force in the other factors, in sums and functions too.
    So is [e ≥ 1] where e ≥ 0, beside what is 0 at e = 0, as e is.
    """

    def __call__(self, poly: Poly) -> Poly:
        poly = super().__call__(poly)
        for a in [a for a in atoms_of(poly) if isinstance(a, IxPred) and len(poly) > 1]:
            e = a.ix.shifted(ONE)
            at = solved(e)
            if at is None or self.context.decide(IxPred(e)) != ONE:
                continue
            beside = Poly({tuple(f for f in mono if f[0] is not a): c for mono, c in poly.items() if (a, 1) in mono})
            if Rewriter(dict([at]))(beside).is_zero:
                poly = poly + beside - beside * poly_of(a)
        return poly

    def mono(self, mono: Mono) -> Poly:
        conditions = {a: type(a)(a.ix.subst(self.indices)) for a, _ in mono if isinstance(a, (IxPred, IxEq))}
        if not conditions or len(mono) == 1:
            return super().mono(mono)
        for a in [a for a in conditions if len(conditions) > 1 and isinstance(a, IxPred)]:
            value = _with_conditions(self.context, (m for b, m in conditions.items() if b is not a)).decide(
                conditions[a]
            )
            if value is not None and value.is_zero:
                return ZERO
            if value is not None:
                del conditions[a]
        inside = _Beside(_with_conditions(self.context, conditions.values()), self.indices)
        out = ONE
        for one in conditions:
            out = out * (self.atom(one) or poly_of(one))
        return out * Rewriter.mono(inside, tuple((a, e) for a, e in mono if not isinstance(a, (IxPred, IxEq))))

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _Beside(replace(self.context, ranges={**self.context.ranges, **ranges}), {**self.indices, **names})


def _with_conditions(indices: Indices, conditions: Iterable[IxPred | IxEq]) -> Indices:
    return replace(indices, conditions=(*indices.conditions, *map(holding, conditions)))


def by_those_beside(poly: Poly, indices: Indices) -> Poly:
    """The term with index conditions decided by the ranges and by the conditions that stand beside them."""
    form = _Beside(indices, {})(poly) if poly.structured else poly
    if form != poly:
        applied(Law.BESIDE_CONDITION)
    return form


def in_rows(poly: Poly, indices: Indices) -> tuple[Poly, Indices]:
    """A free variable that is divided runs over rows and columns instead: v = i·m + j."""
    for v, n in indices.ranges.items():
        if v not in poly.free:
            continue
        for divisor in divisors_of(poly, v):
            rows = divided(n, divisor)
            if rows is None:
                continue
            (poly,), i, j = in_rows_and_columns([poly], v, divisor, "u")
            first = {i: of_const(ZERO)} if rows == ONE else {}
            poly = Rewriter(first)(poly) if first else poly
            place = {v: row_major(of_var(i), of_var(j), divisor).subst(first)}
            left = {w: m for w, m in indices.ranges.items() if w != v}
            left |= {j: divisor} if first else {i: rows, j: divisor}
            conditions = tuple((ix.subst(place), r) for ix, r in indices.conditions)
            moved = replace(indices, ranges=left, conditions=conditions)
            return in_rows(poly, moved)
    return poly, indices


def choices(poly: Poly) -> list[IxPred | IxEq]:
    """Return conditions on free indices only, equations first."""
    found = [a for a in deep_atoms(poly) if isinstance(a, (IxPred, IxEq)) and not any(v[0] == "b" for v in a.free)]
    return sorted(found, key=lambda a: (isinstance(a, IxPred), len(a.ix.terms), a.key))


def split_by_condition(poly: Poly, a: IxPred | IxEq, indices: Indices) -> list[tuple[Poly, Indices, Mapping[Var, Ix]]]:
    """Return the term where an index condition holds, and where it fails, each with what is known of the indices there
    and the substitution made.

    A case that is infeasible is left out.
    """
    out: list[tuple[Poly, Indices, Mapping[Var, Ix]]] = []
    for condition, value in ((holding(a), ONE), (failing(a), ZERO)):
        indices_here = indices.where(condition)
        if not indices_here.feasible():
            continue
        part = Rewriter(replace=lambda b, value=value: value if b is a else None)(poly)  # type: ignore[misc]
        mapping: dict[Var, Ix] = {}
        zero = _equation(condition, indices_here)
        if zero is not None:
            solution = solved(zero)
            if solution is not None:
                mapping = dict([solution])
                part, indices_here = Rewriter(mapping)(part), indices.substituted(mapping, {})
                if any(ix.atoms for ix, _ in indices_here.conditions) and not indices_here.feasible():
                    continue  # atoms that are now the same had been told apart
            elif (equal := _determined_atom(zero)) is not None:
                part = at_equal_place(part, *equal)
                conditions_there = tuple((_substitute_atom(ix, *equal), r) for ix, r in indices_here.conditions)
                if (
                    conditions_there != indices_here.conditions
                    and not replace(indices_here, conditions=(*indices_here.conditions, *conditions_there)).feasible()
                ):
                    continue
        out.append((part, indices_here, mapping))
    return out


def _equation(condition: Condition, there: Indices) -> Ix | None:
    """An expression that is 0 where the condition holds: a condition on one variable may leave it one place only."""
    ix, relation = condition
    if relation == "=":
        return ix
    if len(ix.terms) != 1:
        return None
    if relation == ">=":
        return ix if not there.feasible((ix.shifted(-ONE), ">=")) else None
    v = ix.terms[0][0]
    if isinstance(v, IntegerAtom) or v not in there.ranges:
        return None
    ends = of_var(v), of_var(v).shifted(ONE - there.ranges[v])
    return next((end for end in ends if not there.feasible((end, "!="))), None)


def _determined_atom(ix: Ix) -> tuple[IntegerAtom, Ix] | None:
    """An integer atom that ix = 0 determines, with its value."""
    for t, c in reversed(ix.terms):
        if isinstance(t, IntegerAtom) and abs(c) == 1:
            value = ix.plus(of_atom(t).scaled(-c)).scaled(-c)
            if t not in _atoms_in(value):
                return t, value
    return None


def _atoms_in(ix: Ix) -> list[IntegerAtom]:
    return [b for a in ix.atoms for b in (a, *(c for part in a.parts() for c in _atoms_in(part)))]


def _substitute_atom(ix: Ix, atom: IntegerAtom, value: Ix) -> Ix:
    """The index with the value in place of the integer."""
    if atom not in _atoms_in(ix):
        return ix
    parts = [(1, of_const(ix.const))]
    for t, c in ix.terms:
        inner = None
        if isinstance(t, IntegerAtom):
            inner = value if t == atom else t.rebuilt(tuple(_substitute_atom(p, atom, value) for p in t.parts()))
        parts.append((c, of_term(t) if inner is None else inner))
    return combine(parts)


def at_equal_place(poly: Poly, atom: IntegerAtom, value: Ix) -> Poly:
    """Return the term at a place where an integer atom has a value: entries at the atom become entries at the value.

    As a = e, x[a] = x[e], and [a ≥ i] = [e ≥ i].
    """

    def moved(ix: Ix) -> Ix:
        return _substitute_atom(ix, atom, value)

    def replace(a: Atom) -> Poly | None:
        if isinstance(a, Access):
            if isinstance(atom, Entry) and (a.tensor, a.index) == (atom.tensor, atom.index):
                return index_number(value)
            index = tuple(map(moved, a.index))
            return access(a.tensor, index) if index != a.index else None
        if isinstance(a, (IxPred, IxEq)):
            ix = moved(a.ix)
            if ix == a.ix:
                return None
            return index_condition(ix) if isinstance(a, IxPred) else index_equal(ix)
        if isinstance(a, IndexNumber):
            ix = moved(of_term(a.var))
            return index_number(ix) if ix != of_term(a.var) else None
        return None

    return replaced(poly, replace)
