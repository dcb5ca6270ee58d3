"""The families of shapes at which a case of an op is traced, so that together they cover all shapes.

Each star group is traced as one axis and proved there, proved at rank 0, and compared at other ranks up to 4 (`_ranks`
says why equality of the collapsed programs is enough). Arguments that broadcast are proved at every form of each axis:
same, of size 1, absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ._jax_internals import symbols
from ._problem import Shapes


@dataclass(frozen=True)
class Instance:
    """One family of shapes: how each argument's axes are named, and the structural arguments.

    `groups` gives the axes of each star group; `merged` the dimensions set equal to a number or to each other.
    """

    inputs: tuple[tuple[str, ...], ...]
    dtypes: tuple[str, ...]
    statics: dict[str, Any]
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    label: str = ""

    @property
    def names(self) -> list[str]:
        """Dimension variables, in order of appearance."""
        import re

        found = (n for shape in self.inputs for text in shape for n in re.findall(r"[A-Za-z_]\w*", text))
        return list(dict.fromkeys(found))

    def shapes(self, fixed: Mapping[str, int | str] | None = None) -> Shapes:
        """Shapes over fresh symbols; `fixed` sets dimensions to numbers or to other dimensions."""
        fixed = fixed or {}
        free = [n for n in self.names if n not in fixed]
        table: dict[str, Any] = dict(symbols(free))
        for n, value in fixed.items():
            table[n] = value if isinstance(value, int) else table[value]
        return Shapes(tuple(tuple(_size(text, table) for text in shape) for shape in self.inputs), self.dtypes)


def _size(text: str, table: Mapping[str, Any]) -> Any:
    from certgrad.ops._signature import Dim

    return Dim(text).evaluate(table)


@dataclass(frozen=True)
class Family:
    """The instances of one case: those to prove, and those to compare with the one of the same statics.

    The first to prove is the general one, on which decisions on dimensions and dtypes are examined.
    """

    prove: list[Instance]
    compare: list[tuple[Instance, Instance]]
    """Pairs (another instance, the proved instance that it must collapse to)."""


def family(op: Any, case: Any) -> Family:
    """All instances of a case."""
    if op.broadcast:
        return Family(list(_broadcast_instances(case)), [])
    stars = case.signature.stars
    general, *negative = _ranked(case, dict.fromkeys(stars, 1))
    prove = [general]
    compare = [(n, general) for n in negative]
    # Rank 0: each group alone, and all of them.
    for absent in dict.fromkeys([*((s,) for s in stars), stars]) if stars else ():
        prove.append(next(_ranked(case, {s: 0 if s in absent else 1 for s in stars})))
    higher = [(2,), (3,), (4,)] if len(stars) == 1 else [(2, 2), (3, 1), (1, 3), (4, 4)] if stars else []
    for ranks in higher:
        given = {s: ranks[min(k, len(ranks) - 1)] for k, s in enumerate(stars)}
        compare.append((next(_ranked(case, given)), general))
    return Family(prove, compare)


def _ranked(case: Any, ranks: Mapping[str, int]) -> Iterator[Instance]:
    """The case with star groups of these ranks; axes named by position are tried counted from both ends."""
    signature = case.signature
    groups = {s: ((s,) if r == 1 else tuple(f"{s}_{k}" for k in range(r))) for s, r in ranks.items()}
    inputs = []
    for spec in signature.inputs:
        shape: list[str] = []
        for dim in spec.dims:
            shape.extend(groups[dim.name] if hasattr(dim, "text") is False else [dim.text])
        inputs.append(tuple(shape))
    rank = len(inputs[0]) if inputs else 0
    label = ", ".join(f"*{s} of rank {r}" for s, r in ranks.items())
    located = {k: v for k, v in case.statics.items() if hasattr(v, "position")}
    plain = {k: v for k, v in case.statics.items() if k not in located}
    places = {k: v.position(signature.inputs[0], ranks) for k, v in located.items()}
    dtypes = tuple(spec.dtype for spec in signature.inputs)
    yield Instance(tuple(inputs), dtypes, {**plain, **places}, groups, label)
    if located:
        back = {k: tuple(a - rank for a in p) if isinstance(p, tuple) else p - rank for k, p in places.items()}
        yield Instance(tuple(inputs), dtypes, {**plain, **back}, groups, f"{label}, negative axis".strip(", "))


FULL, SINGLE, ABSENT = "full", "size 1", "absent"


def _broadcast_instances(case: Any) -> Iterator[Instance]:
    """Every combination of axis forms at ranks 0 and 1, and pairs of axes at rank 2."""
    count = len(case.signature.inputs)
    dtypes = tuple(spec.dtype for spec in case.signature.inputs)

    def instance(axes: tuple[tuple[str, ...], ...]) -> Instance:
        names = ["n", "m", "k", "l"]
        inputs = tuple(
            tuple(names[a] if form == FULL else "1" for a, form in enumerate(column) if form != ABSENT)
            for column in zip(*axes, strict=True)
        ) if axes else ((),) * count
        label = "; ".join(" × ".join(axis) for axis in axes) or "scalars"
        return Instance(inputs, dtypes, dict(case.statics), {}, label)

    forms = [f for f in product((FULL, SINGLE, ABSENT), repeat=count) if FULL in f]
    inner = [f for f in forms if ABSENT not in f]
    same = (FULL,) * count
    yield instance((same,))
    yield instance(())
    for f in forms:
        if f != same:
            yield instance((f,))
    pairs = [(f, g) for f in forms for g in forms if all(h != ABSENT or e == ABSENT for e, h in zip(f, g, strict=True))]
    for f, g in pairs:
        # An absent axis is a leading one. With three arguments, pairs where one axis is the plain one suffice to show
        # that axes are treated one by one.
        if count == 2 or same in (f, g):
            yield instance((f, g))
    for f in inner:
        if f != same:
            yield instance((f, same, f))
