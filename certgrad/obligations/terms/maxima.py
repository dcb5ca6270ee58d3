"""Maxima over index variables."""

from __future__ import annotations

from .atoms import Max
from .index import of_var
from .law import Law, applied
from .polynomials import ONE, Accumulator, Poly, mono_free, poly_of
from .power import UndefinedTermError
from .rewriting import Rewriter, rebuilds, rebuilt_inside
from .session import intern
from .variables import Var


def max_over(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly = ONE) -> Poly:
    """max of a polynomial over the variables where the 0/1-valued term `where` is 1.

    The caller has shown that it is 1 somewhere, or has recorded that. Terms without the variables move out.
    """
    outside, atom, _ = maximum(poly, dummies, where)
    return outside if atom is None else outside + poly_of(atom)


def maximum(poly: Poly, dummies: list[tuple[Var, Poly]], where: Poly) -> tuple[Poly, Max | None, list[Var]]:
    """The maximum as terms without the variables, a `Max` if there are others, and the variables that it binds."""
    if where.is_zero:
        raise UndefinedTermError("a maximum over nothing")
    inside, outside = Accumulator(), Accumulator()
    variables = {v for v, _ in dummies}
    for mono, c in poly.items():
        (inside if mono_free(mono) & variables else outside).add(mono, c)
    body = inside.poly()
    if outside.terms:
        applied(Law.MAXIMUM_OF_SUM)
    if body.is_zero:
        return outside.poly(), None, []
    if where == ONE:
        dummies = [(v, r) for v, r in dummies if v in body.free]
    level = 1 + max(body.level, where.level)
    ranges = dict(dummies)
    order = sorted(ranges)  # maxima over several variables keep the order of their axes
    bound = tuple(("b", level, k) for k in range(len(order)))
    rename = Rewriter({v: of_var(b) for v, b in zip(order, bound, strict=True)})
    atom = intern(Max(bound, tuple(ranges[v] for v in order), rename(body), rename(where)))
    return outside.poly(), atom, order


@rebuilds(Max)
def _rebuilt(a: Max, rewrite: Rewriter) -> Poly:
    """Over nothing, as it may be in a lane that another term cancels, it is some number: the maximum over all will do.

    That there is something where the value counts is a condition of the program, which is recorded.
    """
    body, dummies, where = rebuilt_inside(a, rewrite)
    return max_over(body, dummies, ONE if where.is_zero else where)
