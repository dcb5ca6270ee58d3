"""Excluded points to which a claim extends: the function and the rule are continuous there.

Let f and g be continuous around a point z of p = 0, where p is a polynomial but not the zero polynomial, and let f be
differentiable with Df = g wherever p ≠ 0. Then f is differentiable at z, with Df(z) = g(z). For along a segment on
which p has finitely many zeros, f(b) − f(a) is the integral of g·(b − a), by the mean value theorem between these
zeros; any other segment is a limit of such ones, so that this holds of all, and with the continuity of g says what is
claimed. Two continuous functions that are equal wherever p ≠ 0 are equal at z as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.conditions import Clause, discharged, polys
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.differentiate.derivative import polynomial
from certgrad.obligations.differentiate.limits import Continuity, continuous
from certgrad.obligations.terms.atoms import Sum
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions, tensors_in

from .problem import Problem

OPEN = ("> 0", "!= 0")


def extends(
    hypotheses: Sequence[Clause], defined: Iterable[Clause], sides: Sequence[Tensor], problem: Problem, facts: Facts
) -> bool:
    """Return whether a claim proved where some polynomials are not 0 holds wherever its other `hypotheses` do.

    `sides` are the tensors that the claim is about, the function's own among them; `defined` has the conditions under
    which they have values. By the theorem of this module, all sides have to be continuous, around each such point.
    """
    shapes, moving = problem.array_shapes, _active_argument_shapes(problem)
    signs, clauses = facts_of(hypotheses, shapes)
    extended_facts = facts.extended(signs)
    on_active_entries = [c for c in hypotheses if any(mentions(p, {*moving}) for p in polys(c))]
    if any(c.guards or any(a.relation not in OPEN for a in c.alternatives) for c in on_active_entries):
        return False  # a point may satisfy a clause like x >= 0 while points around it do not
    if any(t.infinite for t in sides):
        return False  # an infinite entry has no continuous value
    # The sides have to have values at the excluded points, by the other hypotheses alone.
    if not all(discharged(c, extended_facts) or entailed(c, extended_facts, clauses) for c in defined):
        return False
    sizes = frozenset(a for shape in problem.input_shapes.values() for n in shape for a in atoms_of(n))
    tensors = {*problem.input_shapes, *problem.tangents.values(), *problem.seed_names}
    terms = [*(t.body for t in sides), *(p for c in on_active_entries for p in polys(c))]
    if not continuous(terms, Continuity(extended_facts, tensors, moving, sizes)):
        return False
    applied(Law.LIMITS)
    return True


def thin(clause: Clause, problem: Problem) -> bool:
    """Return whether the clause says p ≠ 0 for a polynomial p in active entries that is not the zero polynomial.

    That has to hold at all sizes. It does if the coefficients are of one sign and every sum has a summand: p is not 0
    where all entries are 1.
    """
    p = clause.alternatives[0].poly
    if not any(tensors_in(a) for a in atoms_of(p)) or not polynomial(p, _active_argument_shapes(problem)):
        return False
    nonempty = all(n.positive for a in deep_atoms(p) if isinstance(a, Sum) for n in a.ranges)
    return nonempty and (_of_one_sign(p) or _of_one_sign(-p))


def _active_argument_shapes(problem: Problem) -> dict[str, tuple[Poly, ...]]:
    """Return the shapes of the arguments that are differentiated, by name."""
    return {problem.names[k]: problem.inputs[k].shape for k in problem.differentiable}


def _of_one_sign(p: Poly) -> bool:
    """Return whether all coefficients are positive; the caller asks for p and for −p."""
    return all(c > 0 for _, c in p.items())
