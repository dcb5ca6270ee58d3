"""Entries that do not move where they are 0, as those of a relu: maxima over them need not be attained once there.

Call an array still at 0 if, whatever moves, each entry that is 0 has the tangent 0. Two things are shown of a rule of
which it is proved that its JVP is the derivative:

- **Its results are still at 0** if they have the tangent 0 wherever they are 0, given that some arguments are still.
- **Its maximum may be 0.** Let the result be m = max_j e(j) over entries e(j) = ±y[…] of an array that is still at 0.
  Where m = 0 it has the derivative 0, however many entries attain it: those that do are 0, so they change by o(t)
  along every curve, and the others stay below for small t. The JVP there is 0 as well if it reads no tangent but those
  of entries that attain the maximum, and is linear, as its adjoint law says. So it is the derivative where the maximum
  is attained once, *or is 0*.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from certgrad.obligations.assume.by_place import at_all_places
from certgrad.obligations.assume.conditions import Atomic, Clause, discharged
from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.assume.tensor import EXTENTS, Tensor
from certgrad.obligations.decide.cases import Region, facts_of
from certgrad.obligations.decide.products import split_products
from certgrad.obligations.laws.order import attained, attained_once, ordered
from certgrad.obligations.laws.transposition import NoInvariantError
from certgrad.obligations.terms.atoms import Access, Max, access
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.integers import Quotient, Remainder, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.terms.walk import indices_of, mentions

from .closers import Closing
from .problem import Problem


@dataclass(frozen=True)
class MayBeZero:
    """A maximum that is attained once, or 0: what the JVP needs of it if the argument is still at 0."""

    argument: int
    once: tuple[Clause, ...]
    """The hypothesis as it is without that."""
    or_zero: tuple[Clause, ...]

    @property
    def ranges(self) -> dict[Var, Poly]:
        """How far the indices run at whose values these are asked."""
        free = frozenset[Var]().union(*(c.free for c in (*self.once, *self.or_zero)))
        return {v: EXTENTS.table[v] for v in free if v in EXTENTS.table}


def may_be_zero(problem: Problem) -> MayBeZero | None:
    """None where the result is no maximum of entries of the one argument that moves, or the JVP reads others than
    those that attain it.

    The caller sees to it that the adjoint law does not need the hypothesis.
    """
    if problem.jvp is None or len(problem.forward) != 1 or len(problem.differentiable) != 1:
        return None
    (out,), (tangent,), (k,) = problem.forward, problem.jvp, problem.differentiable
    value = _signed(out.body)
    if value is None or not isinstance(once := value[0], Max) or mentions(once.where, problem.tangents):
        return None
    entry = _signed(once.body)
    if entry is None or not isinstance(entry[0], Access) or entry[0].tensor != problem.names[k]:
        return None
    if not all(isinstance(t, _FIXED) for ix in indices_of(once.body) for t in ix.atoms):
        return None  # which entries these are may depend on values
    if not all(_defined(t, problem) for t in (out, tangent)):
        return None  # it may follow from the hypothesis that they are
    extreme = poly_of(once).scale(entry[1])
    others = _masked(tangent.body, problem, {problem.names[k]}, lambda y: y - extreme)
    if not _vanishes(others, problem, out.shape, ()):
        return None
    clause = attained_once(once)
    wider = replace(clause, alternatives=(*clause.alternatives, Atomic("= 0", poly_of(once))))
    return MayBeZero(k, *(tuple(at_all_places([c], out.variables)) for c in (clause, wider)))


def still_outputs(problem: Problem, hypotheses: Collection[Clause], still: Collection[int]) -> tuple[bool, ...]:
    """Which results are still at 0, where these arguments are, and under the hypotheses of the proof."""
    if problem.jvp is None:
        return (False,) * len(problem.forward)
    names = {problem.names[k] for k in still}
    found = []
    for out, tangent in zip(problem.forward, problem.jvp, strict=True):
        moving = _masked(tangent.body, problem, names, lambda y: y)
        at_zero = moving * (ONE - _nonzero(out.body))
        finite = not out.infinite and not tangent.infinite
        found.append(finite and _vanishes(at_zero, problem, out.shape, tuple(hypotheses)))
    return tuple(found)


_FIXED = (Quotient, Remainder, RowMajor)
"""Integers in index expressions that only sizes and other indices decide."""


def _defined(entry: Tensor, problem: Problem) -> bool:
    """The entries are defined, and finite, whatever the arguments are."""
    known = Indices(facts=problem.facts, sizes=problem.input_shapes)
    needed = (c.rewritten(lambda p: ordered(p, known)) for c in entry.defined)
    return not entry.infinite and all(discharged(c, problem.facts) or attained(c) for c in needed)


def _signed(poly: Poly) -> tuple[Atom, int] | None:
    """The atom of which the term is the value, or its negative."""
    single = poly.single()
    if single is None or abs(single[1]) != 1 or len(single[0]) != 1 or single[0][0][1] != 1:
        return None
    return single[0][0][0], 1 if single[1] > 0 else -1


def _nonzero(poly: Poly) -> Poly:
    """1 where the term is not 0, else 0: a product is not 0 where no factor is."""
    single = poly.single()
    if single is None or not all(isinstance(e, int) and e > 0 for _, e in single[0]):
        return pred(poly) + pred(-poly)
    found = ONE
    for a, _ in single[0]:
        found = found * (pred(poly_of(a)) + pred(-poly_of(a)))
    return found


def _masked(poly: Poly, problem: Problem, still: Collection[str], distance: Callable[[Poly], Poly]) -> Poly:
    """The term with the tangents of some arguments where a distance of the entry is not 0, and 0 elsewhere."""
    entries = {tangent: name for name, tangent in problem.tangents.items() if name in still}

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Access) or a.tensor not in entries:
            return None
        apart = distance(access(entries[a.tensor], a.index))
        return poly_of(a) * _nonzero(apart)

    return Rewriter(replace=value)(poly) if entries else poly


def _vanishes(poly: Poly, problem: Problem, shape: tuple[Poly, ...], hypotheses: tuple[Clause, ...]) -> bool:
    """The term is shown to be 0 at every index, under the hypotheses."""
    more, clauses = facts_of(hypotheses)
    region = Region(problem.facts.extended(more), clauses)
    ranges = {template(k): n for k, n in enumerate(shape)}
    place = Indices(ranges, facts=region.facts, clauses=region.clauses)
    try:
        with limited():
            difference = split_products(ordered(poly, place))
            families = [{*problem.tangents.values()}]
            return Closing(difference, region.over(ranges), problem, families, None).residue() is None
    except (UndefinedTermError, NoInvariantError, BudgetError, ArithmeticError, RecursionError):
        return False
