"""Entries that do not move where they are 0, as those of a relu: a kink at 0 of a later function excludes none of them,
and maxima over them need not be attained once.

Call an array still at 0 if, whatever moves, each entry that is 0 has the tangent 0. Three things are shown of a rule of
which it is proved that its JVP is the derivative:

- **The rule's results are still at 0** if they have the tangent 0 wherever they are 0, given that some arguments are
  still at 0.
- **The rule's argument may be 0.** Let each result be a function of one entry y of an array that is still at 0,
  continuous at y = 0 and C¹ on each side of it (|y|, a relu). Then the result changes by O(|y|), which is o(t) along
  every curve, so its derivative is 0 at y = 0. The JVP is 0 there as well, as it is linear in the entry's tangent.
  Where y is not 0, the JVP is the derivative whatever other entries are: neither of them reads any.
- **The rule's maximum may be 0.** Let the result be m = max_j e(j) over entries e(j) = ±y[…] of an array that is still
  at 0. Where m = 0 the result has the derivative 0, however many entries attain m: those that do are 0, so they change
  by o(t) along every curve, and the others stay below for small t. The JVP there is 0 as well if it reads no tangents
  but those of entries that attain the maximum, and is linear, as its adjoint law says. So the JVP is the derivative
  where the maximum is attained once, *or is 0*. With several maxima, each is judged by itself, if the JVP at its place
  reads only the entries that it is taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from certgrad.obligations.assume.assumptions import at_all_entries, facts_of
from certgrad.obligations.assume.by_place import at_all_places
from certgrad.obligations.assume.conditions import Atomic, Clause, discharged
from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.assume.tensor import EXTENTS, Tensor
from certgrad.obligations.decide.cases import Region
from certgrad.obligations.decide.products import split_products
from certgrad.obligations.differentiate.seams import only_bends
from certgrad.obligations.laws.order import argument, attained, attained_once, decide_max_comparisons
from certgrad.obligations.laws.transposition import NoInvariantError
from certgrad.obligations.terms.atoms import Access, Max, access
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.integers import Quotient, Remainder, RowMajor
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, poly_of
from certgrad.obligations.terms.power import UndefinedTermError, pred
from certgrad.obligations.terms.predicates import PREDICATES
from certgrad.obligations.terms.rewriting import Rewriter, without_stops
from certgrad.obligations.terms.variables import Var, template
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, indices_of, mentions

from .closers import Closing
from .problem import Problem


@dataclass(frozen=True)
class MayBeZero:
    """Hypotheses of the derivative that can be weakened if an argument has a zero tangent wherever it is 0.

    `argument` is the argument's position. Then the hypotheses in `instead` replace those in `asked`.
    """

    argument: int
    asked: tuple[Clause, ...]
    """The hypotheses for any tangent of the argument."""
    instead: tuple[Clause, ...] = ()

    @property
    def ranges(self) -> dict[Var, Poly]:
        """The ranges of the index variables of all these hypotheses, where they are known."""
        free = frozenset[Var]().union(*(c.free for c in (*self.asked, *self.instead)))
        return {v: EXTENTS.table[v] for v in free if v in EXTENTS.table}


def may_be_zero(problem: Problem) -> MayBeZero | None:
    """Return the hypotheses that can be weakened if the rule's one active argument has a zero tangent wherever it is 0.

    None if there are none, or if the rule has another form than the theorems of this module. The caller ensures that
    the proof needs these hypotheses for nothing else.
    """
    if problem.jvp is None or len(problem.forward) != 1 or len(problem.differentiable) != 1:
        return None
    (out,), (tangent,) = problem.forward, problem.jvp
    if not all(_defined(t, problem) and _reads_inputs(t.body, problem) for t in (out, tangent)):
        return None  # being defined may rest on the hypotheses to be dropped; a loop hides which entries it reads
    return _of_entry(problem, out, tangent) or _of_maximum(problem, out, tangent)


def _reads_inputs(poly: Poly, problem: Problem) -> bool:
    """Return whether the term reads nothing but arguments and tangents, and those outside of loops."""
    known_tensors = {*problem.names, *(problem.tangents[n] for n in problem.names if n in problem.tangents)}
    atoms = deep_atoms(poly)
    loops = any(isinstance(a, Rec) for a in atoms)
    return not loops and all(a.tensor in known_tensors for a in atoms if isinstance(a, Access))


def _of_entry(problem: Problem, out: Tensor, tangent: Tensor) -> MayBeZero | None:
    """Return that the hypothesis y ≠ 0 can be dropped, if each entry of the result is a function of one entry y.

    By the second theorem of this module. None if the rule does not have that form: if the JVP reads the tangent of
    another entry, or is not 0 without that of y, or if the function does more at y = 0 than bend.
    """
    (k,) = problem.differentiable
    name = problem.names[k]
    entries = {a for a in deep_atoms(out.body) if isinstance(a, Access) and a.tensor == name}
    entries |= {a for a in deep_atoms(tangent.body) if isinstance(a, Access) and a.tensor == name}
    tangent_entries = {
        a for a in deep_atoms(tangent.body) if isinstance(a, Access) and a.tensor == problem.tangents[name]
    }
    if len(entries) != 1 or not _fixed(out.body) or not _fixed(tangent.body):
        return None
    (entry,) = entries
    if any(a.index != entry.index for a in tangent_entries):
        return None
    at_rest = Rewriter(replace=lambda a: ZERO if a in tangent_entries else None)(tangent.body)
    region = Region(problem.facts).over(dict(out.variables))
    y = poly_of(entry)
    value = split_products(without_stops(out.body))
    if not at_rest.is_zero or not only_bends(value, y, problem.tangents, region, out.smooth):
        return None
    return MayBeZero(k, tuple(at_all_places([Clause((Atomic("!= 0", y),), origin="kink")], out.variables)))


def _of_maximum(problem: Problem, out: Tensor, tangent: Tensor) -> MayBeZero | None:
    """Return that "the maximum is attained once" can be weakened to "once, or the maximum is 0".

    By the third theorem of this module, for a result that is a maximum over entries of the active argument, or its
    negative. None if the rule does not have that form, or the JVP reads tangents of entries that do not attain it.
    """
    (k,) = problem.differentiable
    value = _signed(out.body)
    if value is None or not isinstance(once := value[0], Max) or mentions(once.where, problem.tangents):
        return None
    signed_entry = _signed(once.body)
    if signed_entry is None or not isinstance(signed_entry[0], Access) or signed_entry[0].tensor != problem.names[k]:
        return None
    extreme = poly_of(once).scale(signed_entry[1])
    # The JVP without the tangents of entries that attain the maximum: it has to vanish.
    off_maximum = _masked(tangent.body, problem, {problem.names[k]}, lambda y: y - extreme)
    if not _fixed(once.body) or not _reads_its_own(tangent.body, once, signed_entry[0], problem):
        return None
    if not _vanishes(off_maximum, problem, out.shape, ()):
        return None
    clause = attained_once(once)
    wider = replace(clause, alternatives=(*clause.alternatives, Atomic("= 0", poly_of(once))))
    return MayBeZero(k, *(tuple(at_all_places([c], out.variables)) for c in (clause, wider)))


def _reads_its_own(poly: Poly, once: Max, entry: Access, problem: Problem) -> bool:
    """Return whether the term reads no entries of the argument but those that the maximum `once` is taken over.

    `entry` is the entry inside the maximum: for max_j y[i, j], the term may read y[i, k] for any k, and no y[k, j].
    """
    (k,) = problem.differentiable
    axes = problem.inputs[k].shape
    unmasked = {v for v, n in zip(once.vars, once.ranges, strict=True) if once.where == ONE}
    ranges = dict(zip(once.vars, once.ranges, strict=True))
    rest = Rewriter(replace=lambda a: access(_ITSELF, ()) if a is once else None)(poly)

    def may_be_read(a: Access) -> bool:
        for axis, (own_index, index) in enumerate(zip(entry.index, a.index, strict=True)):
            v = own_index.variable()
            any_place = v in unmasked and ranges[v] == axes[axis]
            if not any_place and (own_index != index or not {*once.vars}.isdisjoint(own_index.free)):
                return False
        return True

    # An index may depend on sizes, on other indices and on the place of the maximum, but on no other entries.
    of_maximum = {t for ix in argument(once) for t in ix.atoms}
    in_indices = (t for ix in indices_of(rest) for t in ix.atoms)
    if not all(t in of_maximum or isinstance(t, Quotient | Remainder | RowMajor) for t in in_indices):
        return False
    return all(may_be_read(a) for a in deep_atoms(rest) if isinstance(a, Access) and a.tensor == entry.tensor)


_ITSELF = "the maximum"
"""The name that stands for the maximum where the other entries that a term reads are looked at."""


def still_outputs(problem: Problem, hypotheses: Collection[Clause], still: Collection[int]) -> tuple[bool, ...]:
    """Return, for each result, whether it has a zero tangent wherever it is 0, under the hypotheses of the proof.

    `still` has the positions of the arguments that have a zero tangent wherever they are 0. False if it is not shown.
    """
    if problem.jvp is None:
        return (False,) * len(problem.forward)
    names = {problem.names[k] for k in still}
    results = []
    for out, tangent in zip(problem.forward, problem.jvp, strict=True):
        # Tangents of still arguments count where their entries are not 0. Where the result is 0, nothing may be left.
        moving = _masked(tangent.body, problem, names, lambda y: y)
        at_zero = moving * (ONE - _nonzero(out.body))
        finite = not out.infinite and not tangent.infinite
        results.append(finite and _vanishes(at_zero, problem, out.shape, tuple(hypotheses)))
    return tuple(results)


def _fixed(poly: Poly) -> bool:
    """Return whether the indices in a term depend on sizes and other indices only, and on no entries."""
    return all(isinstance(t, Quotient | Remainder | RowMajor) for ix in indices_of(poly) for t in ix.atoms)


def _defined(entry: Tensor, problem: Problem) -> bool:
    """Return whether the entries are defined and finite, whatever the arguments are."""
    indices = Indices(facts=problem.facts, sizes=problem.input_shapes)
    needed = (c.rewritten(lambda p: decide_max_comparisons(p, indices)) for c in entry.defined)
    return not entry.infinite and all(discharged(c, problem.facts) or attained(c) for c in needed)


def rest_conditions(problem: Problem) -> list[Clause]:
    """Return conditions under which the rule's one result has a zero tangent wherever it is 0.

    They say that the result is not 0 wherever it depends on the entry that it reads. Empty unless the JVP is the
    tangent of one entry times a factor without tangents, such as a mask.
    """
    if problem.jvp is None or len(problem.forward) != 1:
        return []
    (out,), (tangent,) = problem.forward, problem.jvp
    moving = {*problem.tangents, *problem.tangents.values()}
    entries = {a for a in atoms_of(tangent.body) if isinstance(a, Access) and a.tensor in moving}
    if len(entries) != 1:
        return []
    (entry,) = entries
    coefficient = Rewriter(replace=lambda a: ONE if a is entry else None)(tangent.body)
    if coefficient * poly_of(entry) != tangent.body:
        return []
    if mentions(coefficient, moving) or coefficient.constant() is not None:
        return []
    return list(at_all_places([_not_zero_where(out.body, coefficient)], out.variables))


def _not_zero_where(poly: Poly, coefficient: Poly) -> Clause:
    """Return the clause that the term is not 0 where `coefficient` is not 0.

    If the coefficient is a mask, it is the guard of the clause; if its factors are factors of the term, the clause has
    the other factors of the term alone.
    """
    single = coefficient.single()
    if single is not None and all(isinstance(a, PREDICATES) for a, _ in single[0]):
        return Clause((Atomic("!= 0", poly),), ((coefficient.scale(1 / single[1]), True),), "kink")
    product = poly.single()
    if single is not None and product is not None:
        exponents = dict(product[0])
        if all(exponents.get(a) == e for a, e in single[0]):
            poly = Poly({tuple((a, e) for a, e in product[0] if (a, e) not in single[0]): product[1]})
    return Clause((Atomic("!= 0", poly), Atomic("= 0", coefficient)), origin="kink")


def _signed(poly: Poly) -> tuple[Atom, int] | None:
    """Return the atom and the sign, where the term is an atom or its negative; else None."""
    single = poly.single()
    if single is None or abs(single[1]) != 1 or len(single[0]) != 1 or single[0][0][1] != 1:
        return None
    return single[0][0][0], 1 if single[1] > 0 else -1


def _nonzero(poly: Poly) -> Poly:
    """Return the term that is 1 where `poly` is not 0, else 0; for a product, the product of these of its factors."""
    single = poly.single()
    if single is None or not all(isinstance(e, int) and e > 0 for _, e in single[0]):
        return pred(poly) + pred(-poly)
    product = ONE
    for a, _ in single[0]:
        product = product * (pred(poly_of(a)) + pred(-poly_of(a)))
    return product


def _masked(poly: Poly, problem: Problem, still: Collection[str], distance: Callable[[Poly], Poly]) -> Poly:
    """Return the term with 0 for tangents of the `still` arguments, at entries y where `distance(y)` is 0."""
    entries = {tangent: name for name, tangent in problem.tangents.items() if name in still}

    def value(a: Atom) -> Poly | None:
        if not isinstance(a, Access) or a.tensor not in entries:
            return None
        gap = distance(access(entries[a.tensor], a.index))
        return poly_of(a) * _nonzero(gap)

    return Rewriter(replace=value)(poly) if entries else poly


def _one_where(clause: Clause) -> Poly:
    """Return the term that is 1 where the clause holds and 0 elsewhere, for a clause p ≠ 0 with guards; else 1."""
    (first, *others) = clause.alternatives
    if others or first.relation != "!= 0" or not clause.guards:
        return ONE
    guard = ONE
    for g, value in clause.guards:
        guard = guard * (g if value else ONE - g)
    return ONE - guard * (ONE - _nonzero(first.poly))


def _vanishes(poly: Poly, problem: Problem, shape: tuple[Poly, ...], hypotheses: tuple[Clause, ...]) -> bool:
    """Return whether the term is shown to be 0 at every entry of a result of this shape, under the hypotheses."""
    ranges = {template(k): n for k, n in enumerate(shape)}
    shapes = problem.array_shapes
    for clause in hypotheses:
        if clause.free <= ranges.keys() and at_all_entries(clause, shapes):
            poly = poly * _one_where(clause)
    signs, clauses = facts_of(hypotheses, shapes)
    region = Region(problem.facts.extended(signs), clauses)
    indices = Indices(ranges, facts=region.facts, clauses=region.clauses)
    try:
        with limited():
            difference = split_products(decide_max_comparisons(poly, indices))
            families = [{*problem.tangents.values()}]
            return Closing(difference, region.over(ranges), problem, families, None).residue() is None
    except (UndefinedTermError, NoInvariantError, BudgetError, ArithmeticError, RecursionError):
        return False
