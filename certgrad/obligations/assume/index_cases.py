"""Conditions on indices: decided where ranges and other conditions imply or exclude them, else split into cases."""

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
    """What is known of the index variables at some point of a proof: their ranges, and the conditions that hold."""

    ranges: Mapping[Var, Poly] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    facts: Facts = field(default_factory=Facts)
    clauses: tuple[Clause, ...] = ()
    """Assumed clauses. A clause is used if it has no guards, and all its alternatives are conditions on one entry."""
    sizes: Mapping[str, tuple[Poly, ...]] = field(default_factory=dict)
    """The shapes of tensors by name: an index that is a variable there is within its axis."""

    def known_of(self, entry: Entry | Rounded) -> list[tuple[Condition, ...]]:
        """Return what is assumed of an entry of an integer tensor, or of a rounded number.

        The result is a list of groups of conditions: of each group at least one holds. A fact gives a group of one
        condition, a clause a group of its alternatives.
        """
        out: list[tuple[Condition, ...]]
        out = [(c[0],) for f in self.facts.facts if (c := _on_entry(f.poly, f.signs, f.universal, entry)) is not None]
        for clause in self.clauses:
            if clause.guards:
                continue
            alternatives = [_on_entry(a.poly, a.signs, True, entry) for a in clause.alternatives]
            group = [c for c in alternatives if c is not None]
            if len(group) == len(alternatives) and all(places == group[0][1] for _, places in group):
                out.append(tuple(condition for condition, _ in group))
        if isinstance(entry, Rounded) and self.facts.facts:  # a sign of ⌊x⌋ may follow from facts about x
            by_sign = _CONDITIONS.get(self.facts.signs(index_number(of_atom(entry))))
            if by_sign is not None:
                factor, shift, relation = by_sign
                out.append(((of_atom(entry).scaled(factor).shifted(shift), relation),))
        return out

    def feasible(self, *more: Condition) -> bool:
        """Return whether some sizes and indices satisfy what is known and these conditions; True if it is undecided."""
        return feasible([*self.conditions, *more], self.ranges, self.known_of)

    def where(self, condition: Condition) -> Indices:
        """Return the same knowledge with one condition more."""
        return replace(self, conditions=(*self.conditions, condition))

    def substituted(self, mapping: Mapping[Var, Ix], more: Mapping[Var, Poly]) -> Indices:
        """Return the indices with variables replaced by expressions; the variables' ranges become conditions.

        `more` are the ranges of variables that are new in the expressions.
        """
        conditions = [(ix.subst(mapping), r) for ix, r in self.conditions]
        for v, value in mapping.items():
            if v in self.ranges:
                conditions += [(value, ">="), (value.scaled(-1).shifted(self.ranges[v] - ONE), ">=")]
        left = {v: n for v, n in self.ranges.items() if v not in mapping}
        return replace(self, ranges={**left, **more}, conditions=tuple(conditions))

    def decide(self, a: IxPred | IxEq) -> Poly | None:
        """Return 1 or 0 where a condition on indices holds for all indices, or for none; None where it is open."""
        if not self.feasible(holding(a)):
            return ZERO
        if not self.feasible(failing(a)):
            return ONE
        return None


_OnEntry = tuple[Condition, Mapping[Var, Ix]]
"""A condition on an entry, and the values of the statement's index variables at which the statement is about it.

The alternatives of a clause are conditions on one entry together only where these values are the same."""


def _on_entry(poly: Poly, signs: int | None, universal: bool, entry: Entry | Rounded) -> _OnEntry | None:
    """Return "the term has one of the signs" as a condition on an integer that it reads; None where it is no such one.

    The term has to read one entry, of the same tensor, and be an integer expression in it. If the statement is
    `universal`, its index variables are set to the values at which it reads the entry.
    """
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
    """Return what `_on_entry` returns, for a rounded number."""
    value = as_rounded_index(poly) if signs in _CONDITIONS else None
    (atom,) = value.atoms if value is not None and len(value.atoms) == 1 else (None,)
    if value is None or not isinstance(atom, Rounded) or atom.body != asked.body:
        return None
    mapping: dict[Var, Ix] = {}
    for argument, wanted in zip(atom.arguments, asked.arguments, strict=True):
        v = argument.variable() if universal else None
        if (mapping.setdefault(v, wanted) if v is not None else argument) != wanted:
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
"""By sign, the condition on an integer e that has it, factor·e + shift related to 0: e > 0 is 1·e − 1 ≥ 0."""


def holding(a: IxPred | IxEq) -> Condition:
    """Return the condition under which the predicate is 1."""
    return (a.ix, ">=") if isinstance(a, IxPred) else (a.ix, "=")


def failing(a: IxPred | IxEq) -> Condition:
    """Return the condition under which the predicate is 0."""
    return (a.ix.scaled(-1).shifted(-ONE), ">=") if isinstance(a, IxPred) else (a.ix, "!=")


def counts(a: Pred) -> bool:
    """Return whether a predicate says that counts of places are not all 0: [Σ_j [s(j) = s(k)] > 0]."""
    return all(
        c > 0 and all(isinstance(b, Sum) and all(isinstance(x, (IxPred, IxEq)) for x, _ in b.body) for b, _ in m)
        for m, c in a.poly.items()
    )


def some_place(poly: Poly, indices: Indices) -> bool:
    """Return whether a term that counts places is shown to be positive, as one place counts for sure.

    In Σ_j [s(j) = s(k)], the place j = k counts. So an entry under the sum, s(j), is matched with each other entry of
    the same tensor in the sum or in the known conditions, here s(k), which gives a place to try.
    """
    for mono, _ in poly.items():
        if len(mono) != 1 or mono[0][1] != 1 or not isinstance(a := mono[0][0], Sum):
            continue
        entries = [e for b, _ in a.body for e in _atoms_in(b.ix) if isinstance(e, Entry)]  # type: ignore[attr-defined]
        bound = [e for e in entries if e.free & set(a.vars)]
        entries += [e for ix, _ in indices.conditions for e in _atoms_in(ix) if isinstance(e, Entry)]
        for entry in (e for e in entries if not e.free & set(a.vars)):
            for pattern in (e for e in bound if e.tensor == entry.tensor and len(e.index) == len(entry.index)):
                # The values of the summed variables at which the entry under the sum is the other entry.
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
    """Return whether a place is in the ranges of a sum of conditions, and all these conditions hold there.

    The ranges are not tested if the caller knows that the place is `within` them.
    """
    for v, n in zip(a.vars, a.ranges, strict=True):
        below, above = place[v].scaled(-1).shifted(-ONE), place[v].shifted(-n)
        if not within and (indices.feasible((below, ">=")) or indices.feasible((above, ">="))):
            return False
    moved = (type(b)(b.ix.subst(place)) for b, _ in a.body if isinstance(b, (IxPred, IxEq)))
    return all(b.ix.is_zero or indices.decide(b) == ONE for b in moved)


_loops: Memo[tuple, dict[str, Any]] = Memo()
"""The rewritten loops without free variables, by the assumptions under which they were rewritten."""


class _Deciding(Rewriter):
    """Replaces conditions on indices by 1 or 0 where what is known of the indices decides them, inside sums too."""

    def __init__(self, indices: Indices, names: Mapping[Var, Ix]) -> None:
        super().__init__(names, replace=self._decide)
        self.context = indices
        self.loops = _loops.table.setdefault((indices.facts, indices.clauses), {})

    def of_closed(self) -> Rewriter:
        """Return the rewriter for loops without free variables, which uses no condition on indices around the loop."""
        return _Deciding(replace(self.context, ranges={}, conditions=()), {})

    def mono(self, mono: Mono) -> Poly:
        """Return the rewritten monomial; inequalities on unbounded integers are decided by its equations on such ones.

        Unbounded integers are entries of integer tensors and rounded numbers.
        """
        equations = [a for a, _ in mono if isinstance(a, IxEq) and by_entries(a.ix)]
        inequalities = [a for a, _ in mono if isinstance(a, IxPred) and by_entries(a.ix)]
        if not equations or not inequalities:
            return super().mono(mono)
        context = self.context
        for equation in equations:
            context = context.where((equation.ix.subst(self.indices), "="))
        values = {a: context.decide(IxPred(a.ix.subst(self.indices))) for a in inequalities}
        if any(value is not None and value.is_zero for value in values.values()):
            return ZERO
        open_factors = [(a, e) for a, e in mono if not isinstance(a, IxPred) or values.get(a) is None]
        return super().mono(tuple(open_factors))

    def _decide(self, a: Atom) -> Poly | None:
        """Return the term that stands for an atom, None to rebuild it from its parts (see `Rewriter`)."""
        if isinstance(a, (IxPred, IxEq)):
            moved = type(a)(a.ix.subst(self.indices))
            decided = self.context.decide(moved)
            return decided if decided is not None or isinstance(a, IxPred) else self._by_digits(moved.ix)
        if isinstance(a, Pred) and a.structured:
            predicate = pred(self(a.poly))
            counted = predicate.atom()
            positive = isinstance(counted, Pred) and counts(counted) and some_place(counted.poly, self.context)
            return ONE if positive else predicate
        if not a.structured and not a.free & self.indices.keys():
            return poly_of(a)
        return None

    def _by_digits(self, ix: Ix) -> Poly | None:
        """Return [e = 0] as a product of equations, where e is the difference of two places in row-major order.

        None where e is not taken apart (see `digits`).
        """
        differences = digits(ix, self.context.feasible) if any(isinstance(t, Quotient) for t in ix.atoms) else [ix]
        if len(differences) == 1:
            return None
        applied(Law.ROW_MAJOR)
        out = ONE
        for difference in differences:
            out = out * index_equal(difference)
        return out

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _Deciding(replace(self.context, ranges={**self.context.ranges, **ranges}), {**self.indices, **names})


def resolved(poly: Poly, indices: Indices) -> Poly:
    """Return the term with conditions on indices replaced by 1 or 0 where `indices` decides them, in sums too."""
    return _Deciding(indices, {})(poly) if poly.structured else poly


class _Beside(_Deciding):
    """Decides conditions also by other factors of the same product: a term [φ]·f matters only where φ holds.

    So φ counts as known in f, inside sums and functions too, and a condition that other factors imply is left out. A
    factor [e ≥ 1] is also left out where e ≥ 0 is known and the other factors are 0 at e = 0: [e ≥ 1]·e = e.
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
        """Return the monomial with each inequality decided by its other conditions, and the rest rewritten under all.

        It is 0 if a condition contradicts the others.
        """
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
        under_conditions = _Beside(_with_conditions(self.context, conditions.values()), self.indices)
        out = ONE
        for condition in conditions:
            out = out * (self.atom(condition) or poly_of(condition))
        return out * Rewriter.mono(
            under_conditions, tuple((a, e) for a, e in mono if not isinstance(a, (IxPred, IxEq)))
        )

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        return _Beside(replace(self.context, ranges={**self.context.ranges, **ranges}), {**self.indices, **names})


def _with_conditions(indices: Indices, conditions: Iterable[IxPred | IxEq]) -> Indices:
    return replace(indices, conditions=(*indices.conditions, *map(holding, conditions)))


def by_those_beside(poly: Poly, indices: Indices) -> Poly:
    """Return the term with conditions on indices decided by `indices` and by other factors of the same product."""
    form = _Beside(indices, {})(poly) if poly.structured else poly
    if form != poly:
        applied(Law.BESIDE_CONDITION)
    return form


def in_rows(poly: Poly, indices: Indices) -> tuple[Poly, Indices]:
    """Return the term and the indices with v = i·m + j for each free variable v of which ⌊v/m⌋ or v mod m occurs.

    The row i and the column j < m are new variables, and v is no longer one. Only where m divides the range of v.
    """
    for v, n in indices.ranges.items():
        if v not in poly.free:
            continue
        for divisor in divisors_of(poly, v):
            rows = divided(n, divisor)
            if rows is None:
                continue
            (poly,), i, j = in_rows_and_columns([poly], v, divisor, "u")
            first_row = {i: of_const(ZERO)} if rows == ONE else {}
            poly = Rewriter(first_row)(poly) if first_row else poly
            place = {v: row_major(of_var(i), of_var(j), divisor).subst(first_row)}
            new_ranges = {w: m for w, m in indices.ranges.items() if w != v}
            new_ranges |= {j: divisor} if first_row else {i: rows, j: divisor}
            conditions = tuple((ix.subst(place), r) for ix, r in indices.conditions)
            moved = replace(indices, ranges=new_ranges, conditions=conditions)
            return in_rows(poly, moved)
    return poly, indices


def choices(poly: Poly) -> list[IxPred | IxEq]:
    """Return the conditions in the term that have no variable bound by a sum, equations first."""
    conditions = [a for a in deep_atoms(poly) if isinstance(a, (IxPred, IxEq)) and not any(v[0] == "b" for v in a.free)]
    return sorted(conditions, key=lambda a: (isinstance(a, IxPred), len(a.ix.terms), a.key))


def split_by_condition(poly: Poly, a: IxPred | IxEq, indices: Indices) -> list[tuple[Poly, Indices, Mapping[Var, Ix]]]:
    """Return the cases that a condition on indices holds, and that it fails; a case that is infeasible is left out.

    A case is the term there, the known indices, and a substitution. Where the case fixes a variable, that variable is
    substituted by its value in both, and in the term an integer atom that the case fixes is replaced too.
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
            # An equation that fixes a variable eliminates it; one that fixes an integer atom is put into the term.
            solution = solved(zero)
            if solution is not None:
                mapping = dict([solution])
                part, indices_here = Rewriter(mapping)(part), indices.substituted(mapping, {})
                if any(ix.atoms for ix, _ in indices_here.conditions) and not indices_here.feasible():
                    continue  # the substitution made two atoms equal, and a condition says that they differ
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
    """Return an expression that is 0 wherever the condition holds; None where there is none.

    An inequality of one variable or atom may leave it a single value: the least one, or an end of its range.
    """
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
    """Return an integer atom that ix = 0 determines, with its value; None where there is none."""
    for t, c in reversed(ix.terms):
        if isinstance(t, IntegerAtom) and abs(c) == 1:
            value = ix.plus(of_atom(t).scaled(-c)).scaled(-c)
            if t not in _atoms_in(value):
                return t, value
    return None


def _atoms_in(ix: Ix) -> list[IntegerAtom]:
    """Return all integer atoms of an index expression, those inside others too."""
    return [b for a in ix.atoms for b in (a, *(c for part in a.parts() for c in _atoms_in(part)))]


def _substitute_atom(ix: Ix, atom: IntegerAtom, value: Ix) -> Ix:
    """Return the index expression with the value in place of the integer atom."""
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
    """Return the term under the equation atom = value, with the value in place of the atom in all indices.

    Where a = e, x[a] is x[e], and [a ≥ i] is [e ≥ i].
    """

    def with_value(ix: Ix) -> Ix:
        return _substitute_atom(ix, atom, value)

    def replace(a: Atom) -> Poly | None:
        """Return the term for an atom in which the integer atom stands; None for any other atom."""
        if isinstance(a, Access):
            if isinstance(atom, Entry) and (a.tensor, a.index) == (atom.tensor, atom.index):
                return index_number(value)
            index = tuple(map(with_value, a.index))
            return access(a.tensor, index) if index != a.index else None
        if isinstance(a, (IxPred, IxEq)):
            ix = with_value(a.ix)
            if ix == a.ix:
                return None
            return index_condition(ix) if isinstance(a, IxPred) else index_equal(ix)
        if isinstance(a, IndexNumber):
            ix = with_value(of_term(a.var))
            return index_number(ix) if ix != of_term(a.var) else None
        return None

    return replaced(poly, replace)
