"""Integers of a program as sums of indices, sizes and data; comparisons of places along an axis."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from certgrad.language import tree as t
from certgrad.language.relations import SWAPPED

Form = Mapping[t.Node, int]
"""An integer as a linear combination: the coefficients of indices, sizes, entries of integer inputs, and of 1."""
ONE = t.Integer(1)
Scope = Mapping[str, t.Node]
"""The lengths of the axes along which index variables run."""


class NoTheoremError(Exception):
    """The theorem is not about such programs. The message says why."""


class TogetherError(Exception):
    """Places along axes of several sizes are compared, so that the sizes have to be bounded together."""

    def __init__(self, sizes: frozenset[str]) -> None:
        super().__init__()
        self.sizes = sizes


def plus(one: Form, other: Form, times: int = 1) -> Form:
    """Return `one` plus `times` times `other`, without summands that cancel."""
    out = {**one}
    for atom, n in other.items():
        out[atom] = out.get(atom, 0) + times * n
    return {atom: n for atom, n in out.items() if n}


def node(form: Form) -> t.Node:
    """Return the form as an expression, the same for equal forms."""
    parts: list[t.Node] = []
    for atom, n in sorted(form.items(), key=lambda p: (p[0] == ONE, repr(p[0]))):
        parts.append(t.Integer(n) if atom == ONE else atom if n == 1 else t.Mul((t.Integer(n), atom)))
    return t.Integer(0) if not parts else parts[0] if len(parts) == 1 else t.Add(tuple(parts))


@dataclass(frozen=True)
class Gap:
    """The difference of two places along an axis, or of a place and an end of the axis, that is compared with 0."""

    sizes: frozenset[str]
    """The sizes of the axes; empty where the difference names no size and no index."""
    data: frozenset[str]
    """The integer inputs whose entries are summands of the difference."""
    alone: bool
    """Whether one entry of one input is a summand, once, and no other entry is."""
    orders: bool
    """Whether two indices are compared by their order."""
    span: int
    """The difference is compared with numbers below this one; 0 where two places are only said to be the same, up to a
    multiple of the size, or a place to be between two of its multiples."""
    mirrored: bool
    """Whether the two places are counted from different ends of the axis."""
    parts: tuple[Part, ...]
    """The summands: a coefficient, the name of a size or an index, and the sizes of an index's axis."""


Part = tuple[int, str, frozenset[str]]
WITH_DATA = {*(((1,), (), whole) for whole in (-1, 0, 1)), ((1,), (-1,), 0), ((1,), (-1,), 1)}
"""The coefficients of data, of indices, and of the size that a difference may have along one size, up to a sign."""
WITHOUT: set[tuple[int, ...]] = {(), (1,), (1, -1)}
"""The coefficients of indices that a difference may have without data, beside any multiple of the size."""


def gap(form: Form, relation: t.Relation, scope: Scope) -> Gap:
    """Return what a comparison of the form with 0 says of places. Raises NoTheoremError for other arithmetic.

    Indices of axes whose length is a number count as a constant: the largest number that they add.
    """
    constant, size_coefficient = abs(form.get(ONE, 0)), 0
    data, indices, parts = [], [], list[Part]()
    for atom, n in form.items():
        length = scope[atom.name] if isinstance(atom, t.Index) else atom
        if isinstance(atom, t.Index) and isinstance(length, t.Integer):
            constant += abs(n) * max(0, length.value - 1)
        elif isinstance(atom, t.Index):
            indices.append(n)
            parts.append((n, atom.name, line_of(length)))
        elif isinstance(atom, t.Size):
            size_coefficient += n
            parts.append((n, atom.name, frozenset()))
        elif isinstance(atom, t.Entry):
            data.append(n)
    inputs = frozenset(atom.name for atom in form if isinstance(atom, t.Entry))
    sizes = frozenset[str]().union(*(of or {name} for _, name, of in parts))
    sign = -1 if (data or sorted(indices, reverse=True) or [size_coefficient])[0] < 0 else 1
    coefficients = (
        *(tuple(sorted((sign * n for n in of), reverse=True)) for of in (data, indices)),
        sign * size_coefficient,
    )
    no_multiples = not any(
        map(is_multiple, (part for a in form if isinstance(a, t.Index) for part in terms_of(scope[a.name])))
    )
    mirrored = no_multiples and coefficients == ((), (1, 1), -1)
    if not (
        mirrored
        or (no_multiples and coefficients in WITH_DATA)
        or (not data and (len(sizes) > 1 or coefficients[1] in WITHOUT))
    ):
        raise NoTheoremError("there is arithmetic on indices")
    equal, offset = relation in ("=", "!="), sign * form.get(ONE, 0)
    cut = offset - 1 if (relation if sign > 0 else SWAPPED[relation]) in ("<=", ">") else offset
    """The comparison says that the places differ by less than −cut, or that they do not."""
    # Neither the order of two indices nor a comparison with an end of the axis needs a bound on how far places differ.
    points = len(data) + len(indices)
    orders = points == 2 and not data and not size_coefficient and not equal
    simple = (orders or (points == 2 and equal and not mirrored)) and not constant
    at_an_end = points == 1 and not equal and not cut and constant == abs(offset)
    span = 0 if simple or at_an_end else constant + 1
    return Gap(sizes, inputs, data in ([1], [-1]), simple and orders, span, mirrored, tuple(parts))


def terms_of(x: t.Node) -> tuple[t.Node, ...]:
    """Return the summands of an expression."""
    return x.terms if isinstance(x, t.Add) else (x,)


def line_of(length: t.Node) -> frozenset[str]:
    """Return the sizes in the length of an axis: those of m + n + c, or the one of k·n + c, for numbers c and k > 0.

    Raises NoTheoremError for any other length.
    """
    parts = [part for part in terms_of(length) if not isinstance(part, t.Integer)]
    sizes = [part.name for part in parts if isinstance(part, t.Size)]
    match parts:
        case [t.Mul(factors=(t.Integer(value=n), t.Size(name=name)))] if n > 0:
            return frozenset({name})
        case [_, *_] if len(sizes) == len(parts):
            return frozenset(sizes)
    raise NoTheoremError("there is arithmetic on sizes")


def is_multiple(x: t.Node) -> bool:
    """Return whether a summand of a length is a size times a number."""
    return isinstance(x, t.Mul)


def beyond(length: t.Node) -> int:
    """Return |c| of an axis of length n + c; 0 where no number is added."""
    return sum(abs(part.value) for part in terms_of(length) if isinstance(part, t.Integer))


def lies_along(length: t.Node, line: frozenset[str]) -> bool:
    """Return whether the length of an axis has one of these sizes in it."""
    return not isinstance(length, t.Integer) and bool(line_of(length) & line)


def laid_out(parts: Collection[tuple[Part, ...]], sizes: Collection[str]) -> Mapping[str, str] | None:
    """Return, for each size, the size that it is laid behind on a line, "" for one at the beginning of the line.

    The layout is one in which everything compared is the difference of two points of the line: indices, ends of sizes
    and the beginning. Return None if there is no such layout.
    """
    for choice in product(("", *sizes), repeat=len(sizes)):
        behind = dict(zip(sizes, choice, strict=True))
        if all(len(before(size, behind)) < len(sizes) for size in sizes):  # there is no circle
            if all(_is_difference(difference, behind) for difference in parts):
                return behind
    return None


def before(size: str, behind: Mapping[str, str]) -> list[str]:
    """Return the sizes in front of a size on the line, the nearest first."""
    out: list[str] = []
    while (size := behind[size]) and len(out) < len(behind):
        out.append(size)
    return out


def _is_difference(parts: tuple[Part, ...], behind: Mapping[str, str]) -> bool:
    """Return whether a sum of sizes and indices is the difference of two points of the line in this layout.

    A size is its end minus its beginning; an index is its point minus the beginning of its axis.
    """
    total: dict[tuple[bool, str], int] = {}
    for n, name, line in parts:
        first = name
        if line:
            chain = sorted(line, key=lambda size: len(before(size, behind)))
            if any(behind[after] != size for size, after in pairwise(chain)):
                return False
            first = chain[0]
        for end, times in (((bool(line), name), n), ((False, behind[first]), -n)):
            total[end] = total.get(end, 0) + times
    coefficients = sorted(n for (_, name), n in total.items() if n and name)
    return coefficients in ([], [1], [-1], [-1, 1])


def length_at(x: t.Node, sizes: Mapping[str, int]) -> int:
    """Return the number that a length is at these sizes."""
    match x:
        case t.Size(name=name):
            return sizes[name]
        case t.Integer(value=value):
            return value
        case t.Mul(factors=factors):
            return prod(length_at(part, sizes) for part in factors)
    return sum(length_at(part, sizes) for part in terms_of(x))
