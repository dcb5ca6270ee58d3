"""Sums and maxima over index variables, substitution, and canonical naming of bound variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise, permutations, product
from typing import Any

from .budget import budget
from .index import Ix, Quotient, Remainder, RowMajor, Var, of_atom, of_const, of_term, of_var, quotient, remainder
from .index_terms import at_least, divided, index_condition, index_equal, index_number, within
from .power import UndefinedTermError, exp_of, fn, log_of, power, pred, side
from .terms import (
    LONG,
    ONE,
    PREDICATES,
    ZERO,
    Access,
    Accumulator,
    Atom,
    Base,
    Dim,
    Exp,
    Exponent,
    Fn,
    IndexNumber,
    IxEq,
    IxPred,
    Matrix,
    Max,
    Mono,
    Num,
    Poly,
    Pred,
    Product,
    Rec,
    Side,
    Sum,
    access,
    deep_atoms,
    intern,
    memo,
    mono_free,
    monomial,
    number,
    poly_of,
)

_fresh_count = 0


def fresh(kind: str = "f") -> Var:
    """A variable that is used nowhere else in this proof: only these have the minor number 1."""
    global _fresh_count
    _fresh_count += 1
    return (kind, _fresh_count, 1)


def reset_fresh() -> None:
    global _fresh_count
    _fresh_count = 0


Rebuild = Callable[[Any, "Rewriter"], Poly]
REBUILDS: dict[type[Atom], Rebuild] = {}
"""How a rewriter rebuilds atoms that have laws of their own: these stand with the laws, and say so as they load."""
CONTRACTS: dict[type[Atom], Callable[[list[tuple[Atom, Exponent]], dict[Var, Poly]], Poly | None]] = {}
"""How a sum over a factor of the kind is carried out by the kind's own laws; None where it is not."""


def rebuilds(kind: type[Atom]) -> Callable[[Rebuild], Rebuild]:
    """Registers how atoms of the kind are rebuilt."""

    def register(law: Rebuild) -> Rebuild:
        REBUILDS[kind] = law
        return law

    return register


# --- substitution --------------------------------------------------------------------------------------------------


class Rewriter:
    """Rebuilds terms with index variables substituted and atoms replaced.

    `replace(atom)` returns the term that stands for an atom, or None to rebuild it from its rewritten parts.
    """

    def __init__(
        self, indices: Mapping[Var, Ix] | None = None, replace: Callable[[Atom], Poly | None] | None = None
    ) -> None:
        self.indices = dict(indices or {})
        self.replace = replace
        self.seen: dict[Atom, Poly] = _remembered(self) if replace is None else {}
        self.names = _names(self.indices) if replace is None else None
        self.loops: dict[str, Any] = {}
        """What became of loops without free variables, by key; for the rewriters inside binders too."""

    def __call__(self, poly: Poly) -> Poly:
        if self.replace is None and not (poly.free & self.indices.keys()):
            return poly
        total = Accumulator()
        for mono, c in poly.items():
            total.add_poly(self.mono(mono), c)
        return total.poly()

    def mono(self, mono: Mono) -> Poly:
        budget.spend(1)
        plain: dict[Atom, Exponent] = {}
        result = ONE
        for a, e in _predicates_first(mono) if self.replace is not None else mono:
            new = self.atom(a)
            if new is not None and new.is_zero and e > 0:
                return ZERO  # an unselected lane: its other factors need not make sense
            if new is None:
                plain[a] = plain.get(a, 0) + e
                continue
            single = new.atom()
            if single is not None and not (e < 0 and type(single) in PREDICATES):
                plain[single] = plain.get(single, 0) + e
            else:
                result = result * power(new, e)
        return result * monomial(plain) if plain else result

    def atom(self, a: Atom) -> Poly | None:
        """The rewritten atom, or None where nothing changes."""
        if self.replace is None and not (a.free & self.indices.keys()):
            return None
        found = self.seen.get(a)
        if found is None:
            found = self.replace(a) if self.replace is not None else None
            if found is None:
                found = self.rebuild(a)
            elif self.indices:
                found = Rewriter(self.indices)(found)
            self.seen[a] = found
        return found

    def rebuild(self, a: Atom) -> Poly:
        if isinstance(a, Access):
            return access(a.tensor, tuple(ix.subst(self.indices) for ix in a.index))
        if isinstance(a, Exp):
            return exp_of(self.mono(a.mono))
        if isinstance(a, Fn):
            args = [self(p) for p in a.args]
            return log_of(args[0]) if a.name == "log" else fn(a.name, *args)
        if isinstance(a, Base):
            return self(a.poly)
        if isinstance(a, Pred):
            return pred(self(a.poly))
        if isinstance(a, Side):
            inside = self(a.poly)
            if inside.is_zero:
                raise UndefinedTermError("which side of a boundary is meant was not decided")
            return side(inside)
        if isinstance(a, IxPred):
            return index_condition(a.ix.subst(self.indices))
        if isinstance(a, IxEq):
            return index_equal(a.ix.subst(self.indices))
        if isinstance(a, IndexNumber):
            return index_number(of_term(a.var).subst(self.indices))
        if isinstance(a, Sum):
            renamed = self.renamed(a) if self.renames(a) else None
            if renamed is not None:
                return renamed
            names = {v: fresh() for v in a.vars}
            inner = self.inner({v: of_var(w) for v, w in names.items()}, ranges_of(a, names))
            body = inner.mono(a.body) if self.replace is None else inner(with_names(names).mono(a.body))
            return sum_over(body, [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)])
        if isinstance(a, Max):
            names = {v: fresh() for v in a.vars}
            inner = self.inner({v: of_var(w) for v, w in names.items()}, ranges_of(a, names))
            dummies = [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)]
            opened = [p if self.replace is None else with_names(names)(p) for p in (a.body, a.where)]
            return max_over(inner(opened[0]), dummies, inner(opened[1]))
        if isinstance(a, (Dim, Num)):
            return poly_of(a)
        return REBUILDS[type(a)](a, self)

    def renames(self, a: Sum) -> bool:
        """Whether the atom's variables get other names, each its own, and nothing else changes.

        Then equal indices stay equal and others different, so what was simplified when the sum was closed is all that
        can be. No name is captured: a binder's level is above all levels inside it.
        """
        if self.names is None or not self.indices.keys().isdisjoint(a.vars) or not self.names.isdisjoint(a.vars):
            return False
        return not any(v in self.names and v not in self.indices for v in a.free)

    def renamed(self, a: Sum) -> Poly | None:
        """The sum with its variables renamed, and its bound ones in the order which that asks for."""
        body = self.mono(a.body).single()
        if body is None:
            return None
        ranges = dict(zip(a.vars, a.ranges, strict=True))
        order = canonical_order(list(a.vars), ranges, list(body[0]))
        if order != list(a.vars):
            names = {v: of_var(w) for v, w in zip(order, a.vars, strict=True)}
            other = Rewriter(names).mono(body[0]).single()
            if other is None:
                return None
            body = other[0], body[1] * other[1]
        return poly_of(intern(Sum(a.vars, tuple(ranges[v] for v in order), body[0]))).scale(body[1])

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        """The rewriter inside a binder, whose variables get the names, with the ranges."""
        inside = Rewriter({**self.indices, **names}, self.replace)
        inside.loops = self.loops
        return inside


_moved: dict[tuple, dict[Atom, Poly]] = memo()
"""What became of atoms where the axes of tensors were moved, by what was moved where."""


def _remembered(rewriter: Rewriter) -> dict[Atom, Poly]:
    """What is known of atoms under a substitution: those that only move axes come again, others have fresh names."""
    indices = rewriter.indices
    if not indices or any(v[0] != "t" for v in indices) or any(v[0] == "f" for ix in indices.values() for v in ix.free):
        return {}
    key = (type(rewriter), *((v, indices[v]) for v in sorted(indices)))
    return _moved.setdefault(key, {})


def _names(indices: Mapping[Var, Ix]) -> set[Var] | None:
    """The variables that variables are renamed to, if that is all, and each has its own."""
    names = {ix.variable() for ix in indices.values()}
    return None if None in names or len(names) < len(indices) else names  # type: ignore[return-value]


def with_names(names: Mapping[Var, Var]) -> Rewriter:
    """Opens a binder, before atoms inside are replaced: what replaces them may bind variables of the same name."""
    return Rewriter({v: of_var(w) for v, w in names.items()})


def ranges_of(a: Sum | Max | Product, names: Mapping[Var, Var]) -> dict[Var, Poly]:
    return {names[v]: r for v, r in zip(a.vars, a.ranges, strict=True)}


def replaced(poly: Poly, replace: Callable[[Atom], Poly | None]) -> Poly:
    """The term with atoms replaced (see `Rewriter`): itself where none is."""
    return Rewriter(replace=replace)(poly) if any(replace(a) is not None for a in deep_atoms(poly)) else poly


def _predicates_first(mono: Mono) -> Mono:
    if any(type(a) in PREDICATES for a, _ in mono):
        return tuple(sorted(mono, key=lambda factor: type(factor[0]) not in PREDICATES))
    return mono


def substitute(poly: Poly, mapping: Mapping[Var, Ix]) -> Poly:
    """The term with indices in place of variables."""
    return Rewriter(mapping)(poly)


# --- opening and closing sums --------------------------------------------------------------------------------------


def open_sum(a: Sum) -> tuple[list[tuple[Var, Poly]], Poly]:
    """Fresh variables with their ranges, and the body over them."""
    names = {v: fresh() for v in a.vars}
    body = Rewriter({v: of_var(w) for v, w in names.items()}).mono(a.body)
    return [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)], body


def sum_over(poly: Poly, dummies: list[tuple[Var, Poly]]) -> Poly:
    """Σ of a polynomial over variables, each from 0 to its range."""
    only = {v: of_const(ZERO) for v, n in dummies if n == ONE}
    if only:
        poly, dummies = Rewriter(only)(poly), [(v, n) for v, n in dummies if v not in only]
    if poly.structured:
        poly, dummies = _in_row_major_order(poly, dummies)
        split = _split_at_conditions(poly, dummies)
        if split is not None:
            return split
    total = Accumulator()
    for mono, c in poly.items():
        total.add_poly(_sum_mono(mono, dict(dummies)), c)
    return total.poly()


def _sum_mono(mono: Mono, ranges: dict[Var, Poly]) -> Poly:
    if any(n.is_zero for n in ranges.values()):
        return ZERO
    variables = ranges.keys()
    inside: list[tuple[Atom, Exponent]] = []
    outside: list[tuple[Atom, Exponent]] = []
    for a, e in mono:
        (inside if a.free & variables else outside).append((a, e))
    solved = _eliminate(inside, ranges)
    if solved is not None:
        return monomial(dict(outside)) * solved if outside else solved
    nested = [(a, e) for a, e in inside if isinstance(a, Sum) and isinstance(e, int) and e > 0]
    if nested:
        flat = monomial({a: e for a, e in inside if (a, e) not in nested})
        ranges = dict(ranges)
        for a, e in nested:
            for _ in range(e):
                assert isinstance(a, Sum)
                opened, body = open_sum(a)
                ranges.update(opened)
                flat = flat * body
        return (
            monomial(dict(outside)) * sum_over(flat, list(ranges.items()))
            if outside
            else sum_over(flat, list(ranges.items()))
        )
    for contract in [CONTRACTS[kind] for kind in dict.fromkeys(type(a) for a, _ in inside) if kind in CONTRACTS]:
        carried_out = contract(inside, dict(ranges))
        if carried_out is not None:
            return monomial(dict(outside)) * carried_out if outside else carried_out
    cancelled = _cancel(inside, ranges)
    if cancelled is not None:
        return monomial(dict(outside)) * cancelled if outside else cancelled
    result = monomial(dict(outside)) if outside else ONE
    for v in variables:
        if not any(v in a.free for a, _ in inside):
            result = result * ranges[v]
    for component, factors in _components(inside, ranges):
        joined = _in_one_range(component, ranges, factors)
        result = result * (_close(component, ranges, factors) if joined is None else joined)
    return result


def _in_one_range(variables: list[Var], ranges: dict[Var, Poly], factors: list[tuple[Atom, Exponent]]) -> Poly | None:
    """Σ_{i<q} Σ_{j<m} f(i·m + j) = Σ_{v<q·m} f(v): where only places in row-major order are looked at."""
    if not any(a.structured for a, _ in factors):
        return None
    body = monomial(dict(factors))
    for i, j in _rows_of(variables, ranges, body):
        v, m = fresh(), ranges[j]
        whole = Rewriter({i: quotient(of_var(v), m), j: remainder(of_var(v), m)})(body)
        if not any(v in t.free for ix in indices_of(whole) for t in ix.atoms):
            others = [(w, ranges[w]) for w in variables if w not in (i, j)]
            return sum_over(whole, [*others, (v, ranges[i] * m)])
    return None


def _rows_of(variables: list[Var], ranges: dict[Var, Poly], body: Poly) -> list[tuple[Var, Var]]:
    """Pairs (i, j) of the variables such that i·m + j occurs, where j runs over 0 to m."""
    found: dict[tuple[Var, Var], None] = {}
    for ix in indices_of(body):
        for t in ix.atoms:
            if isinstance(t, RowMajor):
                i, j = t.major.variable(), t.minor.variable()
                if i in ranges and j in ranges and ranges[j] == t.stride:
                    found[i, j] = None
        here = [v for v in variables if ix.coefficient(v)]
        for i, j in permutations(here, 2):
            if ranges[j] * number(ix.coefficient(j)) == number(ix.coefficient(i)):
                found[i, j] = None
    return list(found)


def _components(
    factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]
) -> list[tuple[list[Var], list[tuple[Atom, Exponent]]]]:
    """Groups of variables linked through shared factors, with their factors."""
    groups: list[tuple[set[Var], list[tuple[Atom, Exponent]]]] = []
    for a, e in factors:
        linked = {v for v in a.free if v in ranges}
        merged: tuple[set[Var], list[tuple[Atom, Exponent]]] = (linked, [(a, e)])
        rest = []
        for group in groups:
            if group[0] & merged[0]:
                merged = (merged[0] | group[0], group[1] + merged[1])
            else:
                rest.append(group)
        groups = [*rest, merged]
    return [(sorted(g[0]), g[1]) for g in groups]


def _eliminate(factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]) -> Poly | None:
    """Σ_v [v = e]·f(v) = [0 ≤ e < n]·f(e), for a variable that an equation among the factors determines."""
    best: tuple[tuple, Atom, Var, Ix, Poly] | None = None
    for a, _ in factors:
        if type(a) is not IxEq:
            continue
        for v, n in ranges.items():
            c = a.ix.coefficient(v)
            if abs(c) != 1 or any(v in t.free for t in a.ix.atoms):
                continue
            value = a.ix.plus(of_var(v).scaled(-c)).scaled(-c)
            guard = within(value, n, {w: m for w, m in ranges.items() if w != v})
            rank = (guard != ONE, len(guard), n.key, a.key, v)
            if best is None or rank < best[0]:
                best = (rank, a, v, value, guard)
    if best is None:
        return None
    _, equation, v, value, guard = best
    rest = monomial({a: e for a, e in factors if a is not equation})
    left = [(w, n) for w, n in ranges.items() if w != v]
    moved = Rewriter({v: value})(rest) * guard
    return sum_over(moved, left) if left else moved


def bounded_above(poly: Poly) -> Poly:
    """Every condition in a sum that bounds its variable from below as one from above: Σ_{v≥e} f = Σ_v f − Σ_{v<e} f."""

    def turned(a: Atom) -> Poly | None:
        if not a.structured:
            return poly_of(a)
        if not isinstance(a, Sum):
            return None
        dummies, body = open_sum(a)
        variables = {v for v, _ in dummies}

        def opposite(b: Atom) -> Poly | None:
            bound = b.free & variables if isinstance(b, IxPred) else ()
            if not isinstance(b, IxPred) or len(bound) != 1 or b.ix.coefficient(*bound) <= 0:
                return turned(b) if isinstance(b, Sum) else None
            return ONE - index_condition(b.ix.scaled(-1).shifted(-ONE))

        return sum_over(replaced(body, opposite), dummies)

    return replaced(poly, turned)


def _in_row_major_order(poly: Poly, dummies: list[tuple[Var, Poly]]) -> tuple[Poly, list[tuple[Var, Poly]]]:
    """Σ_{v<q·m} f(⌊v/m⌋, v mod m) = Σ_{i<q} Σ_{j<m} f(i, j)."""
    found = _divisors(poly)
    for v, n in dummies:
        for divisor in found.get(v, ()):
            rows = divided(n, divisor)
            if rows is None:
                continue
            (poly,), i, j = in_rows_and_columns([poly], v, divisor, "f")
            others = [(w, m) for w, m in dummies if w != v]
            return _in_row_major_order(poly, [*others, (i, rows), (j, divisor)])
    return poly, dummies


def in_rows_and_columns(polys: list[Poly], v: Var, divisor: Poly, kind: str) -> tuple[list[Poly], Var, Var]:
    """The terms at v = i·divisor + j, and the new variables i and j, where j < divisor."""
    i, j = fresh(kind), fresh(kind)
    # As an atom first, so that quotients and remainders by the divisor are seen to be i and j.
    divide = Rewriter({v: of_atom(RowMajor(of_var(i), of_var(j), divisor))})
    row, column = fresh(kind), fresh(kind)
    rename = Rewriter({i: of_var(row), j: of_var(column)})
    return [rename(divide(p)) for p in polys], row, column


def divisors_of(poly: Poly, v: Var) -> list[Poly]:
    """What the variable alone is divided by, as an index."""
    return _divisors(poly).get(v, [])


def _divisors(poly: Poly) -> dict[Var, list[Poly]]:
    """What variables are divided by alone, as indices."""
    found: dict[Var, dict[str, Poly]] = {}
    for ix in indices_of(poly):
        for t in ix.atoms:
            if isinstance(t, (Quotient, Remainder)) and (v := t.ix.variable()) is not None:
                found.setdefault(v, {}).setdefault(t.divisor.key, t.divisor)
    return {v: [divisors[k] for k in sorted(divisors)] for v, divisors in found.items()}


_indices: dict[Poly, list[Ix]] = memo()


def indices_of(poly: Poly) -> list[Ix]:
    """All index expressions in a term, those inside integer atoms too."""
    if poly not in _indices:
        _indices[poly] = _collected(poly)
    return _indices[poly]


def _collected(poly: Poly) -> list[Ix]:
    found: dict[Ix, None] = {}
    stack: list[Ix] = []
    for a in deep_atoms(poly):
        if isinstance(a, (Access, Matrix)):
            stack += a.index
        elif isinstance(a, (IxPred, IxEq)):
            stack.append(a.ix)
        elif isinstance(a, IndexNumber):
            stack.append(of_term(a.var))
        elif isinstance(a, Rec):
            stack += [a.time, *a.index]
    while stack:
        ix = stack.pop()
        if ix not in found:
            found[ix] = None
            stack += [inner for t in ix.atoms for inner in t.parts()]
    return list(found)


def _split_at_conditions(poly: Poly, dummies: list[tuple[Var, Poly]]) -> Poly | None:
    """Split a range where an index condition changes: Σ_{i<n} f = Σ_{i<a} f + Σ_{i<n−a} f(i + a), for [i ≥ a] in f."""
    for v, n in dummies:
        lows = {
            -a.ix.const
            for mono in poly
            for a, _ in mono
            if isinstance(a, IxPred) and len(a.ix.terms) == 1 and a.ix.terms[0] == (v, 1)
        }
        cuts = _ascending([ZERO, *lows, n]) if lows else None
        if cuts is None:
            continue
        others = [(w, r) for w, r in dummies if w != v]
        total = ZERO
        for start, stop in pairwise(cuts):

            def value(a: Atom, start: Poly = start, v: Var = v) -> Poly | None:
                if isinstance(a, IxPred) and len(a.ix.terms) == 1 and a.ix.terms[0] == (v, 1):
                    return ONE if at_least(start + a.ix.const) == ONE else ZERO
                return None

            part = Rewriter({v: of_var(v).shifted(start)})(Rewriter(replace=value)(poly))
            total = total + sum_over(part, [*others, (v, stop - start)])
        return total
    return None


def _ascending(cuts: list[Poly]) -> list[Poly] | None:
    """The cuts in order, each once, from the first to the last; None where an order is not shown."""
    first, last = cuts[0], cuts[-1]
    ordered: list[Poly] = []
    for cut in sorted(set(cuts), key=lambda c: c.key):
        place = 0
        for k, other in enumerate(ordered):
            if at_least(cut - other) == ONE:
                place = k + 1
            elif at_least(other - cut) != ONE:
                return None
        ordered.insert(place, cut)
    # A condition that holds throughout, or nowhere, does not cut.
    inside = [c for c in ordered if at_least(c - first) == ONE and at_least(last - c) == ONE]
    if len(inside) != len(ordered) or inside[0] != first or inside[-1] != last:
        return None
    return inside


def _cancel(factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]) -> Poly | None:
    """Where Σ_j f(j) stands beside a power of the atom Σ_j f(j), merge the two: Σ_ij e_ij·Z_i⁻¹·g_i = Σ_i g_i."""
    candidates = [a for a, e in factors if isinstance(a, Sum) and len(a.vars) == 1]
    if not candidates:
        return None
    for v, n in ranges.items():
        here = [(a, e) for a, e in factors if v in a.free]
        targets = [a for a in candidates if v not in a.free and a.ranges[0] == n]
        if not targets or not here:
            continue
        closed = _close([v], ranges, here)
        single = closed.single()
        if single and single[0][0][0] in targets:
            rest = monomial({a: e for a, e in factors if v not in a.free}) * closed
            return sum_over(rest, [(w, r) for w, r in ranges.items() if w != v])
    return None


def _close(variables: list[Var], ranges: dict[Var, Poly], factors: list[tuple[Atom, Exponent]]) -> Poly:
    """The atom Σ over the variables of the factors' product, with canonical bound names (and a sign from renaming)."""
    level = 1 + max(a.level for a, _ in factors)
    order = canonical_order(variables, ranges, factors)
    names = {v: of_var(("b", level, k)) for k, v in enumerate(order)}
    body = Rewriter(names).mono(tuple(factors)).single()
    if body is None:  # products of powers of sums may come in another form under other names
        raise ArithmeticError("a product whose normal form depends on the names of its indices")
    bound = tuple(("b", level, k) for k in range(len(order)))
    return poly_of(intern(Sum(bound, tuple(ranges[v] for v in order), body[0]))).scale(body[1])


def canonical_order(variables: list[Var], ranges: dict[Var, Poly], factors: list[tuple[Atom, Exponent]]) -> list[Var]:
    """An order of the variables that does not depend on their names: colour refinement, then ties by trial."""
    if len(variables) == 1:
        return variables
    colours = {v: ranges[v].key for v in variables}
    for _ in range(len(variables)):
        ranked = {c: k for k, c in enumerate(sorted(set(colours.values())))}
        if len(ranked) == len(variables):
            break
        new = {}
        for v in variables:
            names = {w: of_var(("c", ranked[colours[w]], 0)) for w in variables}
            names[v] = of_var(("c", ranked[colours[v]], 1))
            marks = sorted(_mark(a, e, names) for a, e in factors if v in a.free)
            new[v] = f"{ranked[colours[v]]:04d}|" + "&".join(marks)
        if len(set(new.values())) == len(set(colours.values())):
            colours = new
            break
        colours = new
    classes: dict[str, list[Var]] = {}
    for v in variables:
        classes.setdefault(colours[v], []).append(v)
    ordered = [classes[c] for c in sorted(classes)]
    if all(len(c) == 1 for c in ordered):
        return [c[0] for c in ordered]
    best: tuple[str, list[Var]] | None = None
    for count, choice in enumerate(product(*(permutations(c) for c in ordered))):
        if count >= 720:
            break  # still sound: equal sums may then get different names, never different sums one name
        order = [v for c in choice for v in c]
        names = {v: of_var(("c", k, 2)) for k, v in enumerate(order)}
        key = "*".join(sorted(_mark(a, e, names) for a, e in factors))
        if best is None or key < best[0]:
            best = (key, order)
    assert best is not None
    return best[1]


class _Colouring(Rewriter):
    """Variables get colours, which several may share. What comes out is a label, so nothing need be simplified."""

    def renames(self, a: Sum) -> bool:
        return True


def _mark(a: Atom, e: Exponent, names: dict[Var, Ix]) -> str:
    if isinstance(a, Access):  # the same label as below, without making terms
        key = f"{a.tensor}[{','.join([ix.subst(names).key for ix in a.index])}]"
        if len(key) <= LONG:
            return f"1*{key}^{e}"
    new = _Colouring(names).atom(a)
    return f"{(new or poly_of(a)).key}^{e}"


# --- maxima --------------------------------------------------------------------------------------------------------


def max_over(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly = ONE) -> Poly:
    """max of a polynomial over the variables where the 0/1-valued term `where` is 1.

    The caller has shown that it is 1 somewhere, or has recorded that. Terms without the variables move out.
    """
    outside, atom, _ = maximum(poly, dummies, where)
    return outside if atom is None else outside + poly_of(atom)


def maximum(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly) -> tuple[Poly, Max | None, list[Var]]:
    """The maximum as terms without the variables, a `Max` if there are others, and the variables that it binds."""
    if where.is_zero:
        raise UndefinedTermError("a maximum over nothing")
    inside, outside = Accumulator(), Accumulator()
    variables = {v for v, _ in dummies}
    for mono, c in poly.items():
        (inside if mono_free(mono) & variables else outside).add(mono, c)
    body = inside.poly()
    if body.is_zero:
        return outside.poly(), None, []
    if where == ONE:
        dummies = [(v, r) for v, r in dummies if v in body.free]
    level = 1 + max(body.level, where.level)
    ranges = dict(dummies)
    order = sorted(ranges)  # maxima over several variables keep the order of their axes
    bound = tuple(("b", level, k) for k in range(len(order)))
    rename = Rewriter({v: of_var(b) for v, b in zip(order, bound, strict=True)})
    atom = intern(Max(bound, tuple(ranges[v] for v in order), rename(body), rename(where)))
    return outside.poly(), atom, order
