"""Reading off coefficients: a term that is linear in tangents and seeds vanishes if each coefficient does.

Σ_ab dx[a]·seed[b]·K(a, b) = 0 for all dx and seed if K = 0; the sums over the tangent's and the seed's own indices are
opened, and K is compared at free indices. (Entries of dx and seed that share an index make groups of their own.)
"""

from __future__ import annotations

from collections.abc import Sequence

from ._index import Var, of_var
from ._sums import Rewriter, open_sum, sum_over
from ._terms import ONE, ZERO, Access, Atom, Mono, Poly, Sum, monomial


def paired(poly: Poly, tangents: Sequence[str], seeds: Sequence[str]) -> list[Poly]:
    """The coefficients, each over free indices; terms without exactly one tangent and seed form groups of their own."""
    groups: dict[str, Poly] = {}
    for mono, c in poly.sorted_items():
        key, coefficient = _extract(mono, [set(tangents), set(seeds)])
        groups[key] = groups.get(key, ZERO) + coefficient.scale(c)
    return [g for _, g in sorted(groups.items()) if not g.is_zero]


def _extract(mono: Mono, families: list[set[str]]) -> tuple[str, Poly]:
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
    label: list[str] = []
    names: dict[Var, Var] = {}
    taken: list[Atom] = []
    for family in families:
        found = [a for a, e in factors if e == 1 and isinstance(a, Access) and a.tensor in family]
        if len(found) != 1:
            label.append("-")
            continue
        (entry,) = found
        assert isinstance(entry, Access)
        taken.append(entry)
        for ix in entry.index:
            for v in ix.free:
                if v in opened and v not in names:
                    names[v] = ("u", len(names), 0)
        rename = {v: of_var(u) for v, u in names.items()}
        label.append(f"{entry.tensor}[{','.join(ix.subst(rename).key for ix in entry.index)}]")
    label += [f"{u}<{opened[v].key}" for v, u in names.items()]
    rest = monomial({a: e for a, e in factors if a not in taken}) if len(factors) > len(taken) else ONE
    rest = Rewriter({v: of_var(u) for v, u in names.items()})(rest)
    left = [(v, n) for v, n in opened.items() if v not in names]
    return ";".join(label), sum_over(rest, left) if left else rest


def _holds(mono: Mono, family: set[str]) -> bool:
    return any(isinstance(a, Access) and a.tensor in family and e == 1 for a, e in mono)
