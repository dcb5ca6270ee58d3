"""The families of shapes at which a case of an op is traced, so that together they cover all shapes.

A star group (`*s` in a signature: any number of axes) is proved as one axis and at rank 0, and compared at other ranks
up to 4, users' code up to 6. `ranks` says why equality of the collapsed programs is enough; where an op whose code does
not depend on ranks acts on each entry alone, the highest rank stands for those between. Arguments that broadcast are
proved at every form of each axis: same, of size 1, absent. All of these families are traced; `covered` says which need
no proof of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from certgrad._subject import Subject
from certgrad.obligations.prove.problem import Shapes
from certgrad.obligations.tracing.jax_internals import symbols
from certgrad.signatures.cases import Case, at_sizes, names_in
from certgrad.signatures.signature import Signature
from certgrad.signatures.sizes import ONE, Size, Star, integer_size, named_size

from .rank_blind import traced_every_time


@dataclass(frozen=True)
class Instance:
    """One family of shapes: how each argument's axes are named, and the structural arguments.

    `groups` gives the axes of each star group. A structural argument may be a size, or hold sizes (`SizeOf`): it is a
    number only once the dimensions are.
    """

    inputs: tuple[tuple[Size, ...], ...]
    dtypes: tuple[str, ...]
    statics: dict[str, Any]
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    label: str = ""
    exact: tuple[str, ...] = ()
    """The dtype that the signature names for each argument, "" where it names none; () if it names none at all."""
    shared: bool = False
    """Whether JAX's caches may serve the trace (see `symbols`)."""

    @property
    def names(self) -> list[str]:
        """Return the dimension variables, in order of appearance."""
        in_shapes = [n for shape in self.inputs for size in shape for n in size.names]
        return list(dict.fromkeys([*in_shapes, *names_in(tuple(self.statics.values()))]))

    def shapes(self, fixed: Mapping[str, Size] | None = None) -> Shapes:
        """Return the shapes over fresh symbols; `fixed` sets dimensions to other sizes."""
        fixed = fixed or {}
        used = [n for v in fixed.values() for n in v.names]
        free = list(dict.fromkeys([*(n for n in self.names if n not in fixed), *used]))
        table: dict[str, Any] = dict(symbols(free, shared=self.shared))
        table |= {n: v.evaluate(table) for n, v in fixed.items()}
        inputs = tuple(tuple(size.evaluate(table) for size in shape) for shape in self.inputs)
        return Shapes(inputs, self.dtypes, self.keywords(table), self.exact)

    def at(self, sizes: Mapping[str, int]) -> Instance:
        """Return the member of the family at these sizes."""
        numbers = {name: integer_size(k) for name, k in sizes.items()}
        inputs = tuple(tuple(size.at(numbers) for size in shape) for shape in self.inputs)
        return replace(self, inputs=inputs, statics=self.keywords(sizes))

    def keywords(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the structural arguments when the dimensions have these values."""
        return {name: at_sizes(value, sizes) for name, value in self.statics.items()}


BEYOND = [(5,), (6,)]
"""Ranks of star groups at which users' code is compared as well: a search of it for uses of ranks can miss one."""


@dataclass(frozen=True)
class Family:
    """The instances of one case: those to prove, and those to compare with a proved one.

    The first to prove is the general one, on which decisions on dimensions and dtypes are examined.
    """

    prove: list[Instance]
    compare: list[Instance]
    """The instances whose programs must collapse to those of a proved one, or be proved themselves."""
    ranked: str = ""
    """The ranks at which the case is traced, in words; "" where it has no star groups and does not broadcast."""
    located: tuple[str, ...] = ()
    """The structural arguments that are axis positions."""


def family(op: Subject, case: Case) -> Family:
    """Return all instances of a case, with JAX's caches used for their traces where no code of the op's is cached."""
    instances = _family(op, case)
    if op.suspects_library or not traced_every_time(op):
        return instances
    prove = [replace(i, shared=True) for i in instances.prove]
    compare = [replace(i, shared=True) for i in instances.compare]
    return replace(instances, prove=prove, compare=compare)


def _family(op: Subject, case: Case) -> Family:
    """Return the shapes at which a case is proved and compared: each group of star axes at several ranks."""
    if op.broadcast:
        prove = list(_broadcast_instances(case))
        shapes = (", ".join(" ".join(map(str, shape)) or "scalar" for shape in i.inputs) for i in prove)
        return Family(prove, [], f"broadcast at {'; '.join(shapes)}")
    stars = case.signature.stars
    general = _ranked(case, dict.fromkeys(stars, 1))
    prove = [general]
    compare: list[Instance] = []
    # Rank 0: each group alone, and all of them.
    for absent in dict.fromkeys([*((s,) for s in stars), stars]) if stars else ():
        prove.append(_ranked(case, {s: 0 if s in absent else 1 for s in stars}))
    # With two groups the number of axes runs through every value up to that of rank 2.
    higher: list[tuple[int, ...]] = (
        [(2,), (3,), (4,)] if len(stars) == 1 else [(2, 1), (1, 2), (3, 0), (0, 3), (2, 2), (4, 4)]
    )
    if len(stars) > 2:
        higher = [(2,), (4,)]
    if not op.is_op:
        higher += BEYOND
    for ranks in higher if stars else ():
        rank_of = {
            s: ranks[min(k, len(ranks) - 1)] for k, s in enumerate(stars)
        }  # the last rank is for all further ones
        compare.append(_ranked(case, rank_of))
    shown = sorted({tuple(len(i.groups[s]) for s in stars) for i in [*prove, *compare]})
    shown_ranks = ", ".join(str(r[0]) if len(r) == 1 else str(r) for r in shown)
    # Structural arguments that are positions of axes: code that reads these depends on the rank.
    located = tuple(k for k, v in case.statics.items() if hasattr(v, "position"))
    return Family(
        prove, compare, f"ranks {shown_ranks} of {', '.join(f'*{s}' for s in stars)}" if stars else "", located
    )


def _ranked(case: Case, ranks: Mapping[str, int]) -> Instance:
    """Return the instance of a case in which the star groups have these ranks.

    Structural arguments that are axis positions count from the left, as a call makes them.
    """
    signature = case.signature
    groups = {s: ((s,) if r == 1 else tuple(f"{s}_{k}" for k in range(r))) for s, r in ranks.items()}
    inputs = []
    for spec in signature.inputs:
        shape: list[Size] = []
        for dim in spec.dims:
            shape.extend(map(named_size, groups[dim.name]) if isinstance(dim, Star) else [dim])
        inputs.append(tuple(shape))
    label = ", ".join(f"*{s} of rank {r}" for s, r in ranks.items())
    statics = {k: v.position(signature, ranks) if hasattr(v, "position") else v for k, v in case.statics.items()}
    dtypes = tuple(spec.dtype for spec in signature.inputs)
    return Instance(tuple(inputs), dtypes, statics, groups, label, _exact(signature))


def _exact(signature: Signature) -> tuple[str, ...]:
    exact = tuple(spec.exact for spec in signature.inputs)
    return exact if any(exact) else ()


FULL, SINGLE, ABSENT = "full", "size 1", "absent"


def _broadcast_instances(case: Case) -> Iterator[Instance]:
    """Yield every form of one axis, then mixed forms of several axes, which show that axes are treated one by one.

    A form says for each argument whether it has the axis in full, in size 1, or not at all: of two arguments
    `(FULL, SINGLE)` is the shapes n and 1.
    """
    count = len(case.signature.inputs)
    dtypes = tuple(spec.dtype for spec in case.signature.inputs)

    def instance(*axes: tuple[str, ...]) -> Instance:
        names = [*map(named_size, "nmklpq")]
        columns = [[axis[k] for axis in axes] for k in range(count)]
        inputs = tuple(
            tuple(names[a] if form == FULL else ONE for a, form in enumerate(column) if form != ABSENT)
            for column in columns
        )
        label = "; ".join(" × ".join(axis) for axis in axes) or "scalars"
        return Instance(inputs, dtypes, dict(case.statics), {}, label, _exact(case.signature))

    same = (FULL,) * count
    kinds = (FULL, SINGLE, ABSENT)
    # Some argument has the axis in full, and none lacks it where another has it in size 1.
    forms = [f for f in product(kinds, repeat=count) if FULL in f and not (SINGLE in f and ABSENT in f)]
    single = [f for f in forms if f.count(SINGLE) == 1 and ABSENT not in f]
    absent = [f for f in forms if f.count(ABSENT) == 1 and SINGLE not in f]
    yield instance(same)
    yield instance()
    for f in forms:
        if f != same:
            yield instance(f)
    # An absent axis is a leading one. Two axes of different forms show that axes are treated one by one.
    for f in absent:
        yield instance(f, f)
    for k, f in enumerate((*absent, *single)):
        yield instance(f, single[(k + 1) % count])
    yield instance(absent[0], same)
    yield instance(same, single[0])
