"""Canonical names of bound variables: an order of them that does not depend on what they are called."""

from __future__ import annotations

from itertools import permutations, product

from .atoms import Access
from .exponents import Exponent
from .index import Ix, of_var
from .polynomials import LONGEST_KEY, Atom, Poly, poly_of
from .rewriting import Rewriter
from .variables import Var


def canonical_order(variables: list[Var], ranges: dict[Var, Poly], factors: list[tuple[Atom, Exponent]]) -> list[Var]:
    """Return an order of the variables that does not depend on their names.

    By colour refinement: each variable starts with its range as its colour, and gets a finer one from the factors that
    it stands in, written with the colours of the other variables, until no more variables are told apart. Among
    variables of one colour the order is taken that gives the least key.
    """
    if len(variables) == 1:
        return variables
    colours = {v: ranges[v].key for v in variables}
    # Each round can tell apart at least one more variable, or is the last.
    for _ in range(len(variables)):
        ranked = {c: k for k, c in enumerate(sorted(set(colours.values())))}
        if len(ranked) == len(variables):
            break
        refined = {}
        for v in variables:
            # The variable itself gets the mark 1, so that its own places in a factor differ from those of its colour.
            names = {w: of_var(("c", ranked[colours[w]], 0)) for w in variables}
            names[v] = of_var(("c", ranked[colours[v]], 1))
            keys = sorted(_mark(a, e, names) for a, e in factors if v in a.free)
            refined[v] = f"{ranked[colours[v]]:04d}|" + "&".join(keys)
        if len(set(refined.values())) == len(set(colours.values())):
            colours = refined
            break
        colours = refined
    classes: dict[str, list[Var]] = {}
    for v in variables:
        classes.setdefault(colours[v], []).append(v)
    ordered = [classes[c] for c in sorted(classes)]
    if all(len(c) == 1 for c in ordered):
        return [c[0] for c in ordered]
    # Ties: all orders inside the classes are tried.
    best: tuple[str, list[Var]] | None = None
    for count, choice in enumerate(product(*(permutations(c) for c in ordered))):
        if count >= 720:
            break  # still sound: two forms of one sum may then stay apart, but two sums never become one
        order = [v for c in choice for v in c]
        names = {v: of_var(("c", k, 2)) for k, v in enumerate(order)}
        key = "*".join(sorted(_mark(a, e, names) for a, e in factors))
        if best is None or key < best[0]:
            best = (key, order)
    assert best is not None
    return best[1]


class _Colouring(Rewriter):
    """Replaces variables by colours, which several may share. The result is only a label, and is not simplified."""

    labels = True


def _mark(a: Atom, e: Exponent, names: dict[Var, Ix]) -> str:
    """Return a label of the factor aᵉ with colours in place of its variables."""
    if isinstance(a, Access):  # the same label as below, without making terms
        key = f"{a.tensor}[{','.join([ix.subst(names).key for ix in a.index])}]"
        if len(key) <= LONGEST_KEY:
            return f"1*{key}^{e}"
    new = _Colouring(names).atom(a)
    return f"{(new or poly_of(a)).key}^{e}"
