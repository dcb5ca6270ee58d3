"""Terms on the set where an equation holds: what it determines is replaced by its value."""

from __future__ import annotations

from collections.abc import Iterator

from certgrad.obligations.terms.atoms import Access, Fn
from certgrad.obligations.terms.functions import WHOLE
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.polynomials import Atom, Mono, Poly, poly_of
from certgrad.obligations.terms.power import power
from certgrad.obligations.terms.rewriting import Rewriter, replaced
from certgrad.obligations.terms.walk import atoms_of, deep_atoms


def eliminated(poly: Poly, equation: Poly) -> Poly:
    """The term on the set where `equation` = 0: an entry that the equation determines is replaced, or its power.

    A multiple of the equation is 0 there: where it determines no entry, one of its products is replaced. What is put in
    place of the entry may hold it under a whole number, as in x = ½ + 2·⌊x/2⌋.
    """
    if len(poly) == len(equation) and not equation.is_zero:
        mono, c = next(iter(equation.items()))
        if poly == equation.scale(poly.coefficient(mono) / c):
            return NOTHING
    solved = solve(equation)
    if solved is not None:
        atom, value = solved
        return replaced(poly, lambda a: value if a is atom else None)
    found = next(_products(equation), None)
    return poly if found is None else _Product(*found)(poly)


class _Product(Rewriter):
    """Puts a value in place of a product of powers, as of one: x^(k·q + r) = xʳ·value^q."""

    def __init__(self, product: Mono, value: Poly) -> None:
        super().__init__(replace=lambda a: None)
        self.product, self.value = product, value

    def mono(self, mono: Mono) -> Poly:
        powers = dict(mono)
        exponents = [(powers.get(a, 0), k) for a, k in self.product]
        times = min(e // k if isinstance(e, int) else 0 for e, k in exponents)
        if times < 1:
            return super().mono(mono)
        powers |= {a: powers[a] - k * times for a, k in self.product}
        return super().mono(tuple((a, n) for a, n in powers.items() if n)) * power(self.value, times)


def solve(equation: Poly) -> tuple[Atom, Poly] | None:
    """An entry that the equation determines, with its value: c·a + rest = 0 with c a factor that is not 0 there.

    That is a factor that is never 0, or any factor where rest is a number other than 0: then c·a = −rest ≠ 0.
    """
    found = (
        (a, value)
        for a in _entries(equation)
        if (value := _determined(equation, a, 1)) is not None and a not in deep_atoms(value)
    )
    return next(found, None)


def _products(equation: Poly) -> Iterator[tuple[Mono, Poly]]:
    """Powers of entries that the equation determines, where they stand else only under whole numbers; then products."""
    for a in _entries(equation):
        k = max((e for mono in equation for b, e in mono if b is a and isinstance(e, int)), default=0)
        value = _determined(equation, a, k) if k > 0 else None
        if value is not None and not _stands_in(value, a):
            yield ((a, k),), value
    for mono, c in equation.sorted_items():
        if mono and all(isinstance(e, int) and e > 0 for _, e in mono):
            yield mono, (Poly({mono: c}) - equation).scale(1 / c)


def _entries(equation: Poly) -> list[Access]:
    return sorted((a for a in atoms_of(equation) if isinstance(a, Access)), key=lambda a: (len(a.free) == 0, a.key))


def _determined(equation: Poly, a: Atom, k: int) -> Poly | None:
    """Return the value of aᵏ by c·aᵏ + rest = 0; a may stand in it."""
    coefficient, rest = NOTHING, NOTHING
    for mono, c in equation.items():
        powers = dict(mono)
        if powers.pop(a, 0) == k:
            coefficient = coefficient + Poly({tuple(powers.items()): c})
        else:
            rest = rest + Poly({mono: c})
    single = coefficient.single()
    if single is None or a in deep_atoms(coefficient):
        return None
    if not (rest.constant() or all(b.positive or e < 0 for b, e in single[0])):
        return None
    return -(rest * power(coefficient, -1))


def _stands_in(poly: Poly, a: Atom) -> bool:
    """Return whether the entry is there otherwise than under a whole number."""
    return any(a in deep_atoms(poly_of(b)) for b in atoms_of(poly) if not (isinstance(b, Fn) and b.name in WHOLE))
