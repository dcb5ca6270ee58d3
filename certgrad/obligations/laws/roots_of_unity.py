"""Sums over roots of unity, as the discrete Fourier transform has them.

For whole numbers m, n with n ≥ 1 and a phase φ that does not depend on k,

    Σ_{k<n} cos(2π·k·m/n + φ) = n·[n divides m]·cos φ,        Σ_{k<n} sin(2π·k·m/n + φ) = n·[n divides m]·sin φ:

they are the parts of e^{iφ}·Σ_k ω^k for ω = e^{2πi·m/n}, where ωⁿ = 1, so that the geometric sum is n if ω = 1 and 0
otherwise. Products of sines and cosines are sums of such by the product formulas. Where m is known to lie between −3n
and 3n, n divides it if it is one of 0, ±n, ±2n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from certgrad.obligations.terms.atoms import Dim, Fn, IndexNumber, Num, Sum
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import Ix, of_const
from certgrad.obligations.terms.index_terms import as_index, at_least, bounds, index_equal
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, monomial, number, poly_of
from certgrad.obligations.terms.power import fn, power
from certgrad.obligations.terms.rewriting import replaced
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms

Ranges = Mapping[Var, Poly]
MOST_FACTORS = 4
"""The most sines and cosines in a product that becomes a sum; a longer product stays."""
TURNS = 2
"""The largest multiple of n, up and down, that m may be; where m may be further from 0, it is open if n divides m."""


class Wave(NamedTuple):
    """coefficient · cos or sin (2π·k·m/n + φ)."""

    name: str
    coefficient: Fraction
    m: Ix
    phase: Poly


def carried_out(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term with sums over roots of unity carried out; `ranges` are of the variables outside of sums."""
    if not any(_is_wave(a) for a in deep_atoms(poly)):
        return poly

    def inside(a: Atom) -> Poly | None:
        if not isinstance(a, Sum):
            return None if a.structured else poly_of(a)
        dummies, body = open_sum(a)
        inner_ranges = {**ranges, **dict(dummies)}
        body = carried_out(body, inner_ranges)
        return sum((_summed(mono, dummies, inner_ranges).scale(c) for mono, c in body.items()), ZERO)

    return replaced(poly, inside)


def _is_wave(a: Atom) -> bool:
    return isinstance(a, Fn) and a.name in ("cos", "sin") and a.structured


def _summed(mono: Mono, dummies: list[tuple[Var, Poly]], ranges: Ranges) -> Poly:
    for v, n in dummies:
        moving = [(a, e) for a, e in mono if v in a.free]
        summands = waves(moving, v, n) if moving else None
        other_dummies = [(w, m) for w, m in dummies if w != v]
        total = None if summands is None else over_all(summands, n, {w: m for w, m in ranges.items() if w != v})
        if total is not None:
            applied(Law.ROOTS_OF_UNITY)
            rest = monomial({a: e for a, e in mono if v not in a.free})
            return carried_out(sum_over(rest * total * n, other_dummies), ranges) if other_dummies else rest * total * n
    return sum_over(monomial(dict(mono)), dummies)


def waves(factors: Sequence[tuple[Atom, Exponent]], v: Var, n: Poly) -> list[Wave] | None:
    """Return single waves over v < n that add up to the product; None where a factor is no wave, or there are many."""
    if not all(_is_wave(a) and e in range(1, MOST_FACTORS + 1) for a, e in factors):
        return None
    if sum(e for _, e in factors) > MOST_FACTORS:
        return None
    out = [Wave("cos", Fraction(1), of_const(ZERO), ZERO)]
    for a, e in factors:
        assert isinstance(a, Fn)
        wave = _wave(a, v, n)
        if wave is None:
            return None
        for _ in range(int(e)):
            out = [product for summand in out for product in _product(summand, wave)]
    return out


def _wave(a: Fn, v: Var, n: Poly) -> Wave | None:
    """Return the function of 2π·v·m/n + φ as a wave, for a whole number m that does not depend on v; else None."""
    index_number, turns, phase = intern(IndexNumber(v)), ZERO, ZERO
    for mono, c in a.args[0].items():
        exponents = dict(mono)
        if exponents.pop(index_number, 0) == 1 and all(v not in b.free for b in exponents):
            turns = turns + monomial(exponents).scale(c)
        elif any(v in b.free for b, _ in mono):
            return None
        else:
            phase = phase + Poly({mono: c})
    m_term = (turns * n * power(poly_of(intern(Num("pi"))), -1)).scale(number(Fraction(1, 2)).constant())
    # Entries of arrays may be any numbers: indices and sizes alone are whole.
    if not all(isinstance(b, IndexNumber | Dim) for mono, _ in m_term.items() for b, _ in mono):
        return None
    m = as_index(m_term)
    return None if m is None else Wave(a.name, Fraction(1), m, phase)


def _product(a: Wave, b: Wave) -> list[Wave]:
    half = a.coefficient * b.coefficient / 2
    over = (a.m.plus(b.m), a.phase + b.phase)
    under = (a.m.minus(b.m), a.phase - b.phase)
    if a.name == b.name:
        sign = 1 if a.name == "cos" else -1
        return [Wave("cos", half, *under), Wave("cos", sign * half, *over)]
    sign = 1 if a.name == "sin" else -1
    return [Wave("sin", half, *over), Wave("sin", sign * half, *under)]


def over_all(found: list[Wave], n: Poly, ranges: Ranges) -> Poly | None:
    """Return Σ_{k<n} of the waves, divided by n; None where it is open whether n divides the m of one."""
    total = ZERO
    for wave in found:
        divides = _divides(n, wave.m, ranges)
        if divides is None:
            return None
        total = total + divides * fn(wave.name, wave.phase) * number(wave.coefficient)
    return total


def _divides(n: Poly, m: Ix, ranges: Ranges) -> Poly | None:
    """Return [n divides m]; None where m is not known to be near enough to 0 (see `TURNS`)."""
    least, most = bounds(m, ranges)
    if least is None or most is None:
        return None
    if not all(at_least(n.scale(TURNS + 1) - ONE + end) == ONE for end in (least, -most)):
        return None
    places = (index_equal(m.shifted(n.scale(-q)), ranges) for q in range(-TURNS, TURNS + 1))
    return sum(places, ZERO)
