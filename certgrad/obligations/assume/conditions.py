"""Conditions: where a value is defined, and where it is differentiable.

A clause is "guards ⇒ one of the alternatives", for every value of its index variables. A program's condition is a set
of clauses that travels with each value; only `select_n` adds guards, and nothing but a proof removes a clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from flint import fmpq

from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError, content
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.variables import Var

from .decided import decide_predicates, predicates
from .fact import Fact
from .facts import Facts
from .signs import NEG, NONNEG, POS, ZERO

WHILE_EXIT = "exit of a while"
"""Origin of the conditions under which a loop's number of steps does not change."""
LOOP_STEP = "w"
"""Kind of the variables that number the steps of a loop that ends by its values, up to and with the test that fails."""
PARTIAL_RANGE = "y"
"""Kind of the variables that run over some places of an axis only."""
Relation = Literal["> 0", ">= 0", "!= 0", "= 0", "not integer", "not pole"]
_SIGNS = {"> 0": POS, ">= 0": NONNEG, "!= 0": POS | NEG, "= 0": ZERO}


@dataclass(frozen=True)
class Atomic:
    """One relation on one term."""

    relation: Relation
    poly: Poly

    @property
    def signs(self) -> int | None:
        return _SIGNS.get(self.relation)

    @property
    def key(self) -> str:
        return f"{self.poly.key} {self.relation}"


@dataclass(frozen=True)
class Clause:
    """guards ⇒ alternatives[0] or alternatives[1] …; `guards` are 0/1-valued terms with the value they must have."""

    alternatives: tuple[Atomic, ...]
    guards: tuple[tuple[Poly, bool], ...] = ()
    origin: str = ""
    """The operation that needs it, for the reader."""
    local: bool = False
    """As an assumption it says something at some entries alone: `assumptions` says which."""

    @property
    def key(self) -> str:
        return f"{[(g.key, v) for g, v in self.guards]} => {[a.key for a in self.alternatives]}"

    @property
    def free(self) -> frozenset[Var]:
        return frozenset().union(*(p.free for p in polys(self)))

    @property
    def step(self) -> Var | None:
        """The step of a loop that ends by its values, where the clause is about each step."""
        return next((v for v in self.free if v[0] == LOOP_STEP), None)

    def rewritten(self, change: Callable[[Poly], Poly]) -> Clause:
        return replace(
            self,
            alternatives=tuple(Atomic(a.relation, change(a.poly)) for a in self.alternatives),
            guards=tuple((change(g), v) for g, v in self.guards),
        )

    def substituted(self, mapping: Mapping[Var, Ix]) -> Clause:
        return self.rewritten(Rewriter(mapping)) if self.free & mapping.keys() else self

    def guarded(self, guard: Poly, value: bool) -> Clause:
        """Return the clause where `guard` has the value; none where it has the other value."""
        return replace(self, guards=(*self.guards, (guard, value)))


Clauses = tuple[Clause, ...]


def nowhere(origin: str) -> Clauses:
    """Return a condition that holds at no input; the origin says why."""
    return (Clause((Atomic("!= 0", NOTHING),), origin=origin),)


UNDEFINED_EVERYWHERE = nowhere("undefined at every input")
IN_RANGE = "an index in range"
"""The origin of a condition on an integer: that an index lies in its axis."""


SOLVER = "the solver "
"""How the origin of the hypothesis begins that what a solver returns satisfies its equation; then the solver's name."""
CONTINUOUS = ", continuously"
"""How that origin ends where the solution is used as a differentiable function of the arguments."""


def of_solver(clause: Clause) -> bool:
    """Return whether the clause is the equation of a solver."""
    return clause.origin.startswith(SOLVER)


def has_one_solution(equation: Clause) -> bool:
    """Return whether the equation of a solver is affine in the unknown."""
    return not equation.origin.endswith(CONTINUOUS)


def name_of_solver(clause: Clause) -> str:
    """Return the name of the solver whose equation the clause is."""
    return clause.origin.removeprefix(SOLVER).removesuffix(CONTINUOUS)


def polys(clause: Clause) -> list[Poly]:
    """Return all terms of a clause."""
    return [a.poly for a in clause.alternatives] + [g for g, _ in clause.guards]


def merge_clauses(*groups: Iterable[Clause]) -> Clauses:
    """Return all clauses, each once."""
    table: dict[str, Clause] = {}
    for group in groups:
        for clause in group:
            table.setdefault(clause.key, clause)
    return tuple(table.values())


def guard_facts(guards: Iterable[tuple[Poly, bool]]) -> list[Fact] | None:
    """Return the guards as signs; None where they cannot hold. Guards of another form are left out."""
    out: list[Fact] = []
    together = ONE
    for poly, value in guards:
        together = together * (poly if value else ONE - poly)
        if together.is_zero:
            return None
        constant = poly.constant()
        if constant is not None:
            if (constant != 0) != value:
                return None
            continue
        out += _boolean_facts(poly, value)
    return out


def _boolean_facts(poly: Poly, value: bool) -> list[Fact]:
    """Return signs that follow from a 0/1-valued polynomial in predicates having this value."""
    single = poly.single()
    if single and single[1] == 1 and value:
        return [f for a, _ in single[0] for f in _predicate_fact(a, True)]  # a product of predicates is 1: all are
    if single and single[1] == 1 and len(single[0]) == 1:
        return _predicate_fact(single[0][0][0], False)
    complement = ONE - poly
    single = complement.single()
    if single and single[1] == 1:
        return _boolean_facts(complement, not value)
    failing = complement if value else poly
    if len(failing) == 2 and all(c == 1 and len(m) == 1 for m, c in failing.items()):
        return [f for m in failing for f in _predicate_fact(m[0][0], False)]
    if len(complement) == 2 and not value and all(c == 1 and len(m) == 1 for m, c in complement.items()):
        # [p > 0] + [−p > 0] = 1 says p ≠ 0
        a, b = (m[0][0] for m in complement)
        if isinstance(a, Pred) and isinstance(b, Pred) and (a.poly + b.poly).is_zero:
            return [Fact(a.poly, POS | NEG, universal=False)]
    return []


def _predicate_fact(a: Atom, value: bool) -> list[Fact]:
    if isinstance(a, Pred):
        return [Fact(a.poly, POS if value else NEG | ZERO, universal=False)]
    return []


def discharged(clause: Clause, facts: Facts, cases: bool = True) -> bool:
    """Return whether the facts imply the clause; with `cases`, in each sign region of the predicates inside it.

    A condition of differentiability is asked without `cases` while a program is followed: that a selection makes it
    hold in each of its regions says nothing about the seams between them (see `_seams`).
    """
    extra = guard_facts(clause.guards)
    if extra is None:
        return True
    context = facts.extended(extra) if extra else facts
    if (extra and context.contradictory) or _fails(clause.guards, context):
        return True
    return any(holds(a, context) for a in clause.alternatives) or (cases and _by_cases(clause.alternatives, context, 3))


def _fails(guards: Iterable[tuple[Poly, bool]], facts: Facts) -> bool:
    """Return whether the facts decide a guard's predicates so that it has the other value."""
    for guard, value in guards:
        if len(guard) > 1 and (found := _decided_or_none(guard, facts)) is not None:
            constant = found.constant()
            if constant is not None and (constant != 0) != value:
                return True
    return False


def _by_cases(alternatives: tuple[Atomic, ...], facts: Facts, depth: int) -> bool:
    """Return whether, in every sign region of a predicate inside the alternatives, one of them holds."""
    inside = [p for a in alternatives for p in predicates(a.poly)]
    if not inside or depth == 0:
        return False
    p = inside[0].poly
    for sign in (POS, ZERO, NEG):
        here = facts.extended([Fact(p, sign, universal=False)])
        if not facts.signs(p) & sign or here.contradictory:
            continue
        polys = [(a.relation, _decided_or_none(a.poly, here)) for a in alternatives]
        there = tuple(Atomic(relation, poly) for relation, poly in polys if poly is not None)
        if not any(holds(a, here) for a in there) and not _by_cases(there, here, depth - 1):
            return False
    return True


def _decided_or_none(poly: Poly, facts: Facts) -> Poly | None:
    """The term where the facts hold; None where it has no value there, so that nothing said of it holds."""
    try:
        return decide_predicates(poly, facts)
    except UndefinedTermError:
        return None


def fails_always(clause: Clause) -> bool:
    """Return whether the clause is a false statement on numbers."""
    signs = [(a.signs, a.poly.constant()) for a in clause.alternatives]
    return not clause.guards and all(s is not None and c is not None and not _sign(c) & s for s, c in signs)


def _sign(c: fmpq) -> int:
    return POS if c > 0 else NEG if c < 0 else ZERO


def holds(atomic: Atomic, facts: Facts) -> bool:
    """Return whether the facts imply the relation."""
    wanted = atomic.signs
    if wanted is not None:
        return not facts.signs(atomic.poly) & ~wanted
    if atomic.relation == "not pole":  # poles are at 0, −1, −2 …
        return facts.signs(atomic.poly) == POS
    return False


def condition(relation: Relation, poly: Poly, origin: str) -> Clauses:
    """The condition `poly relation`, unless its form shows that it holds always; positive factors are dropped."""
    if relation in _SIGNS and not poly.is_zero:
        poly = content(poly, only_positive=True)[2]
    clause = Clause((Atomic(relation, poly),), origin=origin)
    return () if discharged(clause, Facts(), cases=False) else (clause,)
