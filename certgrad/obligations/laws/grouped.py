"""Terms by what stands beside atoms of a kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from certgrad.obligations.terms.polynomials import ZERO, Atom, Poly, mono_key

Groups = dict[str, list[tuple[Atom, Fraction]]]


def by_cofactor(poly: Poly, wanted: Callable[[Atom], bool]) -> tuple[Groups, Poly]:
    """poly = Σ cofactor·(Σ c·atom) + rest: by the key of each cofactor, the atoms that it multiplies.

    No groups, and all of it as rest, where such atoms are multiplied with each other or raised to a power.
    """
    groups: Groups = {}
    rest = ZERO
    for mono, c in poly.sorted_items():
        here = [(a, e) for a, e in mono if wanted(a)]
        if not here:
            rest = rest + Poly({mono: c})
            continue
        if len(here) > 1 or here[0][1] != 1:
            return {}, poly
        key = mono_key(tuple(f for f in mono if f[0] is not here[0][0]))
        groups.setdefault(key, []).append((here[0][0], Fraction(int(c.p), int(c.q))))
    return groups, rest
