"""Where a piecewise term is differentiable: the hypotheses that its predicates add.

A term with [p > 0] is differentiable off p = 0. On p = 0 it still is, if the forms it has on all sides are C¹ there
and agree in value and in derivative (Huber's seam); otherwise p ≠ 0 becomes a hypothesis. Where p compares a maximum
with an entry that it is taken over, the hypothesis is that it is attained once: then it is this entry all around the
point, or another one, which is greater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace

from certgrad.obligations import differentiate as package
from certgrad.obligations.assume.conditions import Atomic, Clause, Clauses, discharged, merge_clauses, polys
from certgrad.obligations.assume.decided import bound_free, has_bound_predicate, predicates
from certgrad.obligations.assume.fact import Fact, match
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.assume.signs import NEG, NONZERO, POS, ZERO
from certgrad.obligations.decide.cases import Region, by_summand, nonzero_part
from certgrad.obligations.laws.order import above_entry, attained_once, boundaries_in_choices
from certgrad.obligations.laws.recurrences import System, has_loop
from certgrad.obligations.terms.atoms import Access, Max, Product, Sum
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.determined import Matrix, Rec
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter, eliminated, solve
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions

from .derivative import Differentiator, depends

MAX_FORMS = 32
"""At most this many forms of a term meet at a seam; with more, the seam is excluded."""
MAX_SPLITS = 12
"""At most this many signs are assumed in turn at a seam; beyond, the forms count as not fitting there."""
COMPARISON = 200
"""Steps of the budget that one comparison of forms takes."""

Failure = tuple[tuple[Poly, ...], Poly | None]
"""A place, as equations, where forms of a term do not fit, and their gap if it is a term in the op's parameters."""


def seam_hypotheses(
    poly: Poly, tangents: Mapping[str, str], region: Region, smooth: tuple[Clause, ...]
) -> list[Clause]:
    """Return clauses (conditions with alternatives), besides `smooth`, under which a term is differentiable at seams.

    A seam is the zero set p = 0 of a predicate [p > 0]. `tangents` names the tangents of the tensors that move.
    """
    search = _Search(tangents, smooth, [], region.facts, region.indices)
    for p in boundaries_in_choices(poly):
        if mentions(p, tangents) and search.facts.signs(p) & ZERO and not steady(p, tangents):
            search.add([Atomic("!= 0", p)])
    if any(map(has_loop, (poly, *(p for c in smooth for p in polys(c))))):
        for system in package.steps.loops_in(poly):
            search.steps(system)
        for p in package.steps.in_conditions_alone(smooth, poly):
            if mentions(p, tangents) and search.facts.signs(p) & ZERO:
                search.add([Atomic("!= 0", p)])
    search.term(poly)
    return search.found


def only_bends(poly: Poly, p: Poly, tangents: Mapping[str, str], region: Region, smooth: tuple[Clause, ...]) -> bool:
    """Return whether, on p = 0, the term's forms on all sides are C¹ and agree in value, if not in derivative.

    Returns False for a term with predicates under a binder or in a loop: they change within a form.
    """
    if any(isinstance(a, Rec) or (isinstance(a, Pred) and not bound_free(a)) for a in deep_atoms(poly)):
        return False
    search = _Search(tangents, smooth, [], region.facts, region.indices, slopes=False)
    at_zero = region.facts.extended([Fact(p, ZERO, universal=False)])
    tensors = {a.tensor for a in deep_atoms(p) if isinstance(a, Access)}
    if not all(_decided_by(c, tensors) or discharged(c, at_zero) for c in smooth):
        return False  # a condition that no form decides, as that of a root
    return at_zero.contradictory or not search.failures(poly, p, at_zero)


def steady(p: Poly, tangents: Mapping[str, str]) -> bool:
    """Return whether a term is locally constant where it is differentiable: so it is 0 on open sets, or never."""
    return Differentiator(tangents)(p).is_zero


@dataclass
class _Search:
    """The search of `seam_hypotheses`: it collects clauses in `found`, and assumes those with one alternative."""

    tangents: Mapping[str, str]
    smooth: tuple[Clause, ...]
    found: list[Clause]
    facts: Facts
    indices: Indices
    slopes: bool = True
    """Whether forms that meet have to agree in derivative."""
    in_step: bool = False
    """Whether terms are steps of a loop. There the derivative as it is written must also be right on a boundary, as its
    predicates are not read from the sides."""

    def steps(self, system: System) -> None:
        """Add the hypotheses for the starts and steps of a loop; exclude all its boundaries if that cannot be done."""
        steps = package.steps
        open_ones = [p for p in steps.boundaries(system) if mentions(p, self.tangents) and self.facts.signs(p) & ZERO]
        if not open_ones:
            return
        entries = steps.Entries()
        try:
            terms = [entries.of(p) for p in steps.starts_and_steps(system)]
            smooth = tuple(c.rewritten(entries.of) for c in self.smooth)
            tangents = {**self.tangents, **entries.moving(self.tangents)}
            search = _Search(tangents, smooth, [], steps.without_loops(self.facts), self.indices, in_step=True)
            for p in terms:
                search.term(p)
            for clause in search.found:
                self.add([Atomic(a.relation, entries.back(a.poly)) for a in clause.alternatives])
        except ArithmeticError:
            for p in open_ones:
                self.add([Atomic("!= 0", p)])

    def term(self, poly: Poly) -> None:
        """Add the hypotheses for a term: for the summands of its sums, the parts of its atoms, then its own seams."""
        plain, groups = by_summand(poly)
        for summand, _ in groups:
            if has_bound_predicate(poly):
                self.term(summand)
        for a in atoms_of(plain):
            self.inner(a)
        if not any(isinstance(a, Pred) and bound_free(a) for a in deep_atoms(poly)):
            return
        for p in self.candidates(poly):
            self.seam(poly, p)

    def inner(self, a: Atom) -> None:
        """Add the hypotheses for the parts of an atom that have predicates under binders."""
        if isinstance(a, Rec) or not has_bound_predicate(Poly({((a, 1),): ONE.constant()})):
            return
        if isinstance(a, Sum):
            _, groups = by_summand(Poly({((a, 1),): ONE.constant()}))
            for summand, _ in groups:
                self.term(summand)
            return
        if isinstance(a, (Max, Product, Matrix)):
            for part in a.parts():
                self.term(Rewriter({v: of_var(fresh()) for v in a.vars})(part))
            return
        for part in a.parts():
            self.term(part)

    def candidates(self, poly: Poly) -> list[Poly]:
        """Return the p of predicates [p > 0] that depend on moving inputs, each once up to sign, innermost first."""
        out: dict[Poly, None] = {}
        for a in predicates(poly):
            if -a.poly not in out and depends(a, self.tangents):
                out.setdefault(a.poly)
        return list(out)

    def seam(self, poly: Poly, p: Poly) -> None:
        """Add the hypotheses for the seam p = 0; none if p is locally constant, never 0, or excluded already.

        Predicates inside p are decided first, and each form of p that they leave is a seam of its own. Where every
        hypothesis that was added excludes a tie of one maximum, "it is attained once" takes their place.
        """
        if steady(p, self.tangents):
            return  # its jumps are at seams of its parts, and at what `smooth` excludes
        if predicates(p):
            # A predicate inside another: analyse each form that the inner ones leave.
            forms = _inner_forms(poly, p, self.facts)
            for form, p_form, facts in forms:
                resting = pred(p_form).atom()
                if isinstance(resting, Pred) and self.rests(p_form, facts):
                    replace(self, facts=facts).meeting(form, resting.poly)
                for q in self.candidates(form):
                    if not predicates(q):
                        replace(self, facts=facts).seam(form, q)
            return
        if not self.facts.signs(p) & ZERO or any(_excluded(p, c) for c in self.found):
            return
        clauses_before, facts = len(self.found), self.facts
        self.meeting(poly, p)
        added = self.found[clauses_before:]
        if added and all(len(c.alternatives) == 1 for c in added) and (a := self.maximum(p)) is not None:
            self.found[clauses_before:], self.facts = [attained_once(a)], facts

    def maximum(self, p: Poly) -> Max | None:
        """Return the maximum that p compares with one of its entries; None if its entries or places have choices."""
        a = above_entry(p, replace(self.indices, facts=self.facts))
        if a is None or mentions(a.where, self.tangents) or any(isinstance(b, Pred) for b in deep_atoms(a.body)):
            return None
        return a

    def meeting(self, poly: Poly, p: Poly) -> None:
        """Add hypotheses by which the forms that meet on p = 0 fit, or which exclude the places where they do not."""
        at_zero = self.facts.extended([Fact(p, ZERO, universal=False)])
        if at_zero.contradictory:
            return
        failures: dict[tuple[Poly, ...], list[Poly | None]] = {}
        for equations, gap in self.failures(poly, p, at_zero):
            failures.setdefault(equations, []).append(gap)
        for equations in sorted(failures, key=len):
            alternatives = [Atomic("!= 0", q) for q in equations]
            gaps = [g for g in failures[equations] if g is not None]
            common = _parameter_gap(gaps, self.tangents) if len(gaps) == len(failures[equations]) else None
            if common is not None:
                alternatives.append(Atomic("= 0", common))
            self.add(alternatives)

    def rests(self, p: Poly, facts: Facts) -> bool:
        """Return whether p, a form in a region, is locally constant there, and can be 0 on an open set.

        The number 0 does not count: its predicates are gone from the form of the term.
        """
        return p.constant() is None and bool(facts.signs(p) & ZERO) and steady(p, self.tangents)

    def crosses(self, p: Poly) -> bool:
        """Return whether p is 0 on no open set: p = 0 determines one moving entry by terms without its tensor."""
        solved = solve(p)
        if solved is None or not isinstance(solved[0], Access):
            return False
        entry = solved[0]
        return entry.tensor in self.tangents and not mentions(solved[1], {entry.tensor})

    def add(self, alternatives: list[Atomic]) -> None:
        """Add the clause that one of the alternatives holds."""
        self.found.append(Clause(tuple(alternatives), origin="kink"))
        if len(alternatives) == 1:
            self.facts = self.facts.extended([Fact(alternatives[0].poly, NONZERO, universal=False)])

    def failures(self, poly: Poly, p: Poly, at_zero: Facts) -> list[Failure]:
        """Return where the forms that meet on p = 0 do not fit: equations of each place, and the gap there if known."""
        clauses = self.instances(p)
        places = _places(p)
        if clauses is None or any(isinstance(a, Pred) for a in deep_atoms(p)):
            # The predicates that p has here are under a sum or maximum: no region decides them, so there are no forms.
            return [((p,), None)]
        out: list[Failure] = []
        for q in places:
            facts_here = at_zero.extended([Fact(q, ZERO, universal=False)])
            if facts_here.contradictory:
                continue
            try:
                forms = [_Form(poly, clauses).forced(p, side) for side in (1, -1)]
                out += self.compare(forms, forced(poly, p, 0), (q,), facts_here)
            except UndefinedTermError:
                out.append(((q,), None))
        return out

    def instances(self, p: Poly) -> Clauses | None:
        """Return the conditions of differentiability that have predicates, at the entries that p mentions.

        None where a condition has no instance at these entries: nothing is then known of it on p = 0.
        """
        targets = sorted({a for a in deep_atoms(p) if isinstance(a, Access)}, key=lambda a: a.key)
        tensors = {a.tensor for a in targets}
        out: list[Clause] = []
        for clause in self.smooth:
            if not _decided_by(clause, tensors):
                continue
            atoms = [a for q in polys(clause) for a in deep_atoms(q)]
            level = max(q.level for q in polys(clause))
            if any(isinstance(a, Pred) and not bound_free(a) for a in atoms):
                return None
            mappings = [
                m for a in atoms if isinstance(a, Access) for t in targets if (m := match(a, t, level)) is not None
            ]  # index variables that a mapping leaves alone stay arbitrary
            if not mappings:
                return None
            out += [clause.substituted(m) for m in mappings]
        return merge_clauses(out)

    def compare(
        self, forms: list[_Form], value: Poly, equations: tuple[Poly, ...], facts: Facts, splits: int = 0
    ) -> list[Failure]:
        """Return where the forms of a term on the sides of a seam do not fit together where the equations hold.

        `value` is the term's value there. While a predicate on some r is undecided at the place, the place is split by
        the sign of r, into parts that are compared by themselves; `splits` is the number of splits so far.
        """
        if len(forms) > MAX_FORMS or splits > MAX_SPLITS:
            return [(equations, None)]
        budget.spend(COMPARISON)
        forms_with_open = [form.settled(equations, facts) for form in forms]
        settled = [form for form, _ in forms_with_open]
        value, open_terms = _decide_predicates(value, equations, facts)
        undecided = [q for _, open_ones in forms_with_open for q in open_ones] + open_terms
        if not undecided:
            return self.gaps(settled, value, equations, facts)
        r = min(undecided, key=lambda q: q.key)
        out: list[Failure] = []
        for sign in (POS, NEG, ZERO):
            assumed = facts.extended([Fact(r, sign, universal=False)])
            if not facts.signs(r) & sign or assumed.contradictory:
                continue
            if sign != ZERO:
                out += self.compare(settled, value, equations, assumed, splits + 1)
            else:
                out += self.compare_at_zero(r, settled, value, equations, assumed, splits + 1)
            if (equations, None) in out:  # the whole place is excluded, with whatever its other parts show
                return [(equations, None)]
        return out

    def compare_at_zero(
        self, r: Poly, forms: list[_Form], value: Poly, equations: tuple[Poly, ...], facts: Facts, splits: int
    ) -> list[Failure]:
        """Return where the forms do not fit together where the equations and r = 0 hold, as `compare` does.

        There is a version of each form for each side of r = 0, with the predicates on r decided as they are there."""
        if solve(r) is None:
            return [(equations, None)]
        sides = (1, -1) if self.crosses(r) else (1, -1, 0)  # 0: r may be 0 all around, too
        forms_at_r = [f.forced_at(r, equations, side) for f in forms for side in sides]
        value_at_r = _forced_at(value, r, equations, 0)
        try:
            return self.compare(list(dict.fromkeys(forms_at_r)), value_at_r, (*equations, r), facts, splits)
        except UndefinedTermError:
            return [((*equations, r), None)]

    def gaps(self, forms: list[_Form], value: Poly, equations: tuple[Poly, ...], facts: Facts) -> list[Failure]:
        """Return where the forms fail to be C¹, to agree in value and derivative, or to have the term's value there."""
        d = Differentiator(self.tangents)
        try:
            if not all(form.smooth_at(equations, facts) for form in forms):
                return [(equations, None)]
            first = forms[0].poly
            differences = [value - first]
            if self.in_step:
                differences.append(d(value) - d(first))
            for form in forms[1:]:
                differences += [form.poly - first, *([d(form.poly) - d(first)] if self.slopes else [])]
            out: list[Failure] = []
            for difference in (_restricted_to_equations(x, equations) for x in differences):
                if nonzero_part(difference, Region(facts)) is not None:
                    if _parameter_gap([difference], self.tangents) is None:
                        return [(equations, None)]
                    out.append((equations, difference))
            return out
        except UndefinedTermError:
            return [(equations, None)]


@dataclass(frozen=True)
class _Form:
    """A piecewise term on one side of a seam: the term, and the conditions for that form to be C¹."""

    poly: Poly
    clauses: Clauses

    def changed(self, change: Callable[[Poly], Poly]) -> _Form:
        return _Form(change(self.poly), tuple(c.rewritten(change) for c in self.clauses))

    def forced(self, p: Poly, side: int) -> _Form:
        return self.changed(lambda q: forced(q, p, side))

    def forced_at(self, r: Poly, equations: tuple[Poly, ...], side: int) -> _Form:
        return self.changed(lambda q: _forced_at(q, r, equations, side))

    def settled(self, equations: tuple[Poly, ...], facts: Facts) -> tuple[_Form, list[Poly]]:
        undecided: list[Poly] = []

        def change(q: Poly) -> Poly:
            changed_term, open_terms = _decide_predicates(q, equations, facts)
            undecided.extend(open_terms)
            return changed_term

        return self.changed(change), undecided

    def smooth_at(self, equations: tuple[Poly, ...], facts: Facts) -> bool:
        """Return whether every condition of this form holds where the equations do; being open, it holds around too."""
        for clause in self.clauses:
            guards = [(g.constant(), v) for g, v in clause.guards]
            if any(c is not None and (c != 0) != v for c, v in guards):
                continue
            bare = Clause(
                tuple(Atomic(a.relation, _restricted_to_equations(a.poly, equations)) for a in clause.alternatives)
            )
            if not discharged(bare, facts):
                return False
        return True


def _decided_by(clause: Clause, tensors: Set[str]) -> bool:
    """Return whether the condition has a predicate [p > 0] whose p has an entry of one of these tensors."""
    choices = [a for q in polys(clause) for a in deep_atoms(q) if isinstance(a, Pred)]
    return any(b.tensor in tensors for a in choices for b in deep_atoms(a.poly) if isinstance(b, Access))


def _places(p: Poly) -> list[Poly]:
    """Return terms whose zeros are together those of p: its factors where it is a product of entries, else p itself.

    The forms that meet on p = 0 must fit at all of them.
    """
    single = p.single() if solve(p) is None else None
    if single is None or not all(isinstance(a, Access) and e == 1 for a, e in single[0]):
        return [p]
    return [poly_of(a) for a, _ in single[0]]


def _restricted_to_equations(poly: Poly, equations: tuple[Poly, ...]) -> Poly:
    """Return the term where the equations hold, with each solved for an atom; later ones are simplified by earlier."""
    done: list[Poly] = []
    for equation in equations:
        for earlier in done:
            equation = eliminated(equation, earlier)
        poly = eliminated(poly, equation)
        done.append(equation)
    return poly


def _excluded(p: Poly, clause: Clause) -> bool:
    """Return whether the clause says p ≠ 0 and nothing else."""
    return clause.alternatives in ((Atomic("!= 0", p),), (Atomic("!= 0", -p),))


def forced(poly: Poly, p: Poly, sign: int) -> Poly:
    """Return the form that the term has on one side of p = 0 (sign ±1), or its value on p = 0 (sign 0)."""
    forms = {p: ONE if sign > 0 else NOTHING, -p: ONE if sign < 0 else NOTHING}

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred) and a.poly in forms:
            return forms[a.poly]
        has_decided_predicate = any(
            isinstance(b, Pred) and b.poly in forms for part in a.parts() for b in deep_atoms(part)
        )
        return None if has_decided_predicate else poly_of(a)

    return Rewriter(replace=value)(poly)


def _forced_at(poly: Poly, r: Poly, equations: tuple[Poly, ...], sign: int) -> Poly:
    """Return the term as `forced` does, deciding each predicate that is r or −r where the equations hold."""

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred) and bound_free(a):
            q = _restricted_to_equations(a.poly, equations)
            if q == r or q == -r:
                positive = (sign > 0) == (q == r)
                return NOTHING if sign == 0 else ONE if positive else NOTHING
        return None if a.piecewise else poly_of(a)

    return Rewriter(replace=value)(poly)


def _decide_predicates(poly: Poly, equations: tuple[Poly, ...], facts: Facts) -> tuple[Poly, list[Poly]]:
    """Return the term with its predicates decided by equations and facts, and the q of those [q > 0] that are not."""
    undecided: list[Poly] = []

    def value(a: Atom) -> Poly | None:
        if isinstance(a, Pred) and bound_free(a):
            q = _restricted_to_equations(a.poly, equations)
            signs = facts.signs(q)
            if signs == POS:
                return ONE
            if signs == NEG:
                return NOTHING
            undecided.append(q)
        return None if a.piecewise else poly_of(a)

    return Rewriter(replace=value)(poly), undecided


def _inner_forms(poly: Poly, p: Poly, facts: Facts) -> list[tuple[Poly, Poly, Facts]]:
    """Return, for all choices of strict signs of the predicates inside p, the term and p by them, and the facts."""
    inner = list(predicates(p))
    if not inner:
        return [(poly, p, facts)]
    q = inner[0].poly
    out = []
    for sign, side in ((POS, 1), (NEG, -1)):
        facts_here = facts.extended([Fact(q, sign, universal=False)])
        if facts.signs(q) & sign and not facts_here.contradictory:
            out += _inner_forms(forced(poly, q, side), forced(p, q, side), facts_here)
    return out


def _parameter_gap(gaps: list[Poly], tangents: Mapping[str, str]) -> Poly | None:
    """Return a term in the op's parameters that is 0 only where all gaps between forms are; None if there is none."""
    moving = {*tangents, *tangents.values()}
    common: Poly | None = None
    for gap in gaps:
        groups: dict[tuple, Poly] = {}
        for mono, c in gap.items():
            moved = tuple((a, e) for a, e in mono if a.free or (isinstance(a, Access) and a.tensor in moving))
            parameters = tuple((a, e) for a, e in mono if (a, e) not in moved)
            groups[moved] = groups.get(moved, NOTHING) + Poly({parameters: c})
        # The gap is Σ moved·factor. All factors of all gaps must be one term, up to a number: it is the term to return.
        for factor in groups.values():
            if not all(isinstance(a, Access) and not a.index for a in atoms_of(factor)) or not atoms_of(factor):
                return None
            if (single := factor.single()) is not None and all(isinstance(e, int) and e < 0 for _, e in single[0]):
                return None  # as 1/a, which is 0 nowhere
            c = factor.sorted_items()[0][1]
            normal = factor.scale(1 / c)
            if common is not None and common != normal:
                return None
            common = normal
    return common
