"""Index variables.

A variable is a triple `(kind, major, minor)`. Kinds: `t` template position of a tensor, `f` fresh (a sum being worked
on), `b` bound (canonical, inside a closed sum), `u` freed for comparison, `q` universally quantified in a condition,
`y` the same where it does not run over all of an axis, `c` colour (used while labelling), `s` slot (any integer that
stands for part of an index). Bound variables carry the nesting level of their binder as `major`; a binder's level is
above the level of every binder inside it, so renaming never captures. `p` stands for an argument of a comparison.
Variables of all kinds but `s` are indices, hence not negative.
"""

from __future__ import annotations

from .session import session

Var = tuple[str, int, int]


def template(position: int) -> Var:
    return ("t", position, 0)


def is_index(v: object) -> bool:
    """Return whether it is a variable that numbers the entries of an axis, the terms of a sum or the steps of a loop:
    it is not negative.
    """
    return isinstance(v, tuple) and v[0] in "tfbuqy"


def fresh(kind: str = "f") -> Var:
    """A variable that is used nowhere else in this proof: only these have the minor number 1."""
    session.fresh += 1
    return (kind, session.fresh, 1)
