"""Signs of terms under assumptions: what discharges a condition, prunes a region, decides a predicate.

A sign is a set of possibilities, as bits. Everything here is conservative: what cannot be decided stays possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product

from flint import fmpq

from certgrad.obligations.terms.determinants import explicit_determinant
from certgrad.obligations.terms.functions import FUNCTIONS
from certgrad.obligations.terms.index import Ix, Var, of_const
from certgrad.obligations.terms.power import cleared, content
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.sums import substitute
from certgrad.obligations.terms.terms import (
    INDEX_PREDICATES,
    ONE,
    PREDICATES,
    Access,
    Atom,
    Base,
    Dim,
    Exponent,
    Fn,
    Matrix,
    Max,
    Mono,
    Poly,
    Pred,
    Product,
    Side,
    Sum,
    deep_atoms,
    memo,
    monomial,
    poly_of,
)

from .linear import Constraint, infeasible

NEG, ZERO, POS = 1, 2, 4
ANY, NONNEG, NONPOS, NONZERO = 7, 6, 3, 5


def negated(signs: int) -> int:
    return (signs & ZERO) | (POS if signs & NEG else 0) | (NEG if signs & POS else 0)


def times(a: int, b: int) -> int:
    out = (a & b & ZERO) | ((a | b) & ZERO if a and b else 0)
    if (a & POS and b & POS) or (a & NEG and b & NEG):
        out |= POS
    if (a & POS and b & NEG) or (a & NEG and b & POS):
        out |= NEG
    return out


def signs_of_product(factors: int) -> int:
    """The signs that a product of any number of factors with these signs can have: an empty one is 1."""
    if factors == POS:
        return POS
    return (ANY if factors & NEG else NONNEG) & (ANY if factors & ZERO else NONZERO)


def plus(a: int, b: int) -> int:
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    out = 0
    for s, t in ((a, b), (b, a)):
        if s & POS:
            out |= POS if not t & NEG else ANY
        if s & NEG:
            out |= NEG if not t & POS else ANY
    return out | (ZERO if a & b & ZERO else 0)


@dataclass(frozen=True)
class Fact:
    """The sign of a term is among `signs`, for every value of the term's index variables if `universal`."""

    poly: Poly
    signs: int
    universal: bool = True


MOST_CONDITIONS = 4
"""A weight is looked at for all truth values of so many conditions."""


def _least(weight: Poly) -> fmpq:
    """The least value of a term in conditions on indices, whichever of them hold."""
    conditions = sorted({a for mono in weight for a, _ in mono}, key=lambda a: a.key)
    values = []
    for truth in product((True, False), repeat=len(conditions)):
        failing = {a for a, holds in zip(conditions, truth, strict=True) if not holds}
        values.append(sum((c for mono, c in weight.items() if not any(a in failing for a, _ in mono)), fmpq(0)))
    return min(values)


def _number(poly: Poly) -> Poly:
    """The determinant or the smallest minor of a small matrix, which a condition names, by its entries."""
    atom = poly.atom()
    if not isinstance(atom, Matrix) or atom.index:
        return poly
    if atom.name == "determinant":
        return explicit_determinant(atom.body, *atom.vars, atom.ranges[0]) or poly
    return atom.body if atom.ranges[0] == ONE else poly


_without_facts: dict[Poly, int] = memo()
"""Signs that need no assumption."""


MAX_ASSUMED = 4096
_assumed: dict[tuple[Fact, ...], Facts] = memo()
"""Sets of assumptions that were met, not too many of them."""


class Facts:
    """A set of assumptions. `signs(p)` is what they say of p."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self.facts = tuple(replace(f, poly=_number(f.poly)) for f in facts)
        self._known: dict[Poly, int] = {} if self.facts else _without_facts
        self._ground: dict[frozenset[Access], list[Fact]] = {}
        self._relevant: dict[Poly, list[Fact]] = {}

    def extended(self, facts: Iterable[Fact]) -> Facts:
        """These assumptions and more: the same object each time, so that nothing is decided twice."""
        together = (*self.facts, *facts)
        found = _assumed.get(together)
        if found is None:
            if len(_assumed) >= MAX_ASSUMED:
                _assumed.clear()
            found = _assumed[together] = Facts(together)
        return found

    def signs(self, poly: Poly) -> int:
        found = self._known.get(poly)
        if found is None:
            self._known[poly] = ANY  # a question that comes back to itself is not answered
            found = self._known[poly] = self._signs(poly)
        return found

    @property
    def contradictory(self) -> bool:
        """The assumptions contradict each other in a way that linear arithmetic sees."""
        if any(not self.signs(f.poly) & f.signs for f in self.facts):
            return True
        ground = [f for f in self.facts if not f.universal or not f.poly.free]
        constraints = [c for f in ground for c in self._constraints(f)]
        return infeasible(constraints + self._side_constraints([c.poly for c in constraints]))

    def _signs(self, poly: Poly) -> int:
        if isinstance(a := poly.atom(), Matrix) and self._of_positive_definite(a):
            return POS
        poly = _number(poly)
        c = poly.constant()
        if c is not None:
            return POS if c > 0 else NEG if c < 0 else ZERO
        out = self._by_form(poly) & self._by_match(poly)
        if poly.structured and out & ~POS:
            out &= self._of_masked_sum(poly)
        if len(poly) > 1 and out in (ANY, NONNEG, NONPOS, NONZERO):
            out &= self._by_parts(poly)
        if bin(out).count("1") > 1 and (self.facts or len(poly) > 1):
            out &= self._by_linear(poly, out)
        return out

    def _by_form(self, poly: Poly) -> int:
        total = ZERO
        for mono, c in poly.items():
            total = plus(total, times(POS if c > 0 else NEG, self.mono_signs(mono)))
        return total

    def _of_masked_sum(self, poly: Poly) -> int:
        """Signs of Σ_v w(v)·f(v), where w has conditions on indices alone and the sign of f is known.

        It is f's where w ≥ 0 whichever conditions hold, and w > 0 at the first or the last v, of which there is one.
        """
        sums = [(mono[0][0], c) for mono, c in poly.items() if len(mono) == 1 and mono[0][1] == 1]
        first = sums[0][0] if len(sums) == len(poly) else None
        if not isinstance(first, Sum) or len(first.vars) > 1 or not first.ranges[0].positive:
            return ANY
        v, body = first.vars[0], Poly({})
        for a, c in sums:
            if not isinstance(a, Sum) or a.vars != first.vars or a.ranges != first.ranges:
                return ANY
            body = body + Poly({a.body: c})
        c, taken, weight = content(body)
        weight = weight.scale(c)
        conditions = sorted({a for mono in weight for a, _ in mono}, key=lambda a: a.key)
        if len(conditions) > MOST_CONDITIONS or not all(isinstance(a, INDEX_PREDICATES) for a in conditions):
            return ANY
        signs = self.mono_signs(tuple(taken.items()))
        if signs not in (POS, NEG) or not _least(weight) >= 0:
            return ANY
        ends = (of_const(Poly({})), of_const(first.ranges[0] - ONE))
        attained = any(_least(substitute(weight, {v: end})) > 0 for end in ends)
        return signs if attained else signs | ZERO

    def mono_signs(self, mono: Mono) -> int:
        out = POS
        for a, e in mono:
            out = times(out, self._power_signs(a, e))
        return out

    def _power_signs(self, a: Atom, e: Exponent) -> int:
        if a.positive:
            return POS
        signs = self.atom_signs(a)
        if isinstance(e, Fraction):
            return POS if e < 0 else signs & NONNEG or NONNEG
        if e < 0:
            # 1/0 can stand in a lane that is not selected: it says nothing, and never that there is no such case.
            signs = signs & NONZERO or NONZERO
        if e % 2 == 0:
            return (signs & ZERO) | (POS if signs & NONZERO else 0)
        return signs

    def atom_signs(self, a: Atom) -> int:
        if a.positive:
            return POS
        if isinstance(a, (Pred, Side)):
            inside = self.signs(a.poly)
            if inside == POS:
                return POS
            return ZERO if inside == NEG or (isinstance(a, Pred) and not inside & POS) else NONNEG
        if isinstance(a, INDEX_PREDICATES):
            return NONNEG
        if isinstance(a, Sum):
            body = self.mono_signs(a.body)
            if body & POS and body & NEG:
                return ANY
            return body if all(r.positive for r in a.ranges) else body | ZERO
        if isinstance(a, Max):
            return self.signs(a.body)
        if isinstance(a, Product):
            return signs_of_product(self.signs(a.body))
        if isinstance(a, Base):
            return self.signs(a.poly)
        if isinstance(a, Fn):
            return self._fn_signs(a) & self._by_match(poly_of(a))
        return self._by_match(poly_of(a)) & self._by_bounds(a)

    def _of_positive_definite(self, a: Matrix) -> bool:
        """It is the determinant of a positive multiple of a matrix that is assumed to be positive definite."""
        if a.name != "determinant":
            return False
        minors = [m for f in self.facts if f.signs == POS and isinstance(m := f.poly.atom(), Matrix)]
        if not any(m.name == "smallest minor" for m in minors):
            return False
        _, taken, rest = content(a.body, only_positive=True)
        body = monomial({b: e for b, e in taken.items() if b.free & set(a.vars)}) * rest
        return any(m.name == "smallest minor" and m.ranges == a.ranges and m.body == body for m in minors)

    def _fn_signs(self, a: Fn) -> int:
        known = FUNCTIONS.get(a.name)
        if known is not None and known.sign:
            return self.signs(a.args[0]) if known.sign == "of its argument" else _SIGNS[known.sign]
        if a.name == "log":
            return self.signs(a.args[0] - ONE)
        if a.name == "whole_power" and self.signs(a.args[0]) == POS:
            return POS
        if a.name == "polygamma" and (m := a.args[0].constant()) is not None and m.p % 2:
            return POS
        if a.name == "floor":
            signs = self.signs(a.args[0])
            return signs | ZERO if signs & POS else signs
        return ANY

    def _by_bounds(self, a: Atom) -> int:
        """c·a + k > 0 with k ≤ 0 says a > 0."""
        out = ANY
        for fact in self.relevant(poly_of(a)):
            if fact.signs & NEG and fact.signs & POS:
                continue
            c = fact.poly.coefficient(((a, 1),))
            signs = fact.signs if c > 0 else negated(fact.signs)
            if c == 0 or signs & NEG:
                continue
            rest = poly_of(a) - fact.poly.scale(1 / c)
            if a in deep_atoms(rest):
                continue
            below = Facts().signs(rest)
            if not below & NEG:
                out &= POS if signs == POS or below == POS else NONNEG
        return out

    def _by_match(self, poly: Poly) -> int:
        """A fact about the same term up to a factor of known sign."""
        out = ANY
        facts = self.relevant(poly)
        if not facts:
            return out
        c, taken, rest = content(poly)
        for fact in facts:
            c2, taken2, rest2 = content(fact.poly)
            if rest.is_zero or rest != rest2:
                continue
            strict = not fact.signs & ZERO  # then every factor of the fact's term is nonzero
            ratio = POS if c / c2 > 0 else NEG
            divides = False
            for a in {**taken, **taken2}:
                e = taken.get(a, 0) - taken2.get(a, 0)
                if e == 0 or a.positive:
                    continue
                divides = divides or e < 0
                if strict and a in taken2 and (fact.signs == NONZERO or (isinstance(e, int) and e % 2 == 0)):
                    continue
                ratio = ANY
            if divides and not strict:
                continue  # the fact's term may be 0 because of a factor that this term does not have
            out &= times(ratio, fact.signs)
        return out

    def _by_parts(self, poly: Poly) -> int:
        """Signs of a common factor and of what is left; then of the factors over the rationals."""
        numerator, denominators = cleared(poly)
        if numerator.is_zero:
            return ZERO
        outer = POS
        for a, k in denominators.items():
            outer = times(outer, self._power_signs(a, -k))
        c, taken, rest = content(numerator)
        outer = times(outer, POS if c > 0 else NEG)
        for a, e in taken.items():
            outer = times(outer, self._power_signs(a, e))
        if len(rest) > len(numerator):
            return ANY  # what is left is longer than the whole: the same question would come up without end
        if rest != poly and len(rest) < 40:
            return times(outer, self.signs(rest))
        factors = factored(rest) if 1 < len(rest) < 40 else None
        if factors is None or (len(factors[1]) == 1 and factors[1][0][1] == 1):
            return ANY
        outer = times(outer, POS if factors[0] > 0 else NEG)
        for factor, k in factors[1]:
            signs = self.signs(factor)
            outer = times(outer, signs if k % 2 else (signs & ZERO) | (POS if signs & NONZERO else 0))
        return outer

    def _by_linear(self, poly: Poly, possible: int) -> int:
        relevant = self.relevant(poly)
        if not relevant and not any(_bounded(a) for m in poly for a, _ in m):
            return possible  # signs of the monomials alone: `_by_form` has used them
        poly = self._without_positive_divisors(poly)
        constraints = [c for f in relevant for c in self._constraints(f)]
        # Bounds on products are many, and seldom turn ≥ into >.
        shrinking = self._has_upper_bounds and possible not in (NONNEG, NONPOS)
        constraints += self._side_constraints([poly, *(c.poly for c in constraints)], shrinking)
        if not constraints:
            return possible
        out = 0
        if possible & POS and not infeasible([*constraints, Constraint(poly, strict=True)]):
            out |= POS
        if possible & NEG and not infeasible([*constraints, Constraint(-poly, strict=True)]):
            out |= NEG
        if possible & ZERO and not infeasible([*constraints, Constraint(poly, False), Constraint(-poly, False)]):
            out |= ZERO
        return out

    def _constraints(self, fact: Fact) -> list[Constraint]:
        if fact.signs == NONZERO:
            return []
        poly = self._without_positive_divisors(fact.poly)
        out = []
        if not fact.signs & NEG:
            out.append(Constraint(poly, fact.signs == POS))
        if not fact.signs & POS:
            out.append(Constraint(-poly, fact.signs == NEG))
        return out

    def _without_positive_divisors(self, poly: Poly) -> Poly:
        """The term times what it is divided by, where that is positive: x/β − 1 and x − β have one sign."""
        for _ in range(4):
            divisors: dict[Atom, Exponent] = {}
            for mono in poly:
                for a, e in mono:
                    if isinstance(e, int) and e < 0 and self._power_signs(a, 1) == POS:
                        divisors[a] = max(divisors.get(a, 0), -e)
            if not divisors:
                break
            poly = poly * monomial(divisors)
        return poly

    def _side_constraints(self, polys: list[Poly], shrinking: bool = False) -> list[Constraint]:
        """What holds of single monomials: positive ones, bounded functions, dimensions of at least 1."""
        out: dict[Mono, list[Constraint]] = {}
        queue = [m for p in polys for m in p if m]
        for mono in queue:
            if mono in out:
                continue
            term = Poly({mono: fmpq(1)})
            signs = self.mono_signs(mono)
            here: list[Constraint] = []
            for less in self._shrunk(mono, term) if shrinking else ():
                here.append(less)
                queue += [m for m in less.poly if m]
            if not signs & NEG:
                here.append(Constraint(term, signs == POS))
            elif not signs & POS:
                here.append(Constraint(-term, signs == NEG))
            if len(mono) == 1 and mono[0][1] == 1:
                a = mono[0][0]
                if isinstance(a, Fn) and (size := _size(a)):
                    strict = size == "below 1"
                    here += [Constraint(ONE - term, strict), Constraint(ONE + term, strict)]
                if isinstance(a, PREDICATES):
                    here.append(Constraint(ONE - term, False))
                if isinstance(a, Dim) and a.positive:
                    here.append(Constraint(term - ONE, False))
            out[mono] = here
        return [c for cs in out.values() for c in cs]

    def _shrunk(self, mono: Mono, term: Poly) -> list[Constraint]:
        """u·a ≤ u where 0 ≤ a ≤ 1 and u ≥ 0, for each factor a of the monomial; u·a < u where a < 1 and u > 0."""
        out = []
        for a, e in mono:
            bound = self._up_to_one(a) if isinstance(e, int) and e > 0 else ANY
            if bound & NEG or self.atom_signs(a) & NEG:
                continue
            rest = monomial({**dict(mono), a: e - 1} if e > 1 else {b: k for b, k in mono if b is not a})
            signs = ANY if rest.single() is None else self._by_form(rest)
            if not signs & NEG:
                out.append(Constraint(rest - term, bound == POS and signs == POS))
        return out

    def _up_to_one(self, a: Atom) -> int:
        """The signs that 1 − a can have, by a fact that says so. A power xᵏ of 0 < x ≤ 1 with k ≥ 0 is at most 1."""
        if isinstance(a, Fn) and a.name == "whole_power":
            base, exponent = a.args[0].atom(), self.signs(a.args[1])
            if base is None or exponent & NEG or self.atom_signs(base) != POS:
                return ANY
            bound = self._up_to_one(base)
            return bound if exponent == POS else bound | ZERO
        out = ANY
        for fact in self.relevant(poly_of(a)):
            if fact.poly == ONE - poly_of(a):
                out &= fact.signs
        return out

    @cached_property
    def _has_upper_bounds(self) -> bool:
        """Some assumption is about 1 − a for an atom a."""
        return any((ONE - f.poly).atom() is not None for f in self.facts)

    # --- universal facts, instantiated at the accesses that a question mentions ---

    def relevant(self, poly: Poly) -> list[Fact]:
        if not self.facts:
            return []
        found = self._relevant.get(poly)
        if found is None:
            found = self._relevant[poly] = self._grounded(poly)
        return found

    def _grounded(self, poly: Poly) -> list[Fact]:
        accesses = frozenset(a for a in deep_atoms(poly) if isinstance(a, Access))
        found = self._ground.get(accesses)
        if found is None:
            table: dict[tuple[Poly, int], Fact] = {}
            for fact in self.facts:
                for ground in _instances(fact, sorted(accesses, key=lambda a: a.key)):
                    table.setdefault((ground.poly, ground.signs), ground)
            found = self._ground[accesses] = list(table.values())
        return found


def _bounded(a: Atom) -> bool:
    """`_side_constraints` says more of the atom than its sign."""
    return isinstance(a, (*PREDICATES, Dim)) or (isinstance(a, Fn) and bool(_size(a)))


_SIGNS = {">= 0": NONNEG, "> 0": POS}


def _size(a: Fn) -> str:
    """Whether the function's values are between −1 and 1, and which ends they leave out."""
    known = FUNCTIONS.get(a.name)
    return "" if known is None else known.size


def _instances(fact: Fact, accesses: list[Access]) -> Iterable[Fact]:
    if not fact.universal or not fact.poly.free:
        yield fact
        return
    patterns = [a for a in deep_atoms(fact.poly) if isinstance(a, Access) and unbound(a) == fact.poly.free]
    for pattern in patterns:
        for target in accesses:
            mapping = match(pattern, target)
            if mapping is not None:
                yield Fact(substitute(fact.poly, mapping), fact.signs, universal=False)


def unbound(a: Atom) -> frozenset[Var]:
    """The variables that no sum around the atom binds."""
    return frozenset(v for v in a.free if v[0] != "b")


def match(pattern: Access, target: Access) -> dict[Var, Ix] | None:
    if pattern.tensor != target.tensor:
        return None
    mapping: dict[Var, Ix] = {}
    for p, t in zip(pattern.index, target.index, strict=True):
        v = p.variable()
        if v is None or v[0] == "b":
            if p != t:
                return None
        elif mapping.setdefault(v, t) != t:
            return None
    return mapping
