"""Infinite entries: a mask writes −∞ where nothing is to be kept, and a maximum, exp and sums have no use for it.

A tensor with infinite entries is a finite body beside `kept`, which is 1 where the entry is that body and 0 where it is
the infinity. Only the primitives named here know of this. To every other one, and to whoever reads an output, such an
entry is undefined: a theorem covers it only where it does not occur, or is not selected.

`infinite` is the sign of the infinity, and twice that where a large number means it: a mask's −1e30. To anybody but a
maximum, exp, and a sum with a number that is not large, such a number is not what the infinity is: then the program is
not read so.
"""

from __future__ import annotations

from dataclasses import replace

from certgrad.jaxpr import kinds
from certgrad.jaxpr.kinds import MOVES_ENTRIES
from certgrad.obligations.assume.conditions import UNDEFINED_EVERYWHERE, Clauses, condition, merge_clauses
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.order import boundaries_in_choices
from certgrad.obligations.meaning.literals import MASKING
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter, replaced
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, tensors_in

from ._registry import UnprovedError

VANISHING = frozenset("exp exp2 logistic".split())
"""Functions that are positive, and 0 at −∞."""
AWARE = (MOVES_ENTRIES | VANISHING | kinds.CHOOSES | kinds.ADDS | kinds.COMPARES) | frozenset(
    "convert_element_type div is_finite mul reduce_max reduce_min scan scatter-max scatter-min".split()
)


LARGE_NUMBER = 2
"""Times the sign of an infinity: it is a large number, read so."""


def meant(x: Tensor) -> bool:
    """Return whether infinities in a tensor are large numbers read as such."""
    return abs(x.infinite) == LARGE_NUMBER


def either(x: Tensor, y: Tensor) -> int:
    """Return the kind of infinity in a result of both; a large number read as one if either is."""
    return max(x.infinite, y.infinite, key=abs)


def check_beside_large_number(x: Tensor, y: Tensor, least: int = 0) -> None:
    """Check the operand beside a large number that is read as an infinity.

    Raises UnprovedError if it is no large number itself, or not known to be at least `least`, where that is needed.
    """
    for one, other in ((x, y), (y, x)):
        if meant(one) and not other.infinite:
            c = other.body.constant()
            if (c is not None and abs(c) >= LARGE) or (least and (c is None or abs(c) < least)):
                raise UnprovedError(READ_SO)


READ_SO = "a number that a mask chooses, and that is read as an infinity, is more than that"
LARGE = MASKING // 1000


def finite(x: Tensor) -> Tensor:
    """Return the tensor with its infinite entries made undefined. Raises UnprovedError where the infinity is a large
    number that was read as one, such as a mask's −1e30.

    At the boundary of the infinite entries, as at 0 in `where(x < 0, -inf, x)`, the tensor has no derivative.
    """
    if not x.infinite:
        return x
    if meant(x):
        raise UnprovedError(READ_SO)
    own = tuple(c.guarded(x.kept, False) for c in UNDEFINED_EVERYWHERE) if not x.kept.is_zero else UNDEFINED_EVERYWHERE
    seams = merge_clauses(
        *(_boundary(a) for a in atoms_of(x.kept) if isinstance(a, Pred)),
        *(condition("!= 0", p, "kink") for p in boundaries_in_choices(x.kept)),
    )
    return replace(
        x, infinite=0, kept=ONE, defined=merge_clauses(x.defined, own), smooth=merge_clauses(x.smooth, own, seams)
    )


def _boundary(a: Pred) -> Clauses:
    """Return the condition that a predicate is locally constant.

    One that counts others, as that of `any`, changes where one of these does, for whichever indices.
    """
    inner = [b for b in deep_atoms(a.poly) if isinstance(b, Pred)]
    out = merge_clauses(*(condition("!= 0", _anywhere(b.poly), "kink") for b in inner))
    counted = replaced(a.poly, lambda b: ONE if isinstance(b, Pred) else None)
    return (
        out
        if inner and not any(map(tensors_in, atoms_of(counted)))
        else merge_clauses(out, condition("!= 0", a.poly, "kink"))
    )


def _anywhere(poly: Poly) -> Poly:
    """The term with the variables of sums around it left open."""
    return Rewriter({v: of_var(fresh()) for v in poly.free if v[0] == "b"})(poly)


def looked_at(name: str, inputs: list[Tensor]) -> list[Tensor]:
    """The operands as the primitive sees them."""
    return inputs if name in AWARE else [finite(x) for x in inputs]


def known_after(name: str, out: Tensor) -> Tensor:
    """Return a result with its infinite and positive entries marked only where the primitive's rule tracks them."""
    if name not in AWARE and out.infinite:
        out = finite(out)
    return out if out.support is None or name in MOVES_ENTRIES or name in VANISHING else replace(out, support=None)


def exponential(x: Tensor, of_body: Tensor) -> Tensor:
    """A function that vanishes at −∞ where entries are −∞: 0 there, and positive at all others."""
    return replace(of_body, body=x.kept * of_body.body, signs=NONNEG, infinite=0, kept=ONE, support=x.kept)


def sum_with_infinities(x: Tensor, y: Tensor, total: Tensor) -> Tensor:
    """Return a sum of which one operand has infinite entries, or both of the same sign."""
    sign = either(x, y)
    return replace(total, infinite=sign, kept=x.kept * y.kept) if sign else total


def selected(guard_is_one: Tensor, no: Tensor, yes: Tensor, out: Tensor) -> Tensor:
    """Return a selection between tensors of which one or both have infinite entries of one sign."""
    which = guard_is_one.body
    kept = no.kept + which * (yes.kept - no.kept)
    body, signs = out.body, out.signs
    if no.kept.is_zero:
        body, signs = yes.body, yes.signs
    elif yes.kept.is_zero:
        body, signs = no.body, no.signs
    return replace(out, body=body, signs=signs, infinite=either(no, yes), kept=kept)


def greatest(x: Tensor, y: Tensor, of_bodies: Tensor) -> Tensor:
    """max where entries of x are −∞ (or min where they are ∞): y there."""
    body = y.body + x.kept * (of_bodies.body - y.body)
    return replace(of_bodies, body=body, signs=of_bodies.signs | y.signs)
