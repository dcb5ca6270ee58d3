"""Exact polynomials over ℚ by flint: factorisation of terms whose atoms count as independent unknowns."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq, fmpq_mpoly_ctx

from .exponents import Exponent
from .polynomials import ONE, Atom, Poly, monomial
from .power import content
from .session import Memo
from .walk import atoms_of

Factors = tuple[fmpq, list[tuple[Poly, int]]] | None
_known: Memo[Poly, Factors] = Memo()


LARGEST_POWER = 200
"""flint takes long over larger exponents, and does not survive one of 63 bits."""


def factored(poly: Poly) -> Factors:
    """Return c and pairs (factor, k) with poly = c · Π factorᵏ; None for fractional, negative or large exponents."""
    if poly not in _known.table:
        _known.table[poly] = _factored(poly)
    return _known.table[poly]


def _factored(poly: Poly) -> Factors:
    """Return `factored` of a term: its common monomial is split off first, and flint factors the rest."""
    c, common, rest = content(poly)
    if any(isinstance(e, Fraction) or not 0 <= e <= LARGEST_POWER for m in rest for _, e in m):
        return None
    atoms = sorted(atoms_of(rest), key=lambda a: a.key)
    if not atoms or any(isinstance(e, Fraction) for e in common.values()):
        return None
    ctx = fmpq_mpoly_ctx.get([f"x{k}" for k in range(len(atoms))], "deglex")
    place = {a: k for k, a in enumerate(atoms)}
    terms = {}
    for m, coefficient in rest.items():
        powers = [0] * len(atoms)
        for a, e in m:
            powers[place[a]] = int(e)
        terms[tuple(powers)] = coefficient
    scale, factors = ctx.from_dict(terms).factor()
    out = [(_back(f.to_dict(), atoms), int(k)) for f, k in factors]
    out += [(monomial({a: 1 if e > 0 else -1}), abs(int(e))) for a, e in common.items()]
    return fmpq(scale) * c, sorted(out, key=lambda t: t[0].key)


def _back(terms: dict, atoms: list[Atom]) -> Poly:
    """Return a polynomial of flint, {exponents: coefficient}, as a term over the atoms."""
    total = Poly({})
    for powers, c in terms.items():
        factors: dict[Atom, Exponent] = {a: int(e) for a, e in zip(atoms, powers, strict=True) if e}
        total = total + (monomial(factors) if factors else ONE).scale(fmpq(c))
    return total
