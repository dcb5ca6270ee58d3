"""Atoms for what an equation or a loop determines: entries of inverses and factors, and values that a loop carries."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from .index import Ix, bound_key
from .law import Law, applied
from .polynomials import Atom, Holder, Poly
from .predicates import PREDICATES, Confined, IxEq, IxPred
from .variables import Var


class Matrix(Confined):
    """A function of a matrix, by name: an entry of its inverse or of a factor of it, its determinant …

    The argument matrix is given by its entry `body` at the bound row and column `vars`, which run over `ranges`.
    `index` is the place of the entry; it is empty for a number such as the determinant. The module `matrices` makes
    these atoms, and has the laws of each name.
    """

    __slots__ = ("body", "index", "name", "ranges", "triangle", "vars")

    def __init__(
        self, name: str, variables: tuple[Var, Var], ranges: tuple[Poly, Poly], body: Poly, index: tuple[Ix, ...]
    ) -> None:
        self.name, self.vars, self.ranges, self.body, self.index = name, variables, ranges, body, index
        free = (body.free - frozenset(variables)) | frozenset(v for ix in index for v in ix.free)
        bound = bound_key(variables, ranges)
        at = f"[{','.join(ix.key for ix in index)}]" if index else ""
        positive = name == "cholesky" and index[0] == index[1]
        structured = body.structured or any(ix.key and ix.variable() is None for ix in index)
        key = f"{name}[{bound}]({body.key}){at}"
        self.triangle = self._triangle() if len(index) == 2 else None
        self._finish(key, free, variables[0][1], positive, body.piecewise, structured)

    def parts(self) -> list[Poly]:
        return [self.body]

    def bound(self) -> Ix | None:
        return None if self.triangle is None else self.triangle[0].minus(self.triangle[1])

    def _triangle(self) -> tuple[Ix, Ix] | None:
        """Return (e, f) such that the entry vanishes unless e ≥ f, and note the law; None for other matrices."""
        ordered = self._vanishes_below()
        if ordered is not None:
            applied(Law.TRIANGULAR)
        return ordered

    def _vanishes_below(self) -> tuple[Ix, Ix] | None:
        """Return (e, f) such that the entry vanishes unless e ≥ f; None where the matrix is not triangular by form.

        A Cholesky factor is lower triangular, the factor R of a QR decomposition upper triangular, and an inverse as
        the matrix that is inverted.
        """
        i, j = self.index
        if self.name == "cholesky":
            return i, j
        if self.name == "upper factor":
            return j, i
        if self.name == "inverse" and is_triangular(self.body, *self.vars):
            return i, j
        if self.name == "inverse" and is_triangular(self.body, *self.vars[::-1]):
            return j, i
        return None


def is_triangular(body: Poly, row: Var, column: Var) -> bool:
    """Return whether the term vanishes where row < column, by its form."""
    return all(any(_confines(a, row, column) for a, _ in mono) for mono in body)


def _confines(a: Atom, row: Var, column: Var) -> bool:
    """Return whether the atom vanishes where row < column.

    It does if it is [row − column + s ≥ 0] with s ≤ 0, [row = column], or an entry of a triangular matrix at (row,
    column).
    """
    if isinstance(a, (IxPred, IxEq)):
        slope = a.ix.coefficient(row), a.ix.coefficient(column)
        right = slope == (1, -1) or (isinstance(a, IxEq) and slope == (-1, 1))
        shift = a.ix.const.constant()
        return (
            right
            and len(a.ix.terms) == 2
            and shift is not None
            and (shift <= 0 if isinstance(a, IxPred) else shift == 0)
        )
    if isinstance(a, Matrix) and a.triangle is not None:
        return [ix.variable() for ix in a.triangle] == [row, column]
    return False


class Carry(NamedTuple):
    """One value that a loop carries from step to step.

    `ranges` are the sizes of its axes, `init` its entry at time 0, and `step` its entry at time s + 1, from the carries
    at time s. Both terms are over bound variables: `("b", level, 0)` is s, `("b", level, 1 + k)` the index along axis k
    (which is the constant 0 where the axis has size 1). `step` reads the carries at s as entries, by (s, index), of
    tensors that `carried(level, k)` names.
    """

    ranges: tuple[Poly, ...]
    init: Poly
    step: Poly


CARRY = "κ"
"""First letter of the names of carries."""


def carried(level: int, position: int) -> str:
    """Return the name of the tensor as which a step reads a carry. (No identifier of a user has a dot.)"""
    return f"{CARRY}{level}.{position}"


class Loop(Holder):
    """The carries of one loop, which depend on each other through their steps. The number of steps is no part of it.

    `level` is that of the bound variables of the carries, above all levels inside; `free` are all other variables.
    """

    __slots__ = ("carries", "free", "key", "level", "piecewise", "structured")

    def __init__(self, carries: tuple[Carry, ...]) -> None:
        self.carries = carries
        terms = [p for c in carries for p in (c.init, c.step)]
        self.level = 1 + max(p.level for p in terms)
        bound = {("b", self.level, k) for k in range(1 + max(len(c.ranges) for c in carries))}
        self.free = frozenset().union(*(p.free for p in terms)) - bound
        text = ";".join(f"{','.join(n.key for n in c.ranges)}|{c.init.key}|{c.step.key}" for c in carries)
        self.key = f"#loop{self.level}#{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
        self.piecewise = any(p.piecewise for p in terms)
        self.structured = any(p.structured for p in terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Rec(Atom):
    """An entry of a value that a loop carries, at a time: `c[time][index]`."""

    __slots__ = ("index", "loop", "position", "time")

    def __init__(self, loop: Loop, position: int, time: Ix, index: tuple[Ix, ...]) -> None:
        self.loop, self.position, self.time, self.index = loop, position, time, index
        places = (time, *index)
        key = f"{loop.key}.{position}@{','.join(ix.key for ix in places)}"
        free = loop.free | frozenset(v for ix in places for v in ix.free)
        structured = loop.structured or any(ix.key and ix.variable() is None for ix in places)
        self._finish(key, free, loop.level, False, loop.piecewise, structured)

    def parts(self) -> list[Poly]:
        return [p for c in self.carries for p in (c.init, c.step)]

    @property
    def carries(self) -> tuple[Carry, ...]:
        return self.loop.carries


def in_lanes(a: Atom) -> bool:
    """Return whether the atom may differ between the lanes of a selection: a predicate stands in it outside of carries.

    A predicate inside a loop does not count: a selection around the loop does not decide what its steps choose, so that
    the loop's value is the same number in every lane.
    """
    if not a.piecewise or isinstance(a, Rec):
        return False
    return type(a) in PREDICATES or any(in_lanes(b) for p in a.parts() for mono in p for b, _ in mono)
