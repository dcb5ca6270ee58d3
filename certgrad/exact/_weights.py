"""Sizes such that claims hold at all if they hold there, by the theorem of docs/exact.md; programs with weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil, prod
from typing import Any

from certgrad.language import tree as t
from certgrad.specification.program import Defined, Program, Tensor

from ._free import Free
from ._programs import Programs
from ._width import NOTHING, FirstError, NoTheoremError, SizeQuestions, added
from ._widths import Scope, Widths

LARGEST = 160
"""Entries of an array, at most, at the sizes that the theorem asks for; beyond, it is not applied."""


def enough(programs: Programs, free: bool = False) -> dict[str, int]:
    """Return sizes such that claims hold at all sizes if they hold at these, with weights. Raises NoTheoremError.

    With `free`, the outcome of a comparison of numbers counts as a free number.
    """
    tensors = (*programs.forward.inputs, *programs.forward.outputs)
    lengths = [n for tensor in tensors for n in tensor.shape]
    if not all(isinstance(n, t.Size | t.Integer) for n in lengths):
        raise NoTheoremError("there is arithmetic on sizes")
    found: dict[str, int] = {}
    sizes = dict.fromkeys(n.name for n in lengths if isinstance(n, t.Size))
    while left := [size for size in sizes if size not in found]:
        before = len(found)
        for size in left:
            with suppress(FirstError):
                found[size] = _enough(programs, SizeQuestions(size, frozenset(sizes), dict(found), free))
                break
        if len(found) == before:
            raise NoTheoremError("sums along two axes are divided by sums along the other")
    counts = [prod(found.get(n.name, 1) for n in x.shape if isinstance(n, t.Size)) for x in tensors]
    if max(counts, default=0) > LARGEST:
        raise NoTheoremError(f"it would have to be evaluated at {max(counts)} entries")
    return found


def _enough(programs: Programs, asked: SizeQuestions) -> int:
    """Return a value of the size such that the claims hold at all values if they hold at this one.

    It is the largest number of the size's indices in a monomial of a claim, with the places that tell apart the
    arguments of functions (docs/exact.md).
    """
    forward = programs.forward

    def free(scope: Scope) -> int:
        return sum(length == t.Size(asked.size) for length in scope.values())

    own = Widths(
        forward, "forward", asked, programs.above_0(forward), [forward.inputs[k].name for k in programs.moving]
    )
    values = [own.output(k) for k in range(len(forward.outputs))]
    most = Fraction(0)
    for name in ("primal", "reference"):
        if (program := getattr(programs, name)) is not None:
            other = Widths(program, name, asked, programs.above_0(program))
            for k, ((value, _), scope) in enumerate(values):
                most = max(most, (value + other.output(k)[0][0]).top + free(scope))
    if programs.jvp is not None:
        other = Widths(programs.jvp, "jvp", asked, programs.above_0(programs.jvp))
        for k, ((_, slope), scope) in enumerate(values):
            most = max(most, ((slope or NOTHING) + other.output(k)[0][0]).top + free(scope))
    if programs.vjp is not None:
        other = Widths(programs.vjp, "vjp", asked, programs.above_0(programs.vjp))
        parts = [own.whole(slope, scope) for (_, slope), scope in values if slope is not None]
        found = [other.output(k) for k in range(len(programs.vjp.outputs))]
        total = added([*parts, *(other.whole(value, scope) for (value, _), scope in found)])
        most = max(most, total.top if total is not None else Fraction(0))
    places = ceil(most) + 1 if asked.ordered else 1
    return max(1, ceil(most) + places * asked.apart)


# --- the programs with weights


def weight(size: str) -> str:
    """The name of the weights of a size's indices."""
    return f"weight {size}"


def total(size: str) -> str:
    """The name of their sum, in place of the size as a number."""
    return f"total {size}"


def weighted(program: Program, sizes: Iterable[str], free: bool = False) -> Program:
    """Return the program in which sums over these sizes have a weight for each index, and the weights' sum stands for
    the size.

    The weights and their sum are its last inputs.
    """
    read = Widths(program, "", SizeQuestions("", frozenset(), {}))

    def number(x: t.Node) -> t.Node:
        if isinstance(x, t.Size):
            return t.SortedEntry(total(x.name), (), "real")
        return t.Number(str(x.value)) if isinstance(x, t.Integer) else t.mapped(x, number)

    def changed(x: t.Node) -> t.Node:
        if isinstance(x, t.ToReal) and (counted := read.counted(x.operand)) is not None:
            return number(counted)
        new = t.mapped(x, changed)
        if free:
            new = Free(read.made, changed).number(new)
        if not isinstance(new, t.Fold) or new.kind != "sum":
            return new
        each = [t.SortedEntry(weight(r.size.name), (t.Index(r.variable),), "real")
                for r in new.over if isinstance(r.size, t.Size)]  # fmt: skip
        return t.Fold("sum", new.over, t.Mul((*each, new.body)), new.where)

    more = [tensor for n in sizes for tensor in (Tensor(weight(n), (t.Size(n),), "real"), Tensor(total(n), (), "real"))]
    definitions = tuple(
        replace(d, entry=changed(d.entry)) if isinstance(d, Defined) else d for d in program.definitions
    )
    return replace(program, inputs=(*program.inputs, *more), definitions=definitions)


def with_weights(programs: Programs, sizes: Mapping[str, int], free: bool = False) -> Programs:
    """The programs with weights, at these sizes."""
    found: dict[str, Any] = {}
    for name in ("forward", "vjp", "jvp", "primal", "reference"):
        program = getattr(programs, name)
        found[name] = None if program is None else weighted(program, sizes, free)
    return replace(programs, sizes=sizes, free=free, **found)
