"""Where a piecewise term is differentiable: the hypotheses that its predicates add.

A term with [p > 0] is differentiable off p = 0. On p = 0 it still is, if the forms it has on all sides are C¹ there
and agree in value and in derivative (Huber's seam); otherwise p ≠ 0 becomes a hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._cases import Region, bound_free, by_summand, eliminated, nonzero_part, predicates, solve
from ._conditions import Atomic, Clause, discharged
from ._derivative import Differentiator, depends
from ._facts import NEG, NONZERO, POS, ZERO, Fact, Facts, _deep_atoms, _instances, parts
from ._power import UndefinedTermError
from ._sums import Rewriter
from ._terms import ONE, Access, Atom, Max, Poly, Pred, Sum, atoms_of
from ._terms import ZERO as NOTHING

MAX_FORMS = 32


def seam_hypotheses(
    poly: Poly, tangents: Mapping[str, str], region: Region, smooth: tuple[Clause, ...]
) -> list[Clause]:
    """Clauses under which the term is differentiable at its predicates' zeros, beyond `smooth`."""
    found: list[Clause] = []
    _Search(tangents, smooth, found, region.facts).term(poly)
    return found


@dataclass
class _Search:
    tangents: Mapping[str, str]
    smooth: tuple[Clause, ...]
    found: list[Clause]
    facts: Facts

    def term(self, poly: Poly) -> None:
        """Hypotheses for one term: the summands of its sums, the arguments of its functions, then its own regions."""
        plain, groups = by_summand(poly)
        for summand, _ in groups:
            if _has_bound_predicate(Poly(dict(poly.items()))):
                self.term(summand)
        for a in atoms_of(plain):
            self.inner(a)
        if not _has_predicate(poly):
            return
        for p in self.candidates(poly):
            self.seam(poly, p)

    def inner(self, a: Atom) -> None:
        """Parts of an atom whose predicates lie under a binder of their own."""
        if isinstance(a, Max) or not _has_bound_predicate(Poly({((a, 1),): ONE.constant()})):  # type: ignore[dict-item]
            return
        if isinstance(a, Sum):
            _, groups = by_summand(Poly({((a, 1),): ONE.constant()}))  # type: ignore[dict-item]
            for summand, _ in groups:
                self.term(summand)
            return
        for part in parts(a):
            self.term(part)

    def candidates(self, poly: Poly) -> list[Poly]:
        """Terms whose sign matters, each once up to sign, innermost first."""
        out: dict[Poly, None] = {}
        for a in predicates(poly):
            if -a.poly not in out and depends(a, self.tangents):
                out.setdefault(a.poly)
        return list(out)

    def seam(self, poly: Poly, p: Poly) -> None:
        if any(isinstance(a, Pred) for a in _deep_atoms(p)):
            # A predicate inside another: analyse each form that the inner ones leave.
            for form, facts in _inner_forms(poly, p, self.facts):
                for q in self.candidates(form):
                    if not any(isinstance(a, Pred) for a in _deep_atoms(q)):
                        _Search(self.tangents, self.smooth, self.found, facts).seam(form, q)
            return
        if not self.facts.signs(p) & ZERO or any(_same_up_to_sign(p, c) for c in self.found):
            return
        at_zero = self.facts.extended([Fact(p, ZERO, universal=False)])
        if at_zero.contradictory:
            return
        alternatives = [Atomic("!= 0", p)]
        gaps = self.gaps(poly, p, at_zero)
        if gaps is None:
            self.add(alternatives, p)
        elif gaps:
            common = _parameter_gap(gaps, self.tangents)
            if common is not None:
                alternatives.append(Atomic("= 0", common))
            self.add(alternatives, p)

    def add(self, alternatives: list[Atomic], p: Poly) -> None:
        self.found.append(Clause(tuple(alternatives), origin="kink"))
        if len(alternatives) == 1:
            self.facts = self.facts.extended([Fact(p, NONZERO, universal=False)])

    def gaps(self, poly: Poly, p: Poly, at_zero: Facts) -> list[Poly] | None:
        """Differences between the forms that meet on p = 0; None where they cannot be compared."""
        if solve(p) is None or not self.smooth_across(p, at_zero):
            return None
        try:
            forms = [_forced(poly, p, 1), _forced(poly, p, -1)]
            return self.compare(forms, _forced(poly, p, 0), [p], at_zero)
        except UndefinedTermError:
            return None

    def compare(self, forms: list[Poly], value: Poly, equations: list[Poly], facts: Facts) -> list[Poly] | None:
        if len(forms) > MAX_FORMS:
            return None
        settled = [_settled(f, equations, facts) for f in forms]
        value_settled = _settled(value, equations, facts)
        open_terms = [t for _, t in (*settled, value_settled) if t is not None]
        if open_terms:
            r = open_terms[0]
            out: list[Poly] = []
            for sign in (POS, NEG, ZERO):
                here = facts.extended([Fact(r, sign, universal=False)])
                if not facts.signs(r) & sign or here.contradictory:
                    continue
                if sign == ZERO:
                    if solve(r) is None:
                        return None
                    more = [
                        _forced_at(f, r, equations, s) for f, _ in settled for s in (1, -1)
                    ]
                    gaps = self.compare(
                        list(dict.fromkeys(more)), _forced_at(value_settled[0], r, equations, 0), [*equations, r], here
                    )
                else:
                    gaps = self.compare([f for f, _ in settled], value_settled[0], equations, here)
                if gaps is None:
                    return None
                out += gaps
            return out
        first = settled[0][0]
        region = Region(facts)
        d = Differentiator(self.tangents)
        differences = [value_settled[0] - first]
        for form, _ in settled[1:]:
            differences += [form - first, d(form) - d(first)]
        out = []
        for difference in differences:
            for equation in equations:
                difference = eliminated(difference, equation)
            left = nonzero_part(difference, region)
            if left is not None:
                out.append(difference)
        return out

    def smooth_across(self, p: Poly, at_zero: Facts) -> bool:
        """No condition of differentiability holds only because a branch on p guards it."""
        tensors = {a.tensor for a in _deep_atoms(p) if isinstance(a, Access)}
        for clause in self.smooth:
            kept, dropped = [], False
            for guard, v in clause.guards:
                names = {a.tensor for a in _deep_atoms(guard) if isinstance(a, Access)}
                if names & tensors:
                    dropped = True
                else:
                    kept.append((guard, v))
            if not dropped:
                continue
            bare = Clause(clause.alternatives, tuple(kept), clause.origin)
            targets = [a for a in _deep_atoms(p) if isinstance(a, Access)]
            instances = [bare]
            for alternative in clause.alternatives:
                for fact in _instances(Fact(alternative.poly, 0), sorted(targets, key=lambda a: a.key)):
                    instances.append(Clause((Atomic(alternative.relation, fact.poly),), (), clause.origin))
            if not all(discharged(c, at_zero) for c in instances[1:]) or (
                len(instances) == 1 and not discharged(bare, at_zero)
            ):
                return False
        return True


def _same_up_to_sign(p: Poly, clause: Clause) -> bool:
    return any(a.relation == "!= 0" and a.poly in (p, -p) for a in clause.alternatives)


def _has_predicate(poly: Poly) -> bool:
    return any(isinstance(a, Pred) and bound_free(a) for a in _deep_atoms(poly))


def _has_bound_predicate(poly: Poly) -> bool:
    return any(isinstance(a, Pred) and not bound_free(a) for a in _deep_atoms(poly))


def _forced(poly: Poly, p: Poly, sign: int) -> Poly:
    """The form that the term has on one side of p = 0 (sign ±1), or its value on it (0)."""

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred):
            if a.poly == p:
                return ONE if sign > 0 else NOTHING
            if a.poly == -p:
                return ONE if sign < 0 else NOTHING
        return None

    return Rewriter(replace=value)(poly)


def _forced_at(poly: Poly, r: Poly, equations: list[Poly], sign: int) -> Poly:
    """As `_forced`, for predicates that agree with r on the equations."""

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred) and bound_free(a):
            q = a.poly
            for equation in equations:
                q = eliminated(q, equation)
            if q == r or q == -r:
                positive = (sign > 0) == (q == r)
                return NOTHING if sign == 0 else ONE if positive else NOTHING
        return None

    return Rewriter(replace=value)(poly)


def _settled(poly: Poly, equations: list[Poly], facts: Facts) -> tuple[Poly, Poly | None]:
    """The form with the predicates that are decided on the equations, and one that is not."""
    undecided: list[Poly] = []

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred) and bound_free(a):
            q = a.poly
            for equation in equations:
                q = eliminated(q, equation)
            signs = facts.signs(q)
            if signs == POS:
                return ONE
            if not signs & POS and not signs & ZERO:
                return NOTHING
            undecided.append(q)
        return None

    out = Rewriter(replace=value)(poly)
    return out, min(undecided, key=lambda q: q.key) if undecided else None


def _inner_forms(poly: Poly, p: Poly, facts: Facts) -> list[tuple[Poly, Facts]]:
    """The forms of the term for each strict sign of the predicates inside p."""
    inner = [q for q in predicates(p)]
    if not inner:
        return [(poly, facts)]
    q = inner[0].poly
    out = []
    for sign, side in ((POS, 1), (NEG, -1)):
        here = facts.extended([Fact(q, sign, universal=False)])
        if facts.signs(q) & sign and not here.contradictory:
            out += _inner_forms(_forced(poly, q, side), _forced(p, q, side), here)
    return out


def _parameter_gap(gaps: list[Poly], tangents: Mapping[str, str]) -> Poly | None:
    """A term in the op's parameters alone whose vanishing closes every gap."""
    moving = {*tangents, *tangents.values()}
    common: Poly | None = None
    for gap in gaps:
        groups: dict[tuple, Poly] = {}
        for mono, c in gap.items():
            outer = tuple((a, e) for a, e in mono if a.free or (isinstance(a, Access) and a.tensor in moving))
            rest = tuple((a, e) for a, e in mono if (a, e) not in outer)
            groups[outer] = groups.get(outer, NOTHING) + Poly({rest: c})
        for coefficient in groups.values():
            if not all(isinstance(a, Access) and not a.index for a in atoms_of(coefficient)) or not atoms_of(coefficient):
                return None
            c = coefficient.sorted_items()[0][1]
            normal = coefficient.scale(1 / c)
            if common is not None and common != normal:
                return None
            common = normal
    return common
