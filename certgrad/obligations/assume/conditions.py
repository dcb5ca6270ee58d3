"""Conditions: where a value is defined, and where it is differentiable.

A condition is a set of clauses. A clause is "guards ⇒ one of the alternatives", for every value of its index variables.
Each value of a program carries its condition along; only `select_n` adds guards, and nothing but a proof removes a
clause.
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
    """A relation of one term to 0, or to the integers or the poles of Γ: `p > 0`, `p not integer` …"""

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
    """The operation that needs the condition, for the reader."""
    local: bool = False
    """Whether the clause, as an assumption, is about some entries of arrays alone (see the module `assumptions`)."""

    @property
    def key(self) -> str:
        return f"{[(g.key, v) for g, v in self.guards]} => {[a.key for a in self.alternatives]}"

    @property
    def free(self) -> frozenset[Var]:
        return frozenset().union(*(p.free for p in polys(self)))

    @property
    def step(self) -> Var | None:
        """The variable that numbers the steps of a loop that ends by its values, if the clause is about each step."""
        return next((v for v in self.free if v[0] == LOOP_STEP), None)

    def rewritten(self, change: Callable[[Poly], Poly]) -> Clause:
        """Return the clause with every term of it changed by the function."""
        return replace(
            self,
            alternatives=tuple(Atomic(a.relation, change(a.poly)) for a in self.alternatives),
            guards=tuple((change(g), v) for g, v in self.guards),
        )

    def substituted(self, mapping: Mapping[Var, Ix]) -> Clause:
        return self.rewritten(Rewriter(mapping)) if self.free & mapping.keys() else self

    def guarded(self, guard: Poly, value: bool) -> Clause:
        """Return the clause with one guard more: it applies only where `guard` has the value."""
        return replace(self, guards=(*self.guards, (guard, value)))


Clauses = tuple[Clause, ...]


def nowhere(origin: str) -> Clauses:
    """Return a condition that holds at no input; the origin says why."""
    return (Clause((Atomic("!= 0", NOTHING),), origin=origin),)


UNDEFINED_EVERYWHERE = nowhere("undefined at every input")
IN_RANGE = "an index in range"
"""The origin of a condition on an integer: that an index lies in its axis."""


SOLVER = "the solver "
"""Start of the origin of a solver's hypothesis, "the solution satisfies the equation"; the solver's name follows."""
CONTINUOUS = ", continuously"
"""End of that origin where the solution is used as a differentiable function of the arguments."""


def of_solver(clause: Clause) -> bool:
    """Return whether the clause is the equation of a solver."""
    return clause.origin.startswith(SOLVER)


def has_one_solution(equation: Clause) -> bool:
    """Return whether the equation of a solver is affine in the unknown, and so has one solution.

    Its origin tells: the solution of any other equation is marked as `CONTINUOUS`.
    """
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
    """Return the signs that follow from the guards; None where the guards cannot all hold.

    A guard of a form from which no sign is read is left out.
    """
    out: list[Fact] = []
    product = ONE
    for poly, value in guards:
        product = product * (poly if value else ONE - poly)
        if product.is_zero:
            return None
        constant = poly.constant()
        if constant is not None:
            if (constant != 0) != value:
                return None
            continue
        out += _boolean_facts(poly, value)
    return out


def _boolean_facts(poly: Poly, value: bool) -> list[Fact]:
    """Return signs that follow from a 0/1-valued polynomial in predicates having this value.

    They are read from a product of predicates that is 1, a predicate that is 0, a sum of two predicates that is 0, and
    1 − [p > 0] − [−p > 0] = 0, which says p ≠ 0. Other forms give no sign.
    """
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
    """Return the sign of p that the value of [p > 0] says; nothing for another predicate."""
    if isinstance(a, Pred):
        return [Fact(a.poly, POS if value else NEG | ZERO, universal=False)]
    return []


def discharged(clause: Clause, facts: Facts, cases: bool = True) -> bool:
    """Return whether the facts imply the clause.

    With `cases`, it is also implied if it holds in each sign region of the predicates inside it. For a condition of
    differentiability, `cases` is off while a program is interpreted: that the condition holds in each region of a
    selection says nothing about the seams between the regions (see `_seams`).
    """
    guard_signs = guard_facts(clause.guards)
    if guard_signs is None:
        return True
    context = facts.extended(guard_signs) if guard_signs else facts
    if (guard_signs and context.contradictory) or _fails(clause.guards, context):
        return True
    return any(holds(a, context) for a in clause.alternatives) or (cases and _by_cases(clause.alternatives, context, 3))


def _fails(guards: Iterable[tuple[Poly, bool]], facts: Facts) -> bool:
    """Return whether the facts decide the predicates of some guard so that it has not the value which it must have."""
    for guard, value in guards:
        if len(guard) > 1 and (decided := _decided_or_none(guard, facts)) is not None:
            constant = decided.constant()
            if constant is not None and (constant != 0) != value:
                return True
    return False


def _by_cases(alternatives: tuple[Atomic, ...], facts: Facts, depth: int) -> bool:
    """Return whether one of the alternatives holds in every sign region of the predicates inside them.

    The first predicate is decided, and where that does not suffice the next one, at most `depth` of them.
    """
    inner_predicates = [p for a in alternatives for p in predicates(a.poly)]
    if not inner_predicates or depth == 0:
        return False
    p = inner_predicates[0].poly
    for sign in (POS, ZERO, NEG):
        region = facts.extended([Fact(p, sign, universal=False)])
        if not facts.signs(p) & sign or region.contradictory:
            continue
        polys = [(a.relation, _decided_or_none(a.poly, region)) for a in alternatives]
        decided = tuple(Atomic(relation, poly) for relation, poly in polys if poly is not None)
        if not any(holds(a, region) for a in decided) and not _by_cases(decided, region, depth - 1):
            return False
    return True


def _decided_or_none(poly: Poly, facts: Facts) -> Poly | None:
    """Return the term with its predicates decided by the facts; None where it then has no value, as in 1/0."""
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
    """Return the condition `poly relation` as one clause, without positive factors; none if its form shows it."""
    if relation in _SIGNS and not poly.is_zero:
        poly = content(poly, only_positive=True)[2]
    clause = Clause((Atomic(relation, poly),), origin=origin)
    return () if discharged(clause, Facts(), cases=False) else (clause,)
