"""Sizes such that claims hold at all if they hold there, by the theorem of docs/exact.md; programs with weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from certgrad.language import tree as t
from certgrad.specification.program import Defined, Program, Tensor, with_entries

from ._free import Free
from ._index import NoTheoremError, Scope, TogetherError, length_at, lies_along, line_of
from ._places import Places
from ._programs import Programs
from ._width import NOTHING, FirstError, SizeQuestions, sum_widths
from ._widths import Widths

LARGEST = 160
"""The most entries that an input or output may have at the sizes that are evaluated."""
IN_ALL = 7_000
"""The most entries of the largest input or output, added over all choices of sizes."""


def enough(programs: Programs, free: bool = False) -> list[dict[str, int]]:
    """Return choices of sizes: claims that hold at all of these, with weights, hold at every size (theorems 2 and 3 of
    docs/exact.md). Raises NoTheoremError.

    A weight is a free variable in front of each summand with one index. A line is a set of sizes that are bounded
    together, as one axis is their sum or places along them are compared. Lines are bounded one after the other, as a
    bound may use those before it: after `FirstError` another line is tried first, and after `TogetherError` two lines
    are joined and all bounds are found anew. Along a size where places are compared, all numbers up to the bound are
    among the choices. With `free`, how numbers compare is a free number.
    """
    tensors = (*programs.forward.inputs, *programs.forward.outputs)
    lengths = [n for tensor in tensors for n in tensor.shape if not isinstance(n, t.Integer)]
    sizes = dict.fromkeys(name for n in lengths for name in sorted(line_of(n)))
    lines = [frozenset({size}) for size in sizes]
    for n in lengths:
        lines = _together(lines, line_of(n))
    bounded: dict[frozenset[str], list[dict[str, int]]] = {}
    while unbounded := [line for line in lines if line not in bounded]:
        fixed = {size: max(choice[size] for choice in some) for some in bounded.values() for size in some[0]}
        for line in unbounded:
            try:
                bounded[line] = _enough(programs, SizeQuestions(line, frozenset(sizes), fixed, free))
                break
            except FirstError:
                continue
            except TogetherError as error:
                lines, bounded = _together(lines, error.sizes), {}
                break
        else:
            raise NoTheoremError("sums along two axes are divided by sums along the other")
    choices = [{size: n for part in parts for size, n in part.items()} for parts in product(*bounded.values())]
    choices = [choice for choice in choices if all(length_at(n, choice) >= 0 for n in lengths)]
    counts = [max(prod(length_at(n, choice) for n in x.shape) for x in tensors) for choice in choices]
    if max(counts, default=0) > LARGEST or sum(counts) > IN_ALL:
        raise NoTheoremError(f"it would have to be evaluated at {max(counts)} entries, and in all at {sum(counts)}")
    return choices


def _together(lines: Sequence[frozenset[str]], sizes: frozenset[str]) -> list[frozenset[str]]:
    """Return the lines, with those that hold any of these sizes joined to one."""
    joined = sizes.union(*(line for line in lines if line & sizes))
    return [*(line for line in lines if not line & sizes), joined]


def _enough(programs: Programs, asked: SizeQuestions) -> list[dict[str, int]]:
    """Return choices of the sizes of one line, by the largest degree of a claim in their weights.

    So many indices are named by a monomial of the claim (D in theorem 2 of docs/exact.md). While the widths of both
    sides are found, `asked` collects what else needs indices, such as arguments of functions.
    """
    forward = programs.forward

    def free_indices(scope: Scope) -> int:
        return sum(lies_along(length, asked.line) for length in scope.values())

    forward_widths = Widths(
        forward, "forward", asked, programs.above_0(forward), [forward.inputs[k].name for k in programs.moving]
    )
    outputs = [forward_widths.output(k) for k in range(len(forward.outputs))]
    degree = Fraction(0)
    for name in ("primal", "reference"):
        if (program := getattr(programs, name)) is not None:
            rule_widths = Widths(program, name, asked, programs.above_0(program))
            for k, ((value, _), scope) in enumerate(outputs):
                degree = max(degree, (value + rule_widths.output(k)[0][0]).top + free_indices(scope))
    if programs.jvp is not None:
        rule_widths = Widths(programs.jvp, "jvp", asked, programs.above_0(programs.jvp))
        for k, ((_, slope), scope) in enumerate(outputs):
            degree = max(degree, ((slope or NOTHING) + rule_widths.output(k)[0][0]).top + free_indices(scope))
    if programs.vjp is not None:
        rule_widths = Widths(programs.vjp, "vjp", asked, programs.above_0(programs.vjp))
        # Both sides are one number, ⟨cotangents, tangents⟩: a sum over all entries of the arrays.
        parts = [forward_widths.whole(slope, scope) for (_, slope), scope in outputs if slope is not None]
        cotangents = [rule_widths.output(k) for k in range(len(programs.vjp.outputs))]
        total = sum_widths([*parts, *(rule_widths.whole(value, scope) for (value, _), scope in cotangents)])
        degree = max(degree, total.top if total is not None else Fraction(0))
    choices = asked.enough(degree, [n for p in _programs(programs) for n in _lengths(p)])
    if len(asked.extrema) > 1 and (asked.span or asked.ordered):
        # They belong to whole axes, which weights do not shorten: along two sizes that are evaluated at one number they
        # are equal, and where places are compared they can differ at others.
        raise NoTheoremError("extrema along axes of several lengths, along which places are compared")
    return choices


# --- the programs with weights


def weight(length: t.Node) -> str:
    """Return the name of the input that holds the weights of the indices of axes of a length."""
    return f"weight {length!r}"


def total(size: str) -> str:
    """Return the name of the input that holds the sum of a size's weights, in place of the size as a number."""
    return f"total {size}"


def reindexed_programs(programs: Programs) -> Programs:
    """Return the programs with each entry read at indices of its own axes (`_places.py`). Raises NoTheoremError."""
    return _map_programs(programs, lambda program: Places(program).changed())


def _programs(programs: Programs) -> list[Program]:
    every = (programs.forward, programs.vjp, programs.jvp, programs.primal, programs.reference)
    return [program for program in every if program is not None]


def _map_programs(programs: Programs, change: Callable[[Program], Program], **fields: Any) -> Programs:
    originals = {name: getattr(programs, name) for name in ("forward", "vjp", "jvp", "primal", "reference")}
    changed: dict[str, Any] = {name: None if p is None else change(p) for name, p in originals.items()}
    return replace(programs, **changed, **fields)


def _lengths(program: Program) -> set[t.Node]:
    """Return the lengths of a program's axes and sums that depend on sizes."""
    shapes = [tensor.shape for tensor in (*program.inputs, *program.outputs)]
    nodes = (n for d in program.definitions if isinstance(d, Defined) for n in t.walk(d.entry))
    ranges = [n.size for n in nodes if isinstance(n, t.Range)]
    return {n for of in (*shapes, ranges) for n in of if not isinstance(n, t.Integer)}


def weighted(program: Program, lengths: Sequence[t.Node], sizes: Iterable[str], free: bool = False) -> Program:
    """Return the program with Σ_i w_i·f(i) for every Σ_i f(i) over axes of these lengths, and Σ_i w_i for a size.

    One size then stands for all (docs/exact.md). The weights, and their sums for `sizes`, are inputs after the others.
    `free`: comparisons of real numbers become numbers with free signs (`Free`).
    """
    widths = Widths(program, "", SizeQuestions(frozenset(), frozenset(), {}))

    def number(x: t.Node) -> t.Node:
        """Return a polynomial in sizes with the sums of their weights in the place of the sizes."""
        if isinstance(x, t.Size):
            return t.SortedEntry(total(x.name), (), "real")
        return t.Number(str(x.value)) if isinstance(x, t.Integer) else t.mapped(x, number)

    def changed(x: t.Node) -> t.Node:
        """Return an expression with weights in its sums, from the inside out."""
        if isinstance(x, t.ToReal) and (counted := widths.counted(x.operand)) is not None:
            return number(counted)
        rewritten = t.mapped(x, changed)
        if free:
            rewritten = Free(widths.made, changed).number(rewritten)
        if not isinstance(rewritten, t.Fold) or rewritten.kind != "sum":
            return rewritten
        weights = [t.SortedEntry(weight(r.size), (t.Index(r.variable),), "real")
                for r in rewritten.over if not isinstance(r.size, t.Integer)]  # fmt: skip
        return t.Fold("sum", rewritten.over, t.Mul((*weights, rewritten.body)), rewritten.where)

    weight_inputs = [
        *(Tensor(weight(n), (n,), "real") for n in lengths),
        *(Tensor(total(n), (), "real") for n in sizes),
    ]
    definitions = with_entries(program.definitions, changed)
    return replace(program, inputs=(*program.inputs, *weight_inputs), definitions=definitions)


def with_weights(programs: Programs, sizes: Mapping[str, int], free: bool = False) -> Programs:
    """Return the programs with weights, at these sizes."""
    open_lengths = {n for p in _programs(programs) for n in _lengths(p)} | {t.Size(name) for name in sizes}
    lengths = {n: length_at(n, sizes) for n in sorted(open_lengths, key=repr)}
    return _map_programs(
        programs, lambda program: weighted(program, [*lengths], sizes, free), sizes=sizes, free=free, lengths=lengths
    )
