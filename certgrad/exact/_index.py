"""Integers of a program as sums of indices, sizes and data; places along an axis, and what is compared of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from certgrad.language import tree as t
from certgrad.language.relations import SWAPPED

Form = Mapping[t.Node, int]
"""An integer: how often indices, sizes and entries of inputs are summands of it, and 1."""
ONE = t.Integer(1)
Scope = Mapping[str, t.Node]
"""The sizes to which index variables run."""


class NoTheoremError(Exception):
    """The theorem is not about such programs. The message says why."""


class TogetherError(Exception):
    """Places along these sizes are compared with one another."""

    def __init__(self, sizes: frozenset[str]) -> None:
        super().__init__()
        self.sizes = sizes


def plus(one: Form, other: Form, times: int = 1) -> Form:
    """The sum of one and a multiple of the other."""
    out = {**one}
    for atom, n in other.items():
        out[atom] = out.get(atom, 0) + times * n
    return {atom: n for atom, n in out.items() if n}


def node(form: Form) -> t.Node:
    """The form as an expression, equal for equal forms."""
    parts: list[t.Node] = []
    for atom, n in sorted(form.items(), key=lambda p: (p[0] == ONE, repr(p[0]))):
        parts.append(t.Integer(n) if atom == ONE else atom if n == 1 else t.Mul((t.Integer(n), atom)))
    return t.Integer(0) if not parts else parts[0] if len(parts) == 1 else t.Add(tuple(parts))


@dataclass(frozen=True)
class Gap:
    """What is compared with 0: by how much two places along an axis differ, or one and an end of it."""

    sizes: frozenset[str]
    """Of the axes; empty where none is spoken of."""
    data: frozenset[str]
    """The inputs that give a place;"""
    alone: bool
    """one entry of one."""
    orders: bool
    """By order, of two indices;"""
    span: int
    """by numbers below this one; 0 where it is only asked whether two places are the same, but for a multiple of the
    size, or between which multiples of it one is;"""
    mirrored: bool
    """of two places that are counted from different ends."""
    parts: tuple[Part, ...]
    """What is added: how often, a size or an index of an axis along such sizes."""


Part = tuple[int, str, frozenset[str]]
WITH_DATA = {*(((1,), (), whole) for whole in (-1, 0, 1)), ((1,), (-1,), 0), ((1,), (-1,), 1)}
"""How often data, indices and the size may be summands of what is compared along one size, up to a sign."""
WITHOUT: set[tuple[int, ...]] = {(), (1,), (1, -1)}
"""How often indices, whatever multiple of the size is another one."""


def gap(form: Form, relation: t.Relation, scope: Scope) -> Gap:
    """How the form compares with 0. Raises NoTheoremError."""
    constant, whole = abs(form.get(ONE, 0)), 0
    data, indices, parts = [], [], list[Part]()
    for atom, n in form.items():
        length = scope[atom.name] if isinstance(atom, t.Index) else atom
        if isinstance(atom, t.Index) and isinstance(length, t.Integer):
            constant += abs(n) * max(0, length.value - 1)
        elif isinstance(atom, t.Index):
            indices.append(n)
            parts.append((n, atom.name, line_of(length)))
        elif isinstance(atom, t.Size):
            whole += n
            parts.append((n, atom.name, frozenset()))
        elif isinstance(atom, t.Entry):
            data.append(n)
    names = frozenset(atom.name for atom in form if isinstance(atom, t.Entry))
    sizes = frozenset[str]().union(*(of or {name} for _, name, of in parts))
    sign = -1 if (data or sorted(indices, reverse=True) or [whole])[0] < 0 else 1
    found = (*(tuple(sorted((sign * n for n in of), reverse=True)) for of in (data, indices)), sign * whole)
    once = not any(map(is_multiple, (part for a in form if isinstance(a, t.Index) for part in terms_of(scope[a.name]))))
    mirrored = once and found == ((), (1, 1), -1)
    if not (mirrored or (once and found in WITH_DATA) or (not data and (len(sizes) > 1 or found[1] in WITHOUT))):
        raise NoTheoremError("there is arithmetic on indices")
    equal, away = relation in ("=", "!="), sign * form.get(ONE, 0)
    cut = away - 1 if (relation if sign > 0 else SWAPPED[relation]) in ("<=", ">") else away
    """The places differ by less than minus this, or they do not."""
    points = len(data) + len(indices)
    orders = points == 2 and not data and not whole and not equal
    simple = (orders or (points == 2 and equal and not mirrored)) and not constant
    within = points == 1 and not equal and not cut and constant == abs(away)
    span = 0 if simple or within else constant + 1
    return Gap(sizes, names, data in ([1], [-1]), simple and orders, span, mirrored, tuple(parts))


def terms_of(x: t.Node) -> tuple[t.Node, ...]:
    return x.terms if isinstance(x, t.Add) else (x,)


def line_of(length: t.Node) -> frozenset[str]:
    """The sizes of which an axis is the sum, or the only one of which it is a multiple, but for a number. Raises
    NoTheoremError."""
    parts = [part for part in terms_of(length) if not isinstance(part, t.Integer)]
    sizes = [part.name for part in parts if isinstance(part, t.Size)]
    match parts:
        case [t.Mul(factors=(t.Integer(value=n), t.Size(name=name)))] if n > 0:
            return frozenset({name})
        case [_, *_] if len(sizes) == len(parts):
            return frozenset(sizes)
    raise NoTheoremError("there is arithmetic on sizes")


def is_multiple(x: t.Node) -> bool:
    """Of a length, a size times a number."""
    return isinstance(x, t.Mul)


def beyond(length: t.Node) -> int:
    """Return |c| of an axis of length n + c; 0 where no number is added."""
    return sum(abs(part.value) for part in terms_of(length) if isinstance(part, t.Integer))


def lies_along(length: t.Node, line: frozenset[str]) -> bool:
    """An axis has one of these sizes in it."""
    return not isinstance(length, t.Integer) and bool(line_of(length) & line)


def laid_out(parts: Collection[tuple[Part, ...]], sizes: Collection[str]) -> Mapping[str, str] | None:
    """Sizes laid behind one another, each behind another or at the beginning, so that all that is compared is the
    difference of two points of a line: indices, ends of sizes and its beginning."""
    for choice in product(("", *sizes), repeat=len(sizes)):
        behind = dict(zip(sizes, choice, strict=True))
        if all(len(before(size, behind)) < len(sizes) for size in sizes):  # there is no circle
            if all(_is_difference(one, behind) for one in parts):
                return behind
    return None


def before(size: str, behind: Mapping[str, str]) -> list[str]:
    """The sizes in front of it, the nearest first."""
    out: list[str] = []
    while (size := behind[size]) and len(out) < len(behind):
        out.append(size)
    return out


def _is_difference(parts: tuple[Part, ...], behind: Mapping[str, str]) -> bool:
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
    left = sorted(n for (_, name), n in total.items() if n and name)
    return left in ([], [1], [-1], [-1, 1])


def length_at(x: t.Node, sizes: Mapping[str, int]) -> int:
    """The number that a length is."""
    match x:
        case t.Size(name=name):
            return sizes[name]
        case t.Integer(value=value):
            return value
        case t.Mul(factors=factors):
            return prod(length_at(part, sizes) for part in factors)
    return sum(length_at(part, sizes) for part in terms_of(x))
