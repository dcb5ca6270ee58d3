"""Terms as they were probably written: for a reader, never for a proof."""

from __future__ import annotations

from flint import fmpq

from certgrad.obligations.terms.atoms import Base, Exp, Fn
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.walk import deep_atoms


def with_tanh(poly: Poly) -> Poly:
    """Return the term with E/(1 + E) − 1/(1 + E) written as tanh p, where E = exp(2p), outside of other functions."""
    for a in deep_atoms(poly):
        exponential = _exponential(a)
        if exponential is not None:
            poly = _folded(poly, a, exponential)
    return poly


def _exponential(a: Atom) -> Mono | None:
    """Return E where the atom is 1 + E for a product E of exponentials; else None."""
    if not isinstance(a, Base) or len(a.poly) != 2 or a.poly.coefficient(()) != 1:
        return None
    mono, c = (a.poly - ONE).single() or ((), fmpq(0))
    return mono if c == 1 and mono and all(isinstance(b, Exp) for b, _ in mono) else None


def _folded(poly: Poly, base: Atom, exponential: Mono) -> Poly:
    """Return the term with A·(E − 1)/(1 + E) as A·tanh p, where E = exp(2·p) is `exponential` and `base` is 1 + E.

    The term stays as it is where the parts A·E/(1 + E) and −A/(1 + E) have not the same A up to the sign.
    """
    shared = dict(exponential)
    argument = sum((Poly({b.mono: fmpq(1)}).scale(fmpq(e.numerator, 2 * e.denominator)) for b, e in exponential), ZERO)  # type: ignore[attr-defined]
    without_exponential, with_exponential = ZERO, ZERO
    other_terms = ZERO
    for mono, c in poly.items():
        factors: dict[Atom, Exponent] = dict(mono)
        if factors.pop(base, 0) != -1:
            other_terms = other_terms + Poly({mono: c})
        elif all(factors.get(b) == e for b, e in shared.items()):
            with_exponential = with_exponential + monomial({b: e for b, e in factors.items() if b not in shared}).scale(
                c
            )
        elif shared.keys().isdisjoint(factors):
            without_exponential = without_exponential + monomial(factors).scale(c)
        else:
            return poly
    if without_exponential.is_zero or not (without_exponential + with_exponential).is_zero:
        return poly
    return other_terms + with_exponential * poly_of(intern(Fn("tanh", (argument,))))
