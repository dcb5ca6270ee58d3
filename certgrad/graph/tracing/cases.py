"""Sizes at which the function may trace to another program than the graph: each is traced again and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from certgrad.errors import CertgradError
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.obligations.generality.decisions import (
    Cases,
    Fixed,
    Sample,
    answered_otherwise,
    contrary,
    has_same_programs,
    simplified,
    together,
)
from certgrad.signatures.sizes import ONE, Size, integer_size, named_size

CASES = 24
"""Choices of sizes at which a function is traced again, at most; further ones are excluded by hypotheses."""
Key = frozenset[tuple[str, Size]]


@dataclass(frozen=True)
class Case:
    """Dimensions set to numbers or to each other, and the function's graph at them; None where it does not trace."""

    fixed: Fixed
    graph: TracedGraph | None
    question: str = ""
    """The question that code asked of the dimensions, where no sizes are known that answer it otherwise."""
    same: bool = False
    """Whether it traces to the graph's own program, while the rules that differentiation runs may be others."""
    asked: bool = False
    """Whether a question of code that is not JAX's gave the case."""
    rules: tuple[str, ...] = ()
    """The rules that asked, each in words; empty where the function asked."""

    def __str__(self) -> str:
        return case_text(self.fixed) or self.question

    @property
    def key(self) -> Key:
        return frozenset(self.fixed.items())

    @property
    def excluded(self) -> list[str]:
        """Return the hypotheses that exclude these sizes, for a case where nothing is certified."""
        what = "its rules are others" if self.same else "the function traces to another program"
        return [f"not {self} {rule}" for rule in self.rules] or [f"not {self}: there {what}"]

    def within(self, fixed: Fixed) -> Case:
        """Return this case of the graph traced at the sizes `fixed` as a case of the graph itself."""
        return replace(self, fixed=simplified(together(fixed, self.fixed)))

    def traced(self, traced: TracedGraph) -> Case:
        """Return the case with the function's graph at these sizes, if it traces there and has no cases of its own."""
        with suppress(CertgradError):
            graph = traced.retraced(self.fixed)
            if not contrary(graph, self.fixed):
                return replace(self, graph=graph)
        return self


def case_text(fixed: Fixed) -> str:
    """Return a case in words; "" for one that sets no size."""

    if isinstance(fixed, Sample):  # sizes drawn from many stand for the question itself
        return fixed.question
    # For a residue class, n = 2*n + 1, the n on the right is any number: it is written as another letter, j.
    letters = (j for j in ("j", "i", *(f"{d}_" for d in fixed)) if j not in fixed)
    table = {d: next(letters) for d in sorted(fixed) if any(d in size.names for size in fixed.values())}
    some = f" for some {' and '.join(table.values())}" if table else ""
    return " and ".join(f"{d} = {v.renamed(table).simplified}" for d, v in sorted(fixed.items())) + some


def other_programs(
    traced: TracedGraph, runs_the_same: Callable[[TracedGraph, Fixed], bool] | None = None
) -> Iterator[Case]:
    """Yield the sizes at which the function may be another graph: it traces to another program, or may run another
    rule.

    First all dimensions are 1, then all are equal; then come sizes for every question that code asked of sizes, in
    these traces as well (`Cases`). Where sizes set together give the same program but run other rules, they are set one
    by one (`one_by_one`) to find which of them do. A question without sizes that answer it otherwise is a case without
    a graph.

    `runs_the_same` says whether a graph of the same program runs the same rules; None where no rule is code of users,
    so that sizes which only JAX compares need no trace.
    """
    names = traced.ir.dims
    first_sizes: list[Fixed] = [dict.fromkeys(names, ONE)] if names else []
    one_by_one: dict[str, list[Fixed]] = {
        str(sorted(at_once.items())): [{n: ONE} for n in names] for at_once in first_sizes
    }
    if len(names) > 1:
        first_sizes.append(dict.fromkeys(names[1:], named_size(names[0])))
        one_by_one[str(sorted(first_sizes[-1].items()))] = [
            {b: named_size(a)} for k, a in enumerate(names) for b in names[k + 1 :]
        ]
    if runs_the_same is None:
        first_sizes = [at_once for at_once in first_sizes if answered_otherwise(traced, at_once)]
    cases = Cases(everything=False, first=first_sizes)
    yield from (Case({}, None, question) for question in cases.met(traced, {}))
    for fixed in cases:
        try:
            graph_at = traced.retraced(fixed) if cases.count <= CASES else None
        except CertgradError:
            graph_at = None
        if graph_at is None:
            yield Case(fixed, None, asked=fixed in cases.asked)
            continue
        yield from (Case(fixed, None, question) for question in cases.met(graph_at, fixed))
        same_program = has_same_programs(traced, graph_at, fixed)
        differs = not same_program or not (runs_the_same is None or runs_the_same(graph_at, fixed))
        if same_program and differs:
            key = str(sorted(fixed.items()))
            cases.waiting += one_by_one[key] if key in one_by_one else _with_another(fixed, names)
        if differs or fixed in cases.asked:
            yield Case(fixed, graph_at, same=same_program, asked=fixed in cases.asked)


def asked_by_rules(cases: Iterable[Case]) -> list[Case]:
    """Return the sizes at which rules of a graph's nodes may be others, each once, with all the rules that ask."""
    by_sizes: dict[Key, list[Case]] = {}
    for case in cases:
        by_sizes.setdefault(case.key, []).append(case)
    return [
        replace(group[0], rules=tuple(dict.fromkeys(r for case in group for r in case.rules)))
        for group in by_sizes.values()
    ]


def _with_another(fixed: Fixed, names: Sequence[str]) -> list[Fixed]:
    """Return `fixed` with one more dimension set to 1, or one more pair made equal, in each way.

    An empty list where `fixed` sets more than one dimension, or sets one to something else.
    """
    left = [n for n in names if n not in fixed and named_size(n) not in fixed.values()]
    if len(fixed) > 1 or not all(v == ONE or v.name in names for v in fixed.values()):
        return []
    additions: list[Fixed] = [{n: ONE} for n in left] + [
        {b: named_size(a)} for k, a in enumerate(left) for b in left[k + 1 :]
    ]
    return [{**fixed, **addition} for addition in additions]


def at_numbers(traced: TracedGraph) -> Iterator[tuple[Case, bool]]:
    """Yield the function's case at two choices of numbers for the sizes, and whether it is another program there.

    Code can tell a number from a symbol, by its type, without a question that tracing notices. The second choice is for
    a function that treats one of the first numbers specially.
    """
    for start, step in ((5, 2), (8, 3)) if traced.ir.dims else ():
        fixed: Fixed = {d: integer_size(start + step * k) for k, d in enumerate(traced.ir.dims)}
        try:
            graph_at = traced.retraced(fixed)
        except CertgradError:
            yield Case(fixed, None), True
            continue
        yield Case(fixed, graph_at), not has_same_programs(traced, graph_at, fixed)


def program_at(traced: TracedGraph, sizes: Mapping[str, int]) -> Case | None:
    """Return the function's case at these sizes if it is another program there than the graph, else None.

    If it is another one only because sizes are 1, as in JAX's own code, the other sizes are left open. Raises
    TraceError.
    """
    numbers: Fixed = {d: integer_size(n) for d, n in sizes.items()}
    at_numbers_graph = traced.retraced(numbers)
    if has_same_programs(traced, at_numbers_graph, numbers):
        return None
    ones: Fixed = {d: n for d, n in numbers.items() if n == ONE}
    if ones and ones != numbers:
        at_ones = traced.retraced(ones)
        if has_same_programs(at_ones, at_numbers_graph, numbers):
            return Case(ones, at_ones)
    return Case(numbers, at_numbers_graph)
