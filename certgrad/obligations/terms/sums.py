"""Sums over index variables: opened, evaluated where a law does that, and closed under canonical names; maxima."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .atoms import Max, Sum
from .exponents import Exponent
from .index import IntegerAtom, Ix, of_atom, of_const, of_var, whole_number
from .index_terms import index_condition, index_within
from .integers import ORDER, PIVOTS, Chosen, Quotient, Remainder, remainder, undone
from .law import Law, applied
from .naming import canonical_order
from .polynomials import ONE, ZERO, Accumulator, Atom, Mono, Poly, mono_free, monomial, poly_of
from .power import UndefinedTermError
from .predicates import IxEq, IxPred
from .ranges import Summed, in_one_range, in_row_major_order, split_at_conditions
from .rewriting import Rewriter, ranges_of, rebuilds, rebuilt_inside, with_names
from .session import intern
from .variables import Var, fresh
from .walk import deep_atoms, indices_of

CONTRACTS: dict[type[Atom], Callable[[list[tuple[Atom, Exponent]], dict[Var, Poly]], Poly | None]] = {}
"""By kind of atom, the law that evaluates a sum with a factor of the kind: from factors and ranges to the sum, or
None where the law does not apply."""


def open_sum(a: Sum) -> tuple[list[tuple[Var, Poly]], Poly]:
    """Return fresh variables with their ranges, and the body over them."""
    names = {v: fresh() for v in a.vars}
    body = Rewriter({v: of_var(w) for v, w in names.items()}).mono(a.body)
    return [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)], body


def sum_over(poly: Poly, dummies: list[tuple[Var, Poly]]) -> Poly:
    """Return Σ of a polynomial over variables, each from 0 to below its range.

    A variable of range 1 is replaced by 0; ranges are split into rows and columns, and where a condition changes; then
    the sum is taken monomial by monomial.
    """
    zeros = {v: of_const(ZERO) for v, n in dummies if n == ONE}
    if zeros:
        poly, dummies = Rewriter(zeros)(poly), [(v, n) for v, n in dummies if v not in zeros]
    if poly.structured:
        poly, dummies = in_row_major_order(poly, dummies)
        split = split_at_conditions(poly, dummies)
        if split is not None:
            return sum((sum_over(part, remaining) for part, remaining in split), ZERO)
    total = Accumulator()
    for mono, c in poly.items():
        total.add_poly(_sum_mono(mono, dict(dummies)), c)
    return total.poly()


def _sum_mono(mono: Mono, ranges: dict[Var, Poly]) -> Poly:
    """Return the sum of a monomial over ranges; factors without a summed variable are taken out.

    Where no law applies to the others (`_by_law`), variables that are in no factor give their range, and each group of
    factors that share variables is a sum of its own.
    """
    if any(n.is_zero for n in ranges.values()):
        return ZERO
    variables = ranges.keys()
    summed: list[tuple[Atom, Exponent]] = []
    outside: list[tuple[Atom, Exponent]] = []
    for a, e in mono:
        (summed if a.free & variables else outside).append((a, e))
    total = _by_law(summed, ranges)
    if total is not None:
        return monomial(dict(outside)) * total if outside else total
    result = monomial(dict(outside)) if outside else ONE
    for v in variables:
        if not any(v in a.free for a, _ in summed):
            applied(Law.SUM_OF_CONSTANT)
            result = result * ranges[v]
    components = _components(summed, ranges)
    if outside or len(components) > 1:
        applied(Law.SUM_OF_PRODUCT)
    for component, factors in components:
        joined = in_one_range(component, ranges, factors)
        result = result * (_close(component, ranges, factors) if joined is None else sum_over(*joined))
    return result


def _by_law(factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]) -> Poly | None:
    """Return the sum of a product by the first law that applies; None where none does.

    The laws, in their order:

    1. an equation [v = e] among the factors fixes a variable;
    2. an equation between integer atoms replaces one of them by a value without summed variables;
    3. sums among the factors are merged with this sum;
    4. over a permutation, the sum is taken in the other order;
    5. a kind of atom has a law of its own (`CONTRACTS`);
    6. a factor cancels the sum over one variable (`_cancel`).
    """
    solved = _eliminate(factors, ranges)
    if solved is not None:
        applied(Law.SUM_AT_EQUATION)
        return solved
    if any(type(a) is IxEq and a.ix.atoms for a, _ in factors):
        from .equal_integers import at_equal_integers  # imported here, as few programs need it

        moved = at_equal_integers(factors, [*ranges])
        if moved is not None:
            applied(Law.EQUAL_INTEGERS)
            return sum_over(moved, list(ranges.items()))
    nested = [(a, e) for a, e in factors if isinstance(a, Sum) and isinstance(e, int) and e > 0]
    if nested:
        return _merged(nested, factors, ranges)
    if any(a.structured for a, _ in factors):
        reordered = _in_another_order(monomial(dict(factors)), ranges)
        if reordered is not None:
            applied(Law.SUM_REORDERED)
            return sum_over(*reordered)
    for contract in [CONTRACTS[kind] for kind in dict.fromkeys(type(a) for a, _ in factors) if kind in CONTRACTS]:
        carried_out = contract(factors, dict(ranges))
        if carried_out is not None:
            return carried_out
    cancelled = _cancel(factors, ranges)
    if cancelled is not None:
        applied(Law.SUM_OF_PRODUCT)
    return cancelled


def _merged(nested: list[tuple[Sum, int]], factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]) -> Poly:
    """Return the sum of a product with the sums among its factors, `nested`, opened: one sum over all variables."""
    flat = monomial({a: e for a, e in factors if (a, e) not in nested})
    all_ranges = dict(ranges)
    for a, e in nested:
        for _ in range(e):
            opened, body = open_sum(a)
            all_ranges.update(opened)
            flat = flat * body
    return sum_over(flat, list(all_ranges.items()))


def _components(
    factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]
) -> list[tuple[list[Var], list[tuple[Atom, Exponent]]]]:
    """Return groups of variables linked through shared factors, with their factors."""
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
    """Return the sum without one variable, which an equation among the factors determines; None where none does.

    Σ_{v<n} [v = e]·f(v) = [0 ≤ e < n]·f(e), where [0 ≤ e < n] is the guard.
    """
    # Of several solutions the one with the simplest guard is taken, in an order that does not depend on the run.
    best: tuple[tuple, Atom, Var, Ix, Poly] | None = None
    for a, _ in factors:
        if type(a) is not IxEq:
            continue
        for v, n in ranges.items():
            solution = _solved(a.ix, v) or _solved_around(a.ix, v, n)
            if solution is None:
                continue
            value, within_axis = solution
            remaining = {w: m for w, m in ranges.items() if w != v}
            guard = index_within(value, n, remaining)
            for ix, room in within_axis:
                guard = guard * index_within(ix, room, remaining)
            rank = (guard != ONE, len(guard), n.key, a.key, v)
            if best is None or rank < best[0]:
                best = (rank, a, v, value, guard)
    if best is None:
        return None
    _, equation, v, value, guard = best
    rest = monomial({a: e for a, e in factors if a is not equation})
    other_ranges = [(w, n) for w, n in ranges.items() if w != v]
    moved = Rewriter({v: value})(rest) * guard
    return sum_over(moved, other_ranges) if other_ranges else moved


def _solved_around(ix: Ix, v: Var, n: Poly) -> tuple[Ix, list[tuple[Ix, Poly]]] | None:
    """Return what `_solved` returns, for an equation ix = 0 in which v stands in a remainder modulo its range n.

    Such an index goes around a ring, as in `roll`: for v < n, (±v + r) mod n = e where 0 ≤ e < n and
    v = ±(e − r) mod n. For a number n the remainder is written with the quotient, as k − n·⌊k/n⌋.
    """
    hosts = [(t, k) for t, k in ix.terms if isinstance(t, IntegerAtom) and v in t.free]
    if len(hosts) != 1:
        return None
    ((t, k),) = hosts
    if not isinstance(t, (Remainder, Quotient)) or t.divisor != n:
        return None
    d, size = t.ix.coefficient(v), whole_number(n)
    if abs(d) != 1 or any(v in a.free for a in t.ix.atoms):
        return None
    if isinstance(t, Remainder):
        sign, rest = k, ix.plus(of_atom(t).scaled(-k))
    else:
        sign = -k // size if size is not None and abs(k) == size else 0
        rest = ix.plus(of_atom(t).scaled(-k)).plus(t.ix.scaled(-sign))
    if abs(sign) != 1 or v in rest.free:
        return None
    value = rest.scaled(-sign)
    return remainder(value.minus(t.ix).plus(of_var(v).scaled(d)).scaled(d), n), [(value, n)]


def _solved(ix: Ix, v: Var) -> tuple[Ix, list[tuple[Ix, Poly]]] | None:
    """Return (value, [(e, n), …]): ix = 0 where v is the value and 0 ≤ e < n for each pair; None if it is not solved.

    v stands with the coefficient ±1 outside of integer atoms, or inside one permutation σ of an axis: σ(±v + r) = e
    where e is an index on that axis and v = ±(σ⁻¹(e) − r).
    """
    c = ix.coefficient(v)
    hosts = [(t, k) for t, k in ix.terms if isinstance(t, IntegerAtom) and v in t.free]
    if not hosts:
        return (ix.plus(of_var(v).scaled(-c)).scaled(-c), []) if abs(c) == 1 else None
    ((t, k), *other_hosts) = hosts
    if c or other_hosts or abs(k) != 1 or not isinstance(t, Chosen) or not t.comparison.permutes:
        return None
    place, *rest = t.arguments
    if any(v in r.free for r in rest) or place.atoms or abs(d := place.coefficient(v)) != 1:
        return None
    value = ix.plus(of_atom(t).scaled(-k)).scaled(-k)
    return undone(t, value).minus(place).plus(of_var(v).scaled(d)).scaled(d), [(value, t.room)]


def _in_another_order(body: Poly, ranges: dict[Var, Poly]) -> Summed | None:
    """Return body and ranges of the sum with σ(t) as the summed index, for a permutation σ of a range; else None.

    Σ_t f(σ(t), t) = Σ_i f(i, σ⁻¹(i)), also for σ(n − 1 − t). A sum over an order (`argsort`) or over pivots is always
    written by the ranks; a sum over ranks only where no integer atom of the new variable is left: Σ_i f(σ⁻¹(i)) is
    Σ_t f(t).
    """
    for v, n in ranges.items():
        permutations: dict[str, Chosen] = {}
        for ix in indices_of(body):
            for t in _nested_atoms(ix):
                if (
                    isinstance(t, Chosen)
                    and t.comparison.permutes
                    and t.room == n
                    and _all_places(t.arguments[0], v, n)
                ):
                    if not any(v in r.free for r in t.arguments[1:]):
                        permutations.setdefault(t.key, t)
        for key in sorted(permutations, key=lambda k: (permutations[k].comparison.kind, k)):
            # With w = σ(t), the place t is σ⁻¹(w), or n − 1 − σ⁻¹(w) where the sum counts down.
            t, w = permutations[key], fresh()
            place = undone(t, of_var(w))
            place = place if t.arguments[0].coefficient(v) == 1 else place.scaled(-1).shifted(n - ONE)
            moved = Rewriter({v: place})(body)
            if t.comparison.kind in (ORDER, PIVOTS) or not any(
                w in a.free for ix in indices_of(moved) for a in ix.atoms
            ):
                return moved, [*((u, m) for u, m in ranges.items() if u != v), (w, n)]
    return None


def _all_places(ix: Ix, v: Var, n: Poly) -> bool:
    """Return whether the expression is v or n − 1 − v, which takes all values from 0 to n − 1 as v does."""
    return ix.variable() == v or (ix.terms == ((v, -1),) and ix.const == n - ONE)


def _nested_atoms(ix: Ix) -> Iterator[IntegerAtom]:
    """Yield all integer atoms of an index expression, those inside others too."""
    for a in ix.atoms:
        yield a
        for part in a.parts():
            yield from _nested_atoms(part)


def bounded_above(poly: Poly) -> Poly:
    """Return the term with each condition that bounds a summed variable from below written as a bound from above.

    Σ_{v≥e} f = Σ_v f − Σ_{v<e} f, so that the two forms of a partial sum become one.
    """
    if not any(isinstance(a, IxPred) and _bounds_from_below(a) for a in deep_atoms(poly)):
        return poly

    def turned(a: Atom) -> Poly | None:
        """Return a sum with its bounds from above; an atom without indices and conditions as it is; else None."""
        if not a.structured:
            return poly_of(a)
        if not isinstance(a, Sum):
            return None
        dummies, body = open_sum(a)
        summed = {v for v, _ in dummies}

        def opposite(b: Atom) -> Poly | None:
            bound = b.free & summed if isinstance(b, IxPred) else ()
            if not isinstance(b, IxPred) or len(bound) != 1 or b.ix.coefficient(*bound) <= 0:
                return turned(b) if isinstance(b, Sum) else None
            applied(Law.SUM_FROM_BELOW)
            return ONE - index_condition(b.ix.scaled(-1).shifted(-ONE))

        return sum_over(Rewriter(replace=opposite)(body), dummies)

    return Rewriter(replace=turned)(poly)


def _bounds_from_below(a: IxPred) -> bool:
    """Return whether a condition bounds one variable of a sum around it from below."""
    return any(v[0] == "b" and a.ix.coefficient(v) > 0 for v in a.free)


def _cancel(factors: list[tuple[Atom, Exponent]], ranges: dict[Var, Poly]) -> Poly | None:
    """Return the sum with Σ_v f(v) carried out, where a power of that very sum is another factor; else None.

    An example is softmax, with Z_i = Σ_j e_ij: Σ_ij e_ij·Z_i⁻¹·g_i = Σ_i Z_i·Z_i⁻¹·g_i = Σ_i g_i.
    """
    candidates = [a for a, e in factors if isinstance(a, Sum) and len(a.vars) == 1]
    if not candidates:
        return None
    for v, n in ranges.items():
        depending = [(a, e) for a, e in factors if v in a.free]
        targets = [a for a in candidates if v not in a.free and a.ranges[0] == n]
        if not targets or not depending:
            continue
        closed = _close([v], ranges, depending)
        single = closed.single()
        if single and single[0][0][0] in targets:
            rest = monomial({a: e for a, e in factors if v not in a.free}) * closed
            return sum_over(rest, [(w, r) for w, r in ranges.items() if w != v])
    return None


def _close(variables: list[Var], ranges: dict[Var, Poly], factors: list[tuple[Atom, Exponent]]) -> Poly:
    """Return Σ over the variables of the factors' product as an atom `Sum`, with canonical names of its variables.

    Renaming can change the sign of the product: the sum is then −1 times the atom. Raises ArithmeticError where the
    renamed product is no monomial.
    """
    level = 1 + max(a.level for a, _ in factors)
    order = canonical_order(variables, ranges, factors)
    names = {v: of_var(("b", level, k)) for k, v in enumerate(order)}
    body = Rewriter(names).mono(tuple(factors)).single()
    if body is None:  # products of powers of sums may come in another form under other names
        raise ArithmeticError("a product whose normal form depends on the names of its indices")
    bound = tuple(("b", level, k) for k in range(len(order)))
    return poly_of(intern(Sum(bound, tuple(ranges[v] for v in order), body[0]))).scale(body[1])


@rebuilds(Sum)
def _rebuilt(a: Sum, rewrite: Rewriter) -> Poly:
    """Return a sum rewritten: opened and summed again, unless only its free variables get other names."""
    renamed = _renamed(a, rewrite) if _is_renamed(a, rewrite) else None
    if renamed is not None:
        return renamed
    names = {v: fresh() for v in a.vars}
    inner = rewrite.inner({v: of_var(w) for v, w in names.items()}, ranges_of(a, names))
    body = inner.mono(a.body) if rewrite.replace is None else inner(with_names(names).mono(a.body))
    return sum_over(body, [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)])


def _is_renamed(a: Sum, rewrite: Rewriter) -> bool:
    """Return whether the rewriter only renames free variables of the sum, and no two of them to one name.

    Then equal indices stay equal and different ones different, so that no law applies that did not apply when the sum
    was closed. No name is captured: a binder's level is above all levels inside it.
    """
    names, indices = rewrite.names, rewrite.indices
    if rewrite.labels:
        return True
    if names is None or not indices.keys().isdisjoint(a.vars) or not names.isdisjoint(a.vars):
        return False
    return not any(v in names and v not in indices for v in a.free)


def _renamed(a: Sum, rewrite: Rewriter) -> Poly | None:
    """Return the sum with its free variables renamed; None where the renamed product is no monomial.

    The canonical order of the bound variables may be another one under the new names.
    """
    body = rewrite.mono(a.body).single()
    if body is None:
        return None
    ranges = dict(zip(a.vars, a.ranges, strict=True))
    order = canonical_order(list(a.vars), ranges, list(body[0]))
    if order != list(a.vars):
        names = {v: of_var(w) for v, w in zip(order, a.vars, strict=True)}
        reordered = Rewriter(names).mono(body[0]).single()
        if reordered is None:
            return None
        body = reordered[0], body[1] * reordered[1]
    return poly_of(intern(Sum(a.vars, tuple(ranges[v] for v in order), body[0]))).scale(body[1])


def max_over(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly = ONE) -> Poly:
    """Return the maximum of a polynomial over the variables, at those of their values where the term `where` is 1.

    The caller has shown that `where` (0 or 1) is 1 somewhere, or has recorded that as a condition. Summands without the
    variables are taken out: max_j (a + f(j)) = a + max_j f(j).
    """
    outside, atom, _ = maximum(poly, dummies, where)
    return outside if atom is None else outside + poly_of(atom)


def maximum(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly) -> tuple[Poly, Max | None, list[Var]]:
    """Return the summands without the variables, the atom `Max` of the others (None without any), and its variables.

    The variables are those of `dummies` that the atom binds, in its order. Raises UndefinedTermError if `where` is 0.
    """
    if where.is_zero:
        raise UndefinedTermError("a maximum over nothing")
    varying, outside = Accumulator(), Accumulator()
    variables = {v for v, _ in dummies}
    for mono, c in poly.items():
        (varying if mono_free(mono) & variables else outside).add(mono, c)
    body = varying.poly()
    if outside.terms:
        applied(Law.MAXIMUM_OF_SUM)
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


@rebuilds(Max)
def _maximum_rebuilt(a: Max, rewrite: Rewriter) -> Poly:
    """Return a maximum rewritten. If `where` becomes 0, it is the maximum over all values.

    Such a maximum over nothing is in a lane that another term cancels: the program's recorded condition says that there
    is a value where the maximum counts.
    """
    body, dummies, where = rebuilt_inside(a, rewrite)
    return max_over(body, dummies, ONE if where.is_zero else where)
