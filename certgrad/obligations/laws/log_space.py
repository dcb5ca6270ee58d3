"""Recurrences in log space: a carry that is the logarithm of another one.

Where each step is c[s + 1] = log(P) and P reads what is carried as exp(c[s]) alone, e[t] = exp(c[t]) is a recurrence
of its own: e[0] = exp(c[0]), and e[s + 1] is P with e[s] for exp(c[s]), by induction on t. So c[t] = log(e[t]). The
sums of products that a forward algorithm adds up in log space are then those that it adds up without.
"""

from __future__ import annotations

from dataclasses import replace

from certgrad.obligations.assume.decided import decide_predicates
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.terms.atoms import Access, Exp, Fn, access
from certgrad.obligations.terms.determined import Loop, Rec
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import Atom, Poly, poly_of
from certgrad.obligations.terms.power import exp_of, log_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.walk import deep_atoms, mentions, tensors_in

from .recurrences import System, Value, fresh_carry, has_loop, open_loop, solve


def in_exponentials(poly: Poly, facts: Facts) -> Poly:
    """Return the term with log(e[t]) for each carry c[t] in log space, where e is the recurrence of exp(c).

    The two are equal where the facts hold.
    """
    exponentials: dict[Loop, list[Value] | None] = {}

    def logarithm(a: Atom) -> Poly | None:
        if not isinstance(a, Rec):
            return None if has_loop(poly_of(a)) else poly_of(a)
        if a.loop not in exponentials:
            exponentials[a.loop] = _exponentials(a.loop, facts)
        values = exponentials[a.loop]
        if values is None:
            return None
        applied(Law.LOG_CARRY)
        return log_of(values[a.position](a.time, a.index))

    return Rewriter(replace=logarithm)(poly)


def _exponentials(loop: Loop, facts: Facts) -> list[Value] | None:
    """Return exp of each carry of a loop as a recurrence of its own, where every carry is a logarithm; else None.

    `facts` decide the predicates inside the logarithms' arguments.
    """
    if any(v[0] == "b" for v in loop.free):
        return None
    system = open_loop(loop)
    names = {c.name: fresh_carry() for c in system.carries}

    def exponential(a: Atom) -> Poly | None:
        if isinstance(a, Exp) and len(a.mono) == 1 and a.mono[0][1] == 1:
            carry = a.mono[0][0]
            if isinstance(carry, Access) and carry.tensor in names:
                return access(names[carry.tensor], carry.index)
        return None if not tensors_in(a).isdisjoint(names) else poly_of(a)

    carries = []
    for c in system.carries:
        logs = (a for a in deep_atoms(c.step) if isinstance(a, Fn) and a.name == "log")
        if not any(mentions(poly_of(a), names) for a in logs):  # no logarithm of what is carried
            return None
        step = Rewriter(replace=exponential)(exp_of(decide_predicates(c.step, facts)))
        if mentions(step, names):  # a carry is read otherwise than as exp(c)
            return None
        carries.append(replace(c, name=names[c.name], init=exp_of(c.init), step=step))
    solved = solve(System(system.step, carries))
    return [solved[c.name] for c in carries]
