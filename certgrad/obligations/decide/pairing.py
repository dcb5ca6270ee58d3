"""Reading off coefficients: a term that is linear in tangents and seeds vanishes if each coefficient does.

Σ_ab dx[a]·seed[b]·K(a, b) = 0 for all dx and seed if K = 0; the sums over the tangent's and the seed's own indices are
opened, and K is compared at free indices. (Entries of dx and seed that share an index make groups of their own.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.obligations.terms.atoms import Access, Sum
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, monomial
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var


def paired(poly: Poly, tangents: Sequence[str], seeds: Sequence[str]) -> list[tuple[Poly, dict[Var, Poly]]]:
    """Return the coefficient of each product of a tangent's and a seed's entry, with the ranges of its free indices.

    Terms that have not exactly one entry of each form groups of their own. The term is 0 if all coefficients are.
    """
    groups: dict[str, Poly] = {}
    ranges: dict[str, dict[Var, Poly]] = {}
    for mono, c in poly.sorted_items():
        key, coefficient, free = _extract(mono, [set(tangents), set(seeds)])
        groups[key] = groups.get(key, ZERO) + coefficient.scale(c)
        ranges[key] = free
    return [(g, ranges[k]) for k, g in sorted(groups.items()) if not g.is_zero]


def _extract(mono: Mono, families: list[set[str]]) -> tuple[str, Poly, dict[Var, Poly]]:
    """Return (label, coefficient, ranges): the entries of tangents and seeds in a monomial, and what multiplies them.

    Sums around an entry are opened. The opened variables in its indices are numbered, so that equal places have equal
    labels; their ranges are returned. A family that has not exactly one entry is "-" in the label, and its entries are
    left in the coefficient.
    """
    opened: dict[Var, Poly] = {}
    factors = mono
    for family in families:
        if not family:
            continue
        hosts = [a for a, e in factors if e == 1 and isinstance(a, Sum) and _holds(a.body, family)]
        direct = [a for a, e in factors if e == 1 and isinstance(a, Access) and a.tensor in family]
        if len(hosts) + len(direct) != 1:
            continue
        if hosts:
            dummies, body = open_sum(hosts[0])
            single = body.single()
            if single is None or single[1] != 1:
                continue
            opened.update(dummies)
            rest = monomial({a: e for a, e in factors if a is not hosts[0]}) * body
            product = rest.single()
            assert product is not None
            assert product[1] == 1
            factors = product[0]
    # The variables are numbered in the order in which the entries have them.
    label: list[str] = []
    names: dict[Var, Var] = {}
    taken_entries: list[Atom] = []
    for family in families:
        entries = [a for a, e in factors if e == 1 and isinstance(a, Access) and a.tensor in family]
        if len(entries) != 1:
            label.append("-")
            continue
        (entry,) = entries
        assert isinstance(entry, Access)
        taken_entries.append(entry)
        for ix in entry.index:
            for v in ix.free:
                if v in opened and v not in names:
                    names[v] = ("u", len(names), 0)
        rename = {v: of_var(u) for v, u in names.items()}
        label.append(f"{entry.tensor}[{','.join(ix.subst(rename).key for ix in entry.index)}]")
    label += [f"{u}<{opened[v].key}" for v, u in names.items()]
    rest = monomial({a: e for a, e in factors if a not in taken_entries}) if len(factors) > len(taken_entries) else ONE
    rest = Rewriter({v: of_var(u) for v, u in names.items()})(rest)
    other_dummies = [(v, n) for v, n in opened.items() if v not in names]
    free = {u: opened[v] for v, u in names.items()}
    return ";".join(label), sum_over(rest, other_dummies) if other_dummies else rest, free


def paired_by_coordinates(
    poly: Poly, shapes: Mapping[str, tuple[Poly, ...]], families: Sequence[set[str]]
) -> list[tuple[Poly, dict[Var, Poly]]]:
    """Return the coefficient of each product of a tangent's and a seed's entry, at free coordinates with their ranges.

    Σ_i dx[e(i)]·k(i) = Σ_u dx[u]·Σ_i [u = e(i)]·k(i): so all terms in entries of one tensor come together, whatever
    their indices are. `shapes` gives the shapes of the tensors in `families`.
    """
    groups: dict[tuple[str, ...], Poly] = {}
    ranges: dict[tuple[str, ...], dict[Var, Poly]] = {}
    for mono, c in poly.sorted_items():
        opened, factors = _opened(mono, families)
        direct = [[a for a, e in factors if e == 1 and isinstance(a, Access) and a.tensor in f] for f in families]
        taken = [entries[0] for entries in direct if len(entries) == 1]
        key = tuple(a.tensor for a in taken)
        coordinates = [(ix, n) for a in taken for ix, n in zip(a.index, shapes[a.tensor], strict=True) if n != ONE]
        free = {("u", k, 0): n for k, (_, n) in enumerate(coordinates)}
        rest = monomial({a: e for a, e in factors if a not in taken}).scale(c)
        # [u = index] for each coordinate u; where the index is a summed variable, Σ_{v<n} [u = v]·k(v) = k(u).
        place: dict[Var, Ix] = {}
        for v, (ix, n) in zip(free, coordinates, strict=True):
            variable = ix.variable()
            if variable in opened and variable not in place and opened[variable] == n:
                place[variable] = of_var(v)
            else:
                rest = rest * index_equal(ix.minus(of_var(v)))
        opened = {v: n for v, n in opened.items() if v not in place}
        rest = Rewriter(place)(rest) if place else rest
        groups[key] = groups.get(key, ZERO) + (sum_over(rest, list(opened.items())) if opened else rest)
        ranges[key] = free
    return [(g, ranges[k]) for k, g in sorted(groups.items()) if not g.is_zero]


def _opened(mono: Mono, families: Sequence[set[str]]) -> tuple[dict[Var, Poly], Mono]:
    """Return the variables and factors of the monomial with the sums that hold an entry of a family opened."""
    opened: dict[Var, Poly] = {}
    factors = mono
    for family in families:
        hosts = [a for a, e in factors if e == 1 and isinstance(a, Sum) and _holds(a.body, family)]
        if len(hosts) != 1 or any(isinstance(a, Access) and a.tensor in family for a, _ in factors):
            continue
        dummies, body = open_sum(hosts[0])
        product = (monomial({a: e for a, e in factors if a is not hosts[0]}) * body).single()
        if product is None or product[1] != 1:
            continue
        opened.update(dummies)
        factors = product[0]
    return opened, factors


def _holds(mono: Mono, family: set[str]) -> bool:
    return any(isinstance(a, Access) and a.tensor in family and e == 1 for a, e in mono)
