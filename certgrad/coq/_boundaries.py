"""The proposition of Coq that no two real numbers which a program compares are equal.

A part of a composed program can need that hypothesis, which is then a statement about the whole forward. That divisors
are not 0 is no part of it: that belongs to where programs are defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from certgrad.language import tree as e
from certgrad.language.finite import decide_infinite_comparisons
from certgrad.language.sorts import sort
from certgrad.language.tree import children
from certgrad.specification import program as p
from certgrad.specification.program import pruned, with_entries

from ._errors import NotPrintedError
from ._expressions import printed
from ._names import identifier
from ._programs import let, require_single_tensor


def off_boundaries(program: p.Program) -> str:
    """Return the proposition, over the program's inputs: definitions (`let … in`) and the inequalities of the sides.

    Only the definitions before the last comparison are printed. Raises NotPrintedError where a part cannot be printed,
    and where the program compares no numbers.
    """
    program = pruned(replace(program, definitions=with_entries(program.definitions, decide_infinite_comparisons)))
    lines: list[str] = []
    inequalities: list[str] = []
    needed = 0
    for definition in map(require_single_tensor, program.definitions):
        if isinstance(definition, p.Defined):
            axes = list(zip(definition.variables, definition.tensor.shape, strict=True))
            if of_entry := list(_disequalities(definition.entry, axes)):
                inequalities, needed = [*inequalities, *of_entry], len(lines)
        lines.append(let(definition, typed=True))
    if not inequalities:
        raise NotPrintedError("a hypothesis on comparisons, of a program that makes none")
    conjunction = " /\\ ".join(dict.fromkeys(inequalities))
    return "\n".join(["", *lines[:needed], f"  {conjunction}"])


def _disequalities(x: Any, over: list[tuple[str, e.Node]]) -> Iterator[str]:
    """Yield for each comparison of reals in an expression the statement that both sides differ, in Coq's words.

    It is quantified over the variables in `over`, which are pairs (name, size), and over the variables of the binders
    around the comparison.
    """
    if isinstance(x, e.Compare) and sort(x.left) == "real":
        if x.left == x.right or any(isinstance(s, e.Infinity) for s in (x.left, x.right)):
            raise NotPrintedError("a hypothesis on comparisons, one of which is of a number with itself or an infinity")
        binders = " ".join(identifier(v) for v, _ in over)
        ranges = "".join(f"(0 <= {identifier(v)} < {printed(n)})%Z -> " for v, n in over)
        yield f"({f'forall {binders} : Z, ' if over else ''}{ranges}{printed(x.left)} <> {printed(x.right)})"
    if isinstance(x, e.BINDERS):
        if any(r.size == e.WHILE_A_TEST_HOLDS for r in x.over):
            raise NotPrintedError("a hypothesis on comparisons without a bound")
        over = [*over, *((r.variable, r.size) for r in x.over)]
    for part in children(x):
        yield from _disequalities(part, over)
