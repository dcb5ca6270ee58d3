"""Loops for the search for seams: carries are read as entries of tensors, so that a step is a term like any other.

Where the steps of a loop are C¹ in all that they read, its carries are C¹ at each time, as compositions of steps. So
hypotheses are looked for in one step, whose carries may have any values: each carry becomes an entry of an input tensor
of its own, at its time and index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from certgrad.obligations.assume.conditions import Clause, polys
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.laws.recurrences import System, entry, fresh_carry, generic_step, has_loop, replacing
from certgrad.obligations.terms.atoms import Max, Product, Sum, access
from certgrad.obligations.terms.determined import Loop, Matrix, Rec
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import Atom, Poly, poly_of
from certgrad.obligations.terms.predicates import Pred, Side
from certgrad.obligations.terms.rewriting import Rewriter, variables_as_parameters
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions


def loops_in(poly: Poly) -> Iterator[System]:
    """Yield the loops in a term, and those in their starts and steps, each once, at a generic step."""
    seen: set[Loop] = set()
    waiting = [poly]
    while waiting:
        for a in atoms_of(waiting.pop()):
            if not a.piecewise:
                continue
            if isinstance(a, Rec):
                if a.loop not in seen:
                    seen.add(a.loop)
                    system = generic_step(a.loop)
                    yield system
                    waiting += starts_and_steps(system)
            else:
                waiting += _opened(a)


def starts_and_steps(system: System) -> list[Poly]:
    """Return the carries of a loop at the start and after a step."""
    return [p for c in system.carries for p in (c.init, c.step)]


def boundaries(system: System) -> list[Poly]:
    """Return the p of all predicates [p > 0] in the starts and steps of a loop, each once up to sign.

    Their variables are arbitrary.
    """
    terms: dict[Poly, None] = {}
    waiting = starts_and_steps(system)
    while waiting:
        for a in atoms_of(waiting.pop()):
            if a.piecewise and not isinstance(a, Rec):
                if isinstance(a, (Pred, Side)) and -a.poly not in terms:
                    terms.setdefault(a.poly)
                waiting += _opened(a)
    return list(terms)


def _opened(a: Atom) -> list[Poly]:
    """Return the parts of an atom, its bound variables under fresh names."""
    if not isinstance(a, (Sum, Max, Product, Matrix)):
        return a.parts()
    names = Rewriter({v: of_var(fresh()) for v in a.vars})
    return [names(part) for part in a.parts()]


class Entries:
    """Tensor names for the carries of loops, by which terms are rewritten and back."""

    def __init__(self) -> None:
        self.names: dict[tuple[Loop, int], str] = {}

    def of(self, poly: Poly) -> Poly:
        """Return the term with entries of tensors in the place of carries.

        Raises ArithmeticError for a loop that depends on a variable bound around it, as it has no one name.
        """

        def read(a: Atom) -> Poly | None:
            if not isinstance(a, Rec):
                return None if has_loop(poly_of(a)) else poly_of(a)
            if any(v[0] == "b" for v in a.loop.free):
                raise ArithmeticError("a loop in a sum")
            name = self.names.setdefault((a.loop, a.position), fresh_carry())
            return access(name, (a.time, *a.index))

        return Rewriter(replace=read)(poly)

    def back(self, poly: Poly) -> Poly:
        """Return the term with carries in the place of entries of these tensors."""
        places = {name: place for place, name in self.names.items()}
        return Rewriter(replace=replacing(places, lambda a: entry(*places[a.tensor], a.index[0], a.index[1:])))(poly)

    def moving(self, tangents: Mapping[str, str]) -> dict[str, str]:
        """Return the name of a tangent for each carry that depends on an input with one."""
        moves = (
            name
            for (loop, _), name in self.names.items()
            if any(mentions(p, tangents) for c in loop.carries for p in (c.init, c.step))
        )
        return {name: fresh_carry() for name in moves}


def in_conditions_alone(smooth: Iterable[Clause], poly: Poly) -> list[Poly]:
    """Return the p of predicates that occur in those conditions in `smooth` that read loops, but nowhere in the term.

    A selection may be written into the term without its condition; then no form of the term shows where it changes.
    """
    predicate_terms = [p for system in loops_in(poly) for p in boundaries(system)]
    predicate_terms += [a.poly for a in deep_atoms(poly) if isinstance(a, (Pred, Side))]
    shapes = {_shape(q) for p in predicate_terms for q in (p, -p)}
    terms = (q for c in smooth if any(map(has_loop, polys(c))) for q in polys(c))
    in_conditions = dict.fromkeys(a.poly for q in terms for a in deep_atoms(q) if isinstance(a, (Pred, Side)))
    return [p for p in in_conditions if _shape(p) not in shapes]


def _shape(p: Poly) -> Poly:
    """Return the term with its free variables renamed to standard ones."""
    return variables_as_parameters([p], p.free)[0][0]


def without_loops(facts: Facts) -> Facts:
    """Return the facts that do not read loops: a fact about a carry is about some times alone."""
    return Facts((f for f in facts.facts if not has_loop(f.poly)), facts.integers)
