"""Integer terms that are affine in index variables: the numbers that iota makes."""

from __future__ import annotations

from .._index import Ix, combine, of_const, of_var
from .._terms import Dim, IndexNumber, Poly


def as_index(poly: Poly) -> Ix | None:
    """The term as an index expression, where it is an integer combination of indices and dimensions."""
    parts: list[tuple[int, Ix]] = []
    for mono, c in poly.items():
        if c.q != 1:
            return None
        if len(mono) == 1 and mono[0][1] == 1 and isinstance(mono[0][0], IndexNumber):
            parts.append((int(c.p), of_var(mono[0][0].var)))
        elif all(isinstance(a, Dim) and isinstance(e, int) and e > 0 for a, e in mono):
            parts.append((1, of_const(Poly({mono: c}))))
        else:
            return None
    return combine(parts)
