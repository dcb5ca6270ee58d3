"""Sums over the frequencies of a real Fourier transform: the k from 0 up to half of its length n.

With e = 2·⌊n/2⌋ − n + 1, which is 1 for an even size n and 0 for an odd one, and whole numbers m:

    Σ_{k ≤ ⌊n/2⌋} [2·k = n]·f(k) = e·f(n/2)                                for f = cos or sin (2π·k·m/n + φ)
    Σ_{k ≤ ⌊n/2⌋} f(k) = (Σ_{k<n} f(k) + f(0) + e·f(n/2)) / 2              where f(n − k) = f(k), as of cos(2π·k·m/n)

The sum over all k is one over roots of unity (`roots_of_unity.py`).
"""

from __future__ import annotations

from flint import fmpq

from certgrad.obligations.terms.atoms import Dim, Num, Sum
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index_terms import index_number
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, monomial, number, poly_of
from certgrad.obligations.terms.power import fn
from certgrad.obligations.terms.predicates import IxEq
from certgrad.obligations.terms.ranges import Dummies
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var
from certgrad.signatures.sizes import Call, NoSizeError, parse_size

from .roots_of_unity import Ranges, Wave, over_all, waves


def carried_out(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term with its sums over half a spectrum carried out; `ranges` are of the variables outside of sums."""

    def inside(a: Atom) -> Poly | None:
        if not isinstance(a, Sum):
            return None if a.structured else poly_of(a)
        dummies, body = open_sum(a)
        inner_ranges = {**ranges, **dict(dummies)}
        return sum(
            (_summed(mono, dummies, inner_ranges).scale(c) for mono, c in carried_out(body, inner_ranges).items()), ZERO
        )

    return replaced(poly, inside) if poly.structured else poly


def _summed(mono: Mono, dummies: Dummies, ranges: Ranges) -> Poly:
    for v, size in dummies:
        moving = [(a, e) for a, e in mono if v in a.free]
        length = _length(size) if moving else None
        value = None if length is None else _carried_out(moving, v, *length, ranges)
        if value is not None:
            applied(Law.HALF_SPECTRUM)
            rest = monomial({a: e for a, e in mono if v not in a.free})
            return sum_over(rest * value, [(w, m) for w, m in dummies if w != v])
    return sum_over(monomial(dict(mono)), dummies)


def _length(size: Poly) -> tuple[Poly, Poly] | None:
    """Return (n, ⌊n/2⌋) where the range `size` is ⌊n/2⌋ + 1; else None."""
    half = (size - ONE).atom()
    if not isinstance(half, Dim) or half.name.isidentifier():
        return None
    try:
        written = parse_size(half.name)
    except NoSizeError:
        return None
    match written.terms:
        case ((1, (Call("floordiv", left, right),)),) if right.value == 2 and left.name is not None:
            return poly_of(intern(Dim(left.name))), poly_of(half)
    return None


def _carried_out(moving: list[tuple[Atom, Exponent]], v: Var, n: Poly, half: Poly, ranges: Ranges) -> Poly | None:
    """Return the sum over v ≤ ⌊n/2⌋ of the product `moving`; None where it has none of the forms above."""
    equations = [a for a, _ in moving if isinstance(a, IxEq)]
    summands = waves([(a, e) for a, e in moving if a not in equations], v, n)
    if summands is None or len(equations) > 1:
        return None
    even = half.scale(2) - n + ONE  # e of the formulas
    at_half = even * sum((_at_half(wave) for wave in summands), ZERO)
    for equation in equations:
        twice = equation.ix.scaled(1 if equation.ix.coefficient(v) > 0 else -1)
        return at_half if twice.terms == ((v, 2),) and -twice.const == n else None
    if not all(wave.name == "cos" and wave.phase.is_zero for wave in summands):
        return None
    total = over_all(summands, n, {w: m for w, m in ranges.items() if w != v})
    at_0 = sum((number(wave.coefficient) for wave in summands), ZERO)
    return None if total is None else (total * n + at_0 + at_half).scale(fmpq(1, 2))


def _at_half(wave: Wave) -> Poly:
    angle = poly_of(intern(Num("pi"))) * index_number(wave.m)
    return fn(wave.name, angle + wave.phase) * number(wave.coefficient)
