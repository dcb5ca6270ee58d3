"""Terms grouped by the cofactors of atoms of a kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, mono_key

Groups = dict[str, list[tuple[Atom, Fraction]]]


def by_cofactor(poly: Poly, wanted: Callable[[Atom], bool]) -> tuple[Groups, Poly]:
    """Return (groups, rest) with poly = Σ cofactor·(Σ c·atom) + rest, for the atoms that `wanted` accepts.

    The groups are, by the key of each cofactor, the (atom, c) that it multiplies. There are none, and `poly` is the
    rest, where such atoms are multiplied with each other or raised to a power.
    """
    groups: Groups = {}
    rest = ZERO
    for mono, c in poly.sorted_items():
        wanted_factors = [(a, e) for a, e in mono if wanted(a)]
        if not wanted_factors:
            rest = rest + Poly({mono: c})
            continue
        if len(wanted_factors) > 1 or wanted_factors[0][1] != 1:
            return {}, poly
        key = mono_key(tuple(f for f in mono if f[0] is not wanted_factors[0][0]))
        groups.setdefault(key, []).append((wanted_factors[0][0], Fraction(int(c.p), int(c.q))))
    return groups, rest
