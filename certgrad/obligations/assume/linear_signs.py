"""Signs of terms by linear arithmetic: each monomial is an unknown, and Fourier-Motzkin elimination excludes signs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

from flint import fmpq

from certgrad.language.functions import FUNCTIONS
from certgrad.obligations.terms.atoms import Access, Dim, Fn, Sum
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, monomial, poly_of
from certgrad.obligations.terms.predicates import PREDICATES

from .fact import Fact
from .form_signs import FormSigns
from .signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO

MAX_ROWS = 300
"""Most inequalities during an elimination; a system that grows beyond counts as feasible."""


@dataclass(frozen=True)
class Constraint:
    """The inequality poly > 0 if `strict`, else poly ≥ 0."""

    poly: Poly
    strict: bool


Row = tuple[tuple[tuple[int, int], ...], bool]
"""An inequality Σ c·unknown > 0 (strict) or ≥ 0: pairs (number of an unknown, coefficient), sorted, and `strict`.

Number 0 is the constant; the coefficients have no common factor."""


def infeasible(constraints: Iterable[Constraint]) -> bool:
    """Return whether no real values of the monomials satisfy all constraints.

    The unknowns are eliminated one after the other (Fourier and Motzkin), first those that give the fewest new rows,
    until only constants are left. If the rows become too many, the answer is False, which is always safe.
    """
    rows = list(dict.fromkeys((_canonical_integer_row(c.poly.row), c.strict) for c in constraints))
    while True:
        if any(_contradiction(r) for r in rows):
            return True
        signs: dict[int, list[int]] = {}
        for terms, _ in rows:
            for unknown, k in terms:
                if unknown:
                    signs.setdefault(unknown, [0, 0])[k > 0] += 1
        if not signs:
            return False
        # Each pair of a lower and an upper bound gives a row, and all these bounds go.
        eliminated = min(signs, key=lambda u: (signs[u][0] * signs[u][1] - sum(signs[u]), u))
        budget.spend(len(rows) + signs[eliminated][0] * signs[eliminated][1])
        rows = _eliminate(eliminated, rows)
        if len(rows) > MAX_ROWS:
            return False


def _contradiction(row: Row) -> bool:
    """Return whether the row is 0 > 0, or says that a negative number is not negative."""
    terms, strict = row
    if not terms:
        return strict
    return len(terms) == 1 and terms[0][0] == 0 and terms[0][1] < 0


def _eliminate(unknown: int, rows: list[Row]) -> list[Row]:
    """Return rows without the unknown x, which hold exactly where some value of x satisfies the given rows.

    Rows without x are kept. Each lower bound a·x + low ≥ 0 is added to each upper bound −b·x + high ≥ 0, so that x
    cancels: b·low + a·high ≥ 0, strictly if one of them is strict.
    """
    out: dict[Row, None] = {}
    lower: list[tuple[dict[int, int], int, bool]] = []
    upper: list[tuple[dict[int, int], int, bool]] = []
    for row in rows:
        terms, strict = row
        coefficients = dict(terms)
        k = coefficients.pop(unknown, None)
        if k is None:
            out.setdefault(row)
        else:
            (lower if k > 0 else upper).append((coefficients, abs(k), strict))
    for low, a, s in lower:
        for high, b, t in upper:
            mixed = {u: c * b for u, c in low.items()}
            for u, c in high.items():
                mixed[u] = mixed[u] + c * a if u in mixed else c * a
            out.setdefault((_scaled(sorted((u, c) for u, c in mixed.items() if c)), s or t))
    return list(out)


def _canonical_integer_row(items: Iterable[tuple[int, fmpq]]) -> tuple[tuple[int, int], ...]:
    """Return the coefficients scaled by a positive number to whole numbers without a common factor.

    Equal inequalities are then equal rows, and whole numbers are hashed and multiplied much faster than rational ones.
    """
    items = tuple(items)
    divisor = lcm(*(int(c.q) for _, c in items))
    return _scaled([(u, int(c.p) * (divisor // int(c.q))) for u, c in items])


def _scaled(items: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    factor = gcd(*(c for _, c in items))
    return tuple(items) if factor <= 1 else tuple((u, c // factor) for u, c in items)


LONGEST = 40
"""Most monomials of a term for which linear arithmetic is tried: it seldom decides a longer one, and takes long."""


class LinearSigns(FormSigns):
    """Signs of terms by linear arithmetic over their monomials, from assumptions and constraints on each monomial."""

    facts: tuple[Fact, ...]
    integers: frozenset[str]
    """Names of the arrays whose entries are integers."""

    @abstractmethod
    def relevant(self, poly: Poly) -> list[Fact]:
        """Return the assumptions that apply to the term, at the entries that it mentions."""

    def consistent(self, facts: Iterable[Fact]) -> bool:
        """Return whether linear arithmetic finds no contradiction among the facts."""
        constraints = [c for f in facts for c in self._constraints(f)]
        return not infeasible(constraints + self._side_constraints([c.poly for c in constraints]))

    def by_linear(self, poly: Poly, possible: int) -> int:
        """Return those of the possible signs that linear arithmetic over the facts does not exclude.

        A sign is excluded where the facts, the side constraints on the monomials and that sign contradict each other.
        """
        if len(poly) > LONGEST:
            return possible
        relevant = self.relevant(poly)
        if not relevant and not any(_bounded(a) for m in poly for a, _ in m):
            return possible  # there are only signs of monomials to use, and `by_form` has used them
        poly = self._without_positive_divisors(poly)
        constraints = [c for f in relevant for c in self._constraints(f)]
        # Bounds on products are many, and seldom turn ≥ into >.
        shrinking = self._has_upper_bounds and possible not in (NONNEG, NONPOS)
        constraints += self._side_constraints([poly, *(c.poly for c in constraints)], shrinking)
        if not constraints:
            return possible
        out = 0
        if possible & POS and not infeasible([*constraints, self._above_zero(poly)]):
            out |= POS
        if possible & NEG and not infeasible([*constraints, self._above_zero(-poly)]):
            out |= NEG
        if possible & ZERO and not infeasible([*constraints, Constraint(poly, False), Constraint(-poly, False)]):
            out |= ZERO
        if out != possible:
            applied(Law.LINEAR_ARITHMETIC)
        return out

    def _constraints(self, fact: Fact) -> list[Constraint]:
        """Return a fact as inequalities; none for p ≠ 0, which is no linear constraint, and for long terms."""
        if fact.signs == NONZERO or len(fact.poly) > LONGEST:
            return []
        poly = self._without_positive_divisors(fact.poly)
        out = []
        if not fact.signs & NEG:
            out.append(self._above_zero(poly) if fact.signs == POS else Constraint(poly, False))
        if not fact.signs & POS:
            out.append(self._above_zero(-poly) if fact.signs == NEG else Constraint(-poly, False))
        return out

    def _above_zero(self, poly: Poly) -> Constraint:
        """Return the constraint that the term is positive: poly − 1 ≥ 0 for an integer, else poly > 0."""
        return Constraint(poly - ONE, False) if self._is_integer(poly) else Constraint(poly, True)

    def _is_integer(self, poly: Poly) -> bool:
        """Return whether the term is an integer at all inputs, as its coefficients and atoms are integers."""
        return all(c.q == 1 and self._is_integer_product(mono) for mono, c in poly.items())

    def _is_integer_product(self, mono: Mono) -> bool:
        return all(isinstance(e, int) and e > 0 and self._is_integer_atom(a) for a, e in mono)

    def _is_integer_atom(self, a: Atom) -> bool:
        if isinstance(a, Access):
            return a.tensor in self.integers
        floor = isinstance(a, Fn) and a.name == "floor"
        return floor or isinstance(a, (*PREDICATES, Dim)) or (isinstance(a, Sum) and self._is_integer_product(a.body))

    def _without_positive_divisors(self, poly: Poly) -> Poly:
        """Return the term times its positive divisors, which has the same sign: x/β − 1 becomes x − β.

        A product can have new divisors, so this is repeated, at most four times.
        """
        for _ in range(4):
            divisors: dict[Atom, Exponent] = {}
            for mono in poly:
                for a, e in mono:
                    if isinstance(e, int) and e < 0 and self.power_signs(a, 1) == POS:
                        divisors[a] = max(divisors.get(a, 0), -e)
            if not divisors:
                break
            poly = poly * monomial(divisors)
        return poly

    def _side_constraints(self, polys: list[Poly], shrinking: bool = False) -> list[Constraint]:
        """Return constraints on the monomials of the terms, by what holds of each alone.

        They are its sign; bounds such as |sin p| ≤ 1, [φ] ≤ 1, ⌊p⌋ ≤ p < ⌊p⌋ + 1 and n ≥ 1; and with `shrinking`,
        bounds by a factor of at most 1 (`_shrunk`). A monomial that a constraint brings in gets constraints too.
        """
        out: dict[Mono, list[Constraint]] = {}
        queue = [m for p in polys for m in p if m]
        for mono in queue:  # the queue grows by the monomials of new constraints
            if mono in out:
                continue
            term = Poly({mono: fmpq(1)})
            signs = self.mono_signs(mono)
            of_monomial: list[Constraint] = []
            for less in self._shrunk(mono, term) if shrinking else ():
                of_monomial.append(less)
                queue += [m for m in less.poly if m]
            if not signs & NEG:
                of_monomial.append(Constraint(term, signs == POS))
            elif not signs & POS:
                of_monomial.append(Constraint(-term, signs == NEG))
            if len(mono) == 1 and mono[0][1] == 1:
                a = mono[0][0]
                if isinstance(a, Fn) and (size := _size(a)):
                    strict = size == "below 1"
                    of_monomial += [Constraint(ONE - term, strict), Constraint(ONE + term, strict)]
                if isinstance(a, PREDICATES):
                    of_monomial.append(Constraint(ONE - term, False))
                if isinstance(a, Fn) and a.name == "floor":  # ⌊p⌋ ≤ p < ⌊p⌋ + 1
                    of_monomial += [Constraint(a.args[0] - term, False), Constraint(term + ONE - a.args[0], True)]
                    queue += [m for m in a.args[0] if m]
                if isinstance(a, Dim) and a.positive:
                    of_monomial.append(Constraint(term - ONE, False))
            out[mono] = of_monomial
        return [c for cs in out.values() for c in cs]

    def _shrunk(self, mono: Mono, term: Poly) -> list[Constraint]:
        """Return u·a ≤ u for each factor a of the monomial with 0 ≤ a ≤ 1 and u ≥ 0; u·a < u if a < 1 and u > 0."""
        out = []
        for a, e in mono:
            bound = self._up_to_one(a) if isinstance(e, int) and e > 0 else ANY_SIGN
            if bound & NEG or self.atom_signs(a) & NEG:
                continue
            rest = monomial({**dict(mono), a: e - 1} if e > 1 else {b: k for b, k in mono if b is not a})
            signs = ANY_SIGN if rest.single() is None else self.by_form(rest)
            if not signs & NEG:
                out.append(Constraint(rest - term, bound == POS and signs == POS))
        return out

    def _up_to_one(self, a: Atom) -> int:
        """Return the signs that 1 − a can have, by facts about 1 − a. For 0 < x ≤ 1 and k ≥ 0, xᵏ is at most 1."""
        if isinstance(a, Fn) and a.name == "whole_power":
            base, exponent = a.args[0].atom(), self.signs(a.args[1])
            if base is None or exponent & NEG or self.atom_signs(base) != POS:
                return ANY_SIGN
            bound = self._up_to_one(base)
            return bound if exponent == POS else bound | ZERO
        out = ANY_SIGN
        for fact in self.relevant(poly_of(a)):
            if fact.poly == ONE - poly_of(a):
                out &= fact.signs
        return out

    @cached_property
    def _has_upper_bounds(self) -> bool:
        """Whether an assumption is about 1 − a for an atom a."""
        return any((ONE - f.poly).atom() is not None for f in self.facts)


def _bounded(a: Atom) -> bool:
    """Return whether more than its sign is known of such an atom, as −1 ≤ sin p ≤ 1 or n ≥ 1 (`_side_constraints`)."""
    return isinstance(a, (*PREDICATES, Dim)) or (isinstance(a, Fn) and (a.name == "floor" or bool(_size(a))))


def _size(a: Fn) -> str:
    """Return the bound on the function's values as `FUNCTIONS` has it: "" for none, "below 1" for |f| < 1."""
    function = FUNCTIONS.get(a.name)
    return "" if function is None else function.size
