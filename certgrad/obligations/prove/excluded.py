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
    """Return whether a claim proved where some polynomials are not 0 holds wherever its other hypotheses do.

    `sides` are the tensors that it is about, the function's own among them; `defined` says where they have values.
    """
    shapes, moving = problem.array_shapes, _active_argument_shapes(problem)
    more, clauses = facts_of(hypotheses, shapes)
    there = facts.extended(more)
    around = [c for c in hypotheses if any(mentions(p, {*moving}) for p in polys(c))]
    if any(c.guards or any(a.relation not in OPEN for a in c.alternatives) for c in around):
        return False  # the points around one need not satisfy it
    if any(t.infinite for t in sides):
        return False
    if not all(discharged(c, there) or entailed(c, there, clauses) for c in defined):
        return False
    sizes = frozenset(a for shape in problem.input_shapes.values() for n in shape for a in atoms_of(n))
    tensors = {*problem.input_shapes, *problem.tangents.values(), *problem.seed_names}
    terms = [*(t.body for t in sides), *(p for c in around for p in polys(c))]
    if not continuous(terms, Continuity(there, tensors, moving, sizes)):
        return False
    applied(Law.LIMITS)
    return True


def thin(clause: Clause, problem: Problem) -> bool:
    """Return whether the clause says that a polynomial in active entries is not 0, which is the zero polynomial at no
    sizes.

    The coefficients are of one sign and every sum has a summand, so that it is not 0 where all entries are 1.
    """
    p = clause.alternatives[0].poly
    if not any(tensors_in(a) for a in atoms_of(p)) or not polynomial(p, _active_argument_shapes(problem)):
        return False
    nonempty = all(n.positive for a in deep_atoms(p) if isinstance(a, Sum) for n in a.ranges)
    return nonempty and (_of_one_sign(p) or _of_one_sign(-p))


def _active_argument_shapes(problem: Problem) -> dict[str, tuple[Poly, ...]]:
    """The arguments that are differentiated, with their shapes."""
    return {problem.names[k]: problem.inputs[k].shape for k in problem.differentiable}


def _of_one_sign(p: Poly) -> bool:
    return all(c > 0 for _, c in p.items())
