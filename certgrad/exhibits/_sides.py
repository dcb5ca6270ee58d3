"""Both sides of each obligation as traced, and their common normal form."""

from __future__ import annotations

from collections.abc import Mapping

from certgrad._subject import Subject
from certgrad.language import tree as t
from certgrad.language.relations import SIGNS
from certgrad.language.text import term_text
from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.decided import decide_predicates, predicates
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS
from certgrad.obligations.auditing.statement import stated_obligation
from certgrad.obligations.prove.problem import Problem
from certgrad.obligations.terms.budget import limited
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.power import cleared
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import extent
from certgrad.obligations.wording.stated import name_variables, term

from .data import Equation, Form, Sides

LONGEST = 1200
"""A side is shown as a formula up to this many characters."""
PAGES = 1500
"""For a side with more parts than this, a page states only their number."""
SECONDS = 5.0
REGIONS = 8
"""At most this many regions of a piecewise equation are shown."""
_UNTYPESET = (t.Carry, t.Carried, t.Matrix, t.Chosen)
"""Kinds of terms that are shown as text, such as carries of loops, whose definitions stand beside them."""
Names = Mapping[Var, str]


def sides_of(subject: Subject, problem: Problem) -> list[Sides]:
    """Return both sides of each obligation of the subject, without obligations whose terms cannot be written."""
    all_sides = []
    for kind in subject.kinds:
        try:
            with limited(seconds=SECONDS):
                stated = stated_obligation(subject, kind, problem)
                names = name_variables([p for pair in stated.equations for p in pair])
                assumed, _ = facts_of(problem.domain, problem.array_shapes)
                facts = problem.facts.extended(assumed)
                equations = [_equation(left, right, names, facts) for left, right in stated.equations]
        except Exception:  # a rule that is wrong may do anything where its terms are rewritten
            continue
        all_sides.append(Sides(kind, stated.signature, equations))
    return all_sides


def _equation(left: Poly, right: Poly, names: Names, facts: Facts) -> Equation:
    (left_term, left_text), (right_term, right_text) = (_term_and_text(p, names) for p in (left, right))
    return Equation(left_term, right_term, left_text, right_text, _common(left, right, names, facts))


def _term_and_text(p: Poly, names: Names) -> tuple[t.Term | None, str]:
    """Return a side as a term and as text; None for the term if it is too long or has no typeset form."""
    if (parts := extent(p)) > PAGES:
        return None, f"a term of {parts:,} parts"
    tree = term(p, names)
    text = term_text(tree)
    if len(text) > LONGEST:
        return None, f"{text[:LONGEST]} …"
    return (None if any(isinstance(n, _UNTYPESET) for n in t.walk(tree)) else tree), text


def _common(left: Poly, right: Poly, names: Names, facts: Facts) -> list[Form]:
    """Return the common normal form of both sides in each region; [] if one is missing, or there are too many."""
    if extent(left) + extent(right) > PAGES:
        return []
    forms: list[Form] = []
    return forms if _regions(left, right, names, facts, "", forms) and len(forms) <= REGIONS else []


def _regions(left: Poly, right: Poly, names: Names, facts: Facts, where: str, found: list[Form]) -> bool:
    """Add to `found` the common form of both sides in each open region; return whether each region has one.

    In a region each predicate of the difference, such as [x > 0], has one value: the function splits at the first
    predicate and calls itself for both signs. `where` is the condition of the region as text. Boundaries are not shown:
    the proof examines them.
    """
    if len(found) > REGIONS:
        return False
    difference = left - right
    if difference.is_zero or cleared(difference, fractions=True)[0].is_zero:
        form = min((left, right), key=lambda p: len(term_text(term(p, names))))
        shown, text = _term_and_text(form, names)
        if shown is not None:
            found.append(Form(where, shown, text))
        return shown is not None
    seams = predicates(difference)
    if not seams:
        return False
    p = seams[0].poly
    for sign, relation in ((POS, ">"), (NEG, "<")):
        facts_here = facts.extended([Fact(p, sign, universal=False)])
        if not facts.signs(p) & sign or facts_here.contradictory:
            continue
        condition = _relation(p, relation, names)
        inner_region = f"{where} and {condition}" if where else condition
        if not _regions(
            decide_predicates(left, facts_here),
            decide_predicates(right, facts_here),
            names,
            facts_here,
            inner_region,
            found,
        ):
            return False
    return True


def _relation(p: Poly, relation: str, names: Names) -> str:
    from certgrad.language.text import text

    assert relation in SIGNS
    return text(t.Compare(relation, term(p, names), t.ZERO))  # type: ignore[arg-type]
