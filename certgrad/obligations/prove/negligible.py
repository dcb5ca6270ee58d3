"""Which hypotheses are shown to exclude a set of measure zero only, for all sizes and at every index.

The theorem behind `_spread`: a term that depends on a tensor T through one atom, as Σ_k c_k·A^k with a coefficient
c_k ≠ 0 for some k ≠ 0, takes each value at finitely many values of A. Where A is an entry of T this is a set of measure
zero for fixed other entries, so by Fubini's theorem for all of them. A function that is analytic and not constant on
the intervals where it is defined keeps the property, and so does a sum, a product or a maximum of such terms if each
reads entries of its own. The parts that do not depend on T may be anything, but not null where they are coefficients.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from flint import fmpq

from certgrad.language.platform import PLATFORM
from certgrad.obligations.assume.conditions import Atomic, Clause, polys
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG
from certgrad.obligations.laws.order import different_entries, maximum_once
from certgrad.obligations.terms.atoms import Access, Base, Exp, Fn, Max, Num, Product, Sum
from certgrad.obligations.terms.determined import Matrix
from certgrad.obligations.terms.integers import Chosen
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly
from certgrad.obligations.terms.power import cleared
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, is_determined, tensors_in

_ANALYTIC = frozenset(
    "sin cos asin acos atan asinh acosh atanh erf erf_inv lgamma digamma bessel_i0 bessel_i1 cbrt log".split()
)
"""Functions of one variable that are analytic, and not constant, on each interval where they are differentiable."""


Reals = Mapping[str, bool]
"""The tensors of real numbers; True for one whose entries together may be any numbers.

False for one whose entries may depend on each other: of it is only known that each entry alone takes every value on a
null set."""


def negligible(clause: Clause, reals: Reals, others: Collection[str] = ()) -> bool:
    """Return whether the clause is shown to fail on a null set only.

    `others` are the inputs that are not in `reals`: nothing is known of them. False if the clause reads other tensors.
    """
    known_tensors = {*reals, *others, PLATFORM}
    tensors = {a.tensor for p in polys(clause) for a in deep_atoms(p) if isinstance(a, Access)}
    if not tensors <= known_tensors or any(map(is_determined, tensors)):
        return False
    different = different_entries(clause)
    if different is not None:
        return any(_spread(different[0], t, reals, [different[1]]) for t in reals)
    return any(_rarely_fails(a, reals) for a in clause.alternatives)


def _rarely_fails(a: Atomic, reals: Reals) -> bool:
    """Return whether one relation is shown to fail on a null set only."""
    once = maximum_once(a)
    if once is not None:
        kept = not any(isinstance(b, Pred) for b in deep_atoms(once.where))  # a mask may leave nothing
        return kept and any(_spread(once.body, t, reals, once.vars) for t in reals)
    if a.relation == "> 0":  # a term that is never negative fails to be positive at its zeros alone
        return not Facts().signs(a.poly) & NEG and _nonzero(a.poly, reals)
    if a.relation not in ("!= 0", "not integer", "not pole"):
        return False
    return _nonzero(a.poly, reals) if a.relation == "!= 0" else any(_spread(a.poly, t, reals) for t in reals)


def spreading(p: Poly, reals: Reals) -> set[str]:
    """Return the tensors T such that the term takes each value on a null set of T only, whatever the others are."""
    return {t for t in reals if _spread(p, t, reals)}


def _nonzero(p: Poly, reals: Reals) -> bool:
    """Return whether the term is zero on a set of measure zero only."""
    if p.is_zero:
        return False
    single = p.single()
    if single is not None:
        return all(_nonzero_atom(a, reals) for a, _ in single[0])
    # Cleared of denominators, a sum of fractions may be of the form of the theorem.
    numerator, _ = cleared(p)
    return any(_spread(q, t, reals) for q in dict.fromkeys((p, numerator)) for t in reals)


def _nonzero_atom(a: Atom, reals: Reals) -> bool:
    """Return whether an atom is zero on a set of measure zero only."""
    if a.positive or isinstance(a, (Exp, Num)):
        return True
    if isinstance(a, Base):
        return _nonzero(a.poly, reals)
    return any(_spread_atom(a, t, reals) for t in reals)


def _spread(p: Poly, tensor: str, reals: Reals, over: Collection[Var] = ()) -> bool:
    """Return whether, for almost all values of the other tensors, the term takes each value only on a null set of this
    tensor.

    The term is written as Σ coefficient · part, where each part is a product of powers of atoms that depend on the
    tensor: as in the theorem above, one part must have a coefficient that is almost nowhere 0.

    With `over`, the variables of a sum or product around the term, it must read another entry for each of their values.
    """
    entries = {a for a in deep_atoms(p) if isinstance(a, Access) and a.tensor == tensor}
    if over and (not reals[tensor] or len(entries) != 1 or not _reads_distinct_entries(next(iter(entries)), over)):
        return False
    # The theorem is about one atom; an entry y beside exp(y) is a case of its own.
    moving = [a for a in atoms_of(p) if tensor in tensors_in(a)]
    if not moving:
        return False
    if len(moving) > 1 and not _exponential(moving):
        return False
    groups: dict[Mono, Poly] = {}
    for mono, coefficient in p.items():
        part = tuple((a, e) for a, e in mono if a in moving)
        rest = tuple((a, e) for a, e in mono if a not in moving)
        groups[part] = groups.get(part, Poly({})) + Poly({rest: coefficient})
    others = {t: free for t, free in reals.items() if t != tensor}
    return any(part and _nonzero(coefficient, others) for part, coefficient in groups.items()) and all(
        _spread_atom(a, tensor, reals) for a in moving
    )


def _exponential(moving: list[Atom]) -> bool:
    """Return whether the atoms are an entry and its exponential, whose products of powers are linearly independent."""
    entry = next((a for a in moving if isinstance(a, Access)), None)
    return entry is not None and all(a is entry or (isinstance(a, Exp) and a.mono == ((entry, 1),)) for a in moving)


def _spread_atom(a: Atom, tensor: str, reals: Reals) -> bool:
    """Return whether an atom takes each value only on a null set of the tensor's entries.

    By the kind of the atom: an entry of the tensor at a fixed place, an analytic function of such a term, a sum, a
    product or a maximum of terms with entries of their own, a determinant of different entries.
    """
    if isinstance(a, Access):
        return a.tensor == tensor and not any(isinstance(t, Chosen) for ix in a.index for t in ix.atoms)
    if isinstance(a, Exp):
        return _spread(Poly({a.mono: fmpq(1)}), tensor, reals)
    if isinstance(a, Base):
        return _spread(a.poly, tensor, reals)
    if isinstance(a, Fn):
        analytic = a.name in _ANALYTIC or a.name == "stop"
        return analytic and len(a.args) == 1 and _spread(a.args[0], tensor, reals)
    if isinstance(a, Sum):
        return all(n.positive for n in a.ranges) and _spread(Poly({a.body: fmpq(1)}), tensor, reals, a.vars)
    if isinstance(a, Product):
        full = a.where == ONE and all(n.positive for n in a.ranges)
        return full and _nonzero(a.body, reals) and _spread(a.body, tensor, reals, a.vars)
    if isinstance(a, Max):
        return a.where == ONE and reals[tensor] and _spread(a.body, tensor, reals)
    if isinstance(a, Matrix) and reals[tensor]:
        # A determinant is affine in each entry; its coefficient, a minor, is 1 or another determinant of entries.
        entry = a.body.atom()
        if a.name != "determinant" or not isinstance(entry, Access) or entry.tensor != tensor:
            return False
        return _reads_distinct_entries(entry, a.vars) and a.ranges[0].positive
    return False


def _reads_distinct_entries(entry: Access, variables: Collection[Var]) -> bool:
    """Return whether each variable alone is an index of the entry along some axis.

    Then different values of the variables give different entries.
    """
    places = {ix.moved_by(variables) for ix in entry.index}
    return all(v in places for v in variables)
