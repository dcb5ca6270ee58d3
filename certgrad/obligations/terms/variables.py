"""Index variables.

A variable is a triple `(kind, major, minor)`. The kinds are:

- `t`: the position along an axis of a tensor, in the term of its entry (a template);
- `f`: fresh, in a sum that is being worked on; `b`: bound, with a canonical name, inside a closed sum;
- `u`: freed for comparison; `c`: a colour, used while labelling;
- `q`: universally quantified in a condition; `y`: likewise, where it does not run over all of an axis;
- `s`: a slot, any integer that stands for part of an index; `p`: an argument of a comparison.

Bound variables carry the nesting level of their binder as `major`; a binder's level is above the level of every binder
inside it, so that renaming never captures. Variables of all kinds but `s` are indices, hence not negative.
"""

from __future__ import annotations

from .session import session

Var = tuple[str, int, int]


def template(position: int) -> Var:
    """Return the variable that stands for the index along an axis in the term of a tensor's entry."""
    return ("t", position, 0)


def is_index(v: object) -> bool:
    """Return whether v is a variable that numbers entries of an axis, terms of a sum or steps of a loop: v ≥ 0."""
    return isinstance(v, tuple) and v[0] in "tfbuqy"


def fresh(kind: str = "f") -> Var:
    """Return a variable that is used nowhere else in this proof: only fresh variables have the minor number 1."""
    session.fresh += 1
    return (kind, session.fresh, 1)
