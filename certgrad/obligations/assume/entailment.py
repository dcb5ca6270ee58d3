"""Whether assumed clauses imply another clause."""

from __future__ import annotations

from collections.abc import Iterable

from certgrad.obligations.terms.atoms import Access, Fn
from certgrad.obligations.terms.polynomials import Poly, monomial
from certgrad.obligations.terms.rewriting import Rewriter

from .conditions import Atomic, Clause, discharged, polys
from .fact import Fact, Question, places
from .facts import Facts


def entailed(clause: Clause, facts: Facts, assumed: Iterable[Clause]) -> bool:
    """Return whether the facts, or one of the assumed clauses, imply the clause.

    An assumed clause is used as it is, and at those values of its index variables at which it reads entries of the
    clause. It implies the clause if each of its alternatives does.
    """
    question = Question.on(x.poly for x in clause.alternatives)
    for assumption in assumed:
        if assumption.guards:
            continue
        for instance in [assumption, *_instances(assumption, question.targets)]:
            if assumption.local and not question.has(polys(instance)):
                continue
            if all(_implies(a, clause, facts) for a in instance.alternatives):
                return True
    return discharged(clause, facts)


def _instances(known: Clause, targets: list[Access]) -> list[Clause]:
    """Return an assumed clause at the values of its index variables at which it reads one of the entries `targets`."""
    mappings = places((x.poly for x in known.alternatives), known.free, targets)
    return [known.rewritten(Rewriter(mapping)) for mapping in mappings]


def _implies(a: Atomic, clause: Clause, facts: Facts) -> bool:
    """Return whether the relation implies an alternative of the clause, or the facts with its sign imply the clause."""
    if any(
        b.relation == a.relation and (b.poly == a.poly or (b.relation == "= 0" and b.poly == -a.poly))
        for b in clause.alternatives
    ):
        return True
    if a.relation == "not integer":
        not_integers = [b.poly for b in clause.alternatives if b.relation in ("not integer", "not pole")]
        nonzero = [b.poly for b in clause.alternatives if b.relation == "!= 0"]
        if any(_is_integer_constant(p - a.poly) for p in not_integers) or any(
            _nonzero_off_integers(a.poly, p) for p in nonzero
        ):
            return True
    if a.relation == "not pole":
        return any(b.relation == "!= 0" and _off_poles(b.poly, a.poly) for b in clause.alternatives)
    signs = a.signs
    return signs is not None and discharged(clause, facts.extended([Fact(a.poly, signs, universal=False)]))


def _off_poles(b: Poly, p: Poly) -> bool:
    """Return whether b ≠ 0 wherever p is not one of 0, −1, −2, …, as b is a multiple of p + k for a k of 0, 1, 2, …"""
    mono = next((m for m, _ in p.items() if m), None)
    if mono is None or b.coefficient(mono) == 0:
        return False
    k = (b.scale(p.coefficient(mono) / b.coefficient(mono)) - p).constant()
    return k is not None and k.q == 1 and k >= 0


def _nonzero_off_integers(p: Poly, b: Poly) -> bool:
    """Return whether b ≠ 0 wherever p is no integer: for some q, q·b ± p is an integer, so that q·b is no integer.

    q is p divided by a term of b; it has to be finite wherever p is.
    """
    single = p.single()
    if single is None or len(b) > 4:
        return False
    finite = {atom for atom, e in single[0] if e < 0}
    for mono, c in b.items():
        q = p * monomial({atom: -e for atom, e in mono}).scale(1 / c)
        if all(e > 0 or atom in finite for m in q for atom, e in m):
            if _integer(q * b - p) or _integer(q * b + p):
                return True
    return False


def _integer(poly: Poly) -> bool:
    """Return whether the term is a sum of integers times products of values of floor."""
    return all(
        c.q == 1 and all(isinstance(a, Fn) and a.name == "floor" and e > 0 for a, e in mono) for mono, c in poly.items()
    )


def _is_integer_constant(difference: Poly) -> bool:
    """Return whether the term is a number that is an integer."""
    c = difference.constant()
    return c is not None and c.q == 1
