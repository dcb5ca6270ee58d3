"""Signs of terms under assumptions. They discharge conditions, exclude regions and decide predicates.

The answer is a set of possible signs, and is conservative: a sign that cannot be excluded stays in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.determined import Loop, Matrix, Rec, carried
from certgrad.obligations.terms.index import IntegerAtom, of_var
from certgrad.obligations.terms.index_terms import at_least
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, current, monomial, poly_of
from certgrad.obligations.terms.power import cleared, content
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.spectra import (
    determinants,
    eigenvalue_of_gap,
    explicit_determinant,
    of_matrix,
    of_spectrum,
)
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import deep_atoms

from .fact import Fact, Question, instances
from .linear_signs import LinearSigns
from .signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO, negated, times


def _number(poly: Poly) -> Poly:
    """Return the determinant or the smallest minor of a small matrix as a term in its entries; other terms as they are.

    A smallest minor is written out only for a matrix of one entry.
    """
    atom = poly.atom()
    if not isinstance(atom, Matrix) or atom.index:
        return poly
    if atom.name == "determinant":
        return explicit_determinant(atom.body, *atom.vars, atom.ranges[0]) or poly
    return atom.body if atom.ranges[0] == ONE else poly


_without_facts: Memo[Poly, int] = Memo()
"""Signs of terms without any assumption, also without knowing which arrays are of integers."""


MAX_ASSUMED = 4096
"""Most sets of assumptions that are kept in `_assumed`; then the table is emptied."""
_assumed: Memo[tuple[tuple[Fact, ...], frozenset[str]], Facts] = Memo()
"""The `Facts` object for each set of assumptions that came up."""


class Facts(LinearSigns):
    """A set of assumptions. `signs(p)` are the signs that the term p can have under them.

    `integers` are the names of the arrays whose entries are integers.
    """

    def __init__(self, facts: Iterable[Fact] = (), integers: frozenset[str] = frozenset()) -> None:
        self.facts = tuple(replace(f, poly=_number(current(f.poly))) for f in facts)
        self.integers = integers
        self._known: dict[Poly, int] = {} if self.facts or integers else _without_facts.table
        self._ground: dict[Question, list[Fact]] = {}
        self._relevant: dict[Poly, list[Fact]] = {}

    def extended(self, facts: Iterable[Fact]) -> Facts:
        """Return these assumptions together with more: the same object each time, so that nothing is decided twice."""
        together = (*self.facts, *facts), self.integers
        extension = _assumed.table.get(together)
        if extension is None:
            if len(_assumed.table) >= MAX_ASSUMED:
                _assumed.table.clear()
            extension = _assumed.table[together] = Facts(*together)
        return extension

    def signs(self, poly: Poly) -> int:
        """Return the signs that the term can have, as bits (see the module `signs`)."""
        possible = self._known.get(poly)
        if possible is None:
            self._known[poly] = ANY_SIGN  # a question that comes back to itself is not answered
            possible = self._known[poly] = self._signs(poly)
        return possible

    @cached_property
    def contradictory(self) -> bool:
        """Whether the assumptions contradict each other in a way that signs or linear arithmetic show.

        Local assumptions are left out, as they may say nothing at the entries that the others are about.
        """
        if any(not self.signs(f.poly) & f.signs for f in self.facts if not f.local):
            return True
        single = (f for f in self.facts if not f.universal and len(f.poly) > 1)
        if any(not self._by_parts(f.poly) & f.signs for f in single):
            return True  # the signs of its factors exclude the fact
        ground = [f for f in self.facts if not f.universal or not f.poly.free]
        return not self.consistent(ground)

    def _signs(self, poly: Poly) -> int:
        """Return the possible signs of a term.

        Each method excludes some signs. The cheap ones run first, an expensive one only where it could still exclude
        a sign.
        """
        if isinstance(a := poly.atom(), Matrix) and self._of_positive_definite(a):
            return POS
        if self.facts and (value := eigenvalue_of_gap(poly)) is not None and self._says(of_spectrum(value), NONZERO):
            return NONZERO
        poly = _number(poly)
        c = poly.constant()
        if c is not None:
            return POS if c > 0 else NEG if c < 0 else ZERO
        out = self.by_form(poly) & self.by_match(poly)
        if poly.structured and out & ~POS:
            out &= self.of_masked_sum(poly) & self.of_place(poly)
        if len(poly) > 1 and out in (ANY_SIGN, NONNEG, NONPOS, NONZERO):
            out &= self._by_parts(poly)
        if bin(out).count("1") > 1 and (self.facts or len(poly) > 1):
            out &= self.by_linear(poly, out)
        if len(poly) > 1 and bin(out).count("1") > 1:
            out &= self._by_conjugate(poly)
        if 1 < len(poly) < 40 and out & NEG and out & POS:
            out &= self.of_squared_sums(poly)
        return out

    def _by_conjugate(self, poly: Poly) -> int:
        """Return the signs of a term u + w, where w is its only summand with a square root, by the conjugate w − u.

        Where |w| > |u|, the sign is that of w; where |u| > |w|, that of u. Which is larger is the sign of w² − u², a
        term without the root. w has to be real: w² ≥ 0 is shown first. Any sign for a term of another form.
        """
        roots = [(m, c) for m, c in poly.items() if any(isinstance(e, Fraction) for _, e in m)]
        if len(roots) != 1 or any(e.denominator != 2 for _, e in roots[0][0] if isinstance(e, Fraction)):
            return ANY_SIGN
        w = Poly(dict(roots))
        u, square = poly - w, w * w
        if self.signs(square) & NEG:
            return ANY_SIGN
        larger = self.signs(square - u * u)
        if larger == NEG:
            return self.signs(u) & NONZERO
        return ANY_SIGN if larger & NEG else self.by_form(w) & NONZERO if larger == POS else self.by_form(w) | ZERO

    def _says(self, poly: Poly, signs: int) -> bool:
        """Return whether an assumption about this very term allows only these signs, or it is a positive number."""
        c = poly.constant()
        return any(f.poly == poly and not f.signs & ~signs for f in self.facts) or (c is not None and c > 0)

    def _of_full_rank(self, a: Matrix) -> bool:
        """Return whether an atom is a singular value of a matrix that is assumed to have full rank.

        The assumption is that one of the matrix's `determinants` is not 0.
        """
        return a.name == "singular value" and any(self._says(_number(p), NONZERO) for p in determinants(a))

    def _has_determinant(self, a: Matrix) -> bool:
        """Return whether det(A) or det(Aᵀ) is assumed not to be 0, for the matrix A inside the atom."""
        sides = (a.vars, a.vars[::-1])
        return any(self._says(_number(of_matrix("determinant", a.body, *v, a.ranges, ())), NONZERO) for v in sides)

    def atom_signs(self, a: Atom) -> int:
        """Return the possible signs of an atom: also by what is assumed of its matrix, or by the steps of its loop."""
        out = super().atom_signs(a)
        if isinstance(a, Matrix):
            if a.name == "singular value":
                out &= POS if self._of_full_rank(a) else NONNEG
            elif self._of_positive_definite(a):
                out &= POS
            elif a.name == "lu" and a.index[0] == a.index[1] and self._has_determinant(a):
                out &= NONZERO  # the diagonal of U, whose product is the determinant up to its sign
        elif isinstance(a, Rec):
            out &= self._of_carry(a)
        return out

    @cached_property
    def _throughout(self) -> tuple[Fact, ...]:
        """The assumptions that hold at all entries, without those about loops."""
        everywhere = (f for f in self.facts if f.universal and not f.local)
        return tuple(f for f in everywhere if not any(isinstance(b, Rec) for b in deep_atoms(f.poly)))

    def _of_carry(self, a: Rec) -> int:
        """Return the possible signs of a carry of a loop, by induction on the time (`_by_steps`).

        At a time that is at least 1 they are the signs after a step, else those at all times.
        """
        key = a.loop, self._throughout, self.integers
        if key not in _carried.table:
            any_signs = [(ANY_SIGN, ANY_SIGN)] * len(a.carries)
            _carried.table[key] = any_signs  # a question that comes back to itself is not answered
            _carried.table[key] = _by_steps(a.loop, Facts(self._throughout, self.integers)) or any_signs
        always, later = _carried.table[key][a.position]
        has_begun = at_least(a.time.const - ONE) == ONE
        has_begun = has_begun and all(c > 0 and not isinstance(v, IntegerAtom) for v, c in a.time.terms)
        return later if has_begun else always

    def _of_positive_definite(self, a: Matrix) -> bool:
        """Return whether the atom is the determinant or an eigenvalue of a matrix that is assumed positive definite.

        The assumption is that the smallest minor of the matrix is positive. Positive factors of all entries make no
        difference.
        """
        if a.name not in ("determinant", "eigenvalue"):
            return False
        minors = [m for f in self.facts if f.signs == POS and isinstance(m := f.poly.atom(), Matrix)]
        if not any(m.name == "smallest minor" for m in minors):
            return False
        _, taken, rest = content(a.body, only_positive=True)
        body = monomial({b: e for b, e in taken.items() if b.free & set(a.vars)}) * rest
        return any(m.name == "smallest minor" and m.ranges == a.ranges and m.body == body for m in minors)

    def by_bounds(self, a: Atom) -> int:
        """Return the signs of an atom a by facts that bound it from below: c·a + k > 0, c > 0 and k ≤ 0 say a > 0."""
        out = ANY_SIGN
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

    def by_match(self, poly: Poly) -> int:
        """Return the signs of a term by facts about the same term up to a factor.

        Term and fact are split into common factors and rest, and the rests have to be equal. Then the sign of the term
        is that of the fact times that of the factors by which they differ.
        """
        out = ANY_SIGN
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
                # A factor of a nonzero fact is nonzero, so that its even powers are positive.
                if strict and a in taken2 and (fact.signs == NONZERO or (isinstance(e, int) and e % 2 == 0)):
                    continue
                ratio = ANY_SIGN
            if divides and not strict:
                continue  # the fact's term may be 0 because of a factor that this term does not have
            out &= times(ratio, fact.signs)
        return out

    def _by_parts(self, poly: Poly) -> int:
        """Return the signs of a term by those of its parts.

        The denominators and the common factor are split off first. If that changes the term, the rest is a new
        question; else the term is factored over ℚ.
        """
        numerator, denominators = cleared(poly)
        if numerator.is_zero:
            return ZERO
        outer = POS
        for a, k in denominators.items():
            outer = times(outer, self.power_signs(a, -k))
        c, taken, rest = content(numerator)
        outer = times(outer, POS if c > 0 else NEG)
        for a, e in taken.items():
            outer = times(outer, self.power_signs(a, e))
        if len(rest) > len(numerator):
            return ANY_SIGN  # the rest is longer than the whole: asking for its signs might not come to an end
        if rest != poly and len(rest) < 40:
            return times(outer, self.signs(rest))
        factors = factored(rest) if 1 < len(rest) < 40 else None
        if factors is None or (len(factors[1]) == 1 and factors[1][0][1] == 1):
            return ANY_SIGN
        outer = times(outer, POS if factors[0] > 0 else NEG)
        for factor, k in factors[1]:
            signs = self.signs(factor)
            outer = times(outer, signs if k % 2 else (signs & ZERO) | (POS if signs & NONZERO else 0))
        return outer

    # --- universal facts, instantiated at the accesses that a question mentions ---

    def relevant(self, poly: Poly) -> list[Fact]:
        """Return the instances of the assumptions at the entries that the term mentions."""
        if not self.facts:
            return []
        ground_facts = self._relevant.get(poly)
        if ground_facts is None:
            ground_facts = self._relevant[poly] = self._grounded(poly)
        return ground_facts

    def _grounded(self, poly: Poly) -> list[Fact]:
        """Return the instances of all assumptions for a question, each once; equal questions share the list."""
        question = Question.on([poly])
        ground_facts = self._ground.get(question)
        if ground_facts is None:
            table: dict[tuple[Poly, int], Fact] = {}
            for fact in self.facts:
                for ground in instances(fact, question):
                    table.setdefault((ground.poly, ground.signs), ground)
            ground_facts = self._ground[question] = list(table.values())
        return ground_facts


_carried: Memo[tuple[Loop, tuple[Fact, ...], frozenset[str]], list[tuple[int, int]]] = Memo()
"""For each carry of a loop, its signs at all times, and those at times of at least 1."""
MAX_WIDER = 4
"""How often signs that a step does not preserve are enlarged."""


def _by_steps(loop: Loop, facts: Facts) -> list[tuple[int, int]] | None:
    """Return for each carry its signs at all times, and its signs after a step, by induction on time; None if it fails.

    The signs begin as those of the initial values. If a step leads out of them, its signs are added, and the step is
    tried again, until the signs are preserved, at most `MAX_WIDER` times.
    """
    signs = [facts.signs(c.init) for c in loop.carries]
    for _ in range(MAX_WIDER):
        if all(s == ANY_SIGN for s in signs):
            return None
        # Assume the signs of all carries at a time s, and derive those at s + 1.
        before = (
            Fact(access(carried(loop.level, k), tuple(of_var(fresh("q")) for _ in range(1 + len(c.ranges)))), s)
            for k, (c, s) in enumerate(zip(loop.carries, signs, strict=True))
            if s != ANY_SIGN
        )
        step_facts = Facts((*facts.facts, *before), facts.integers)
        after = [step_facts.signs(c.step) for c in loop.carries]
        wider = [s | t for s, t in zip(signs, after, strict=True)]
        if wider == signs:
            return list(zip(signs, after, strict=True))
        signs = wider
    return None
