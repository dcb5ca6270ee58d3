"""Decisions on dimensions that tracing took without proof, and the cases that contradict them.

While tracing, JAX answers `n == 1` and `n == d` with False. Each such case is traced again on its own; where the program
is then the same, the proof covers it, and where it is another program, that one is proved too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._facts import ZERO, Facts
from ._instances import Instance
from ._jax_internals import serialised
from ._problem import Programs, rules_of, trace_rules
from ._terms import Dim, Poly, atoms_of


def contrary_cases(op: Any, instance: Instance, programs: Programs) -> Iterator[tuple[dict[str, int | str], Programs]]:
    """(what the dimensions are set to, the programs there) for each contrary case that traces to another program."""
    for fixed in contrary(programs):
        other = trace_rules(rules_of(op, instance.statics), instance.shapes(fixed), len(op.params), f"'{op.name}'")
        wanted = {name: _renamed(serialised(p, dims=_fixer(fixed)), fixed) for name, p in programs.all().items()}
        if any(serialised(p, dims=_fixer({})) != wanted[name] for name, p in other.all().items()):
            yield fixed, other


def contrary(programs: Programs) -> list[dict[str, int | str]]:
    """Assignments of dimensions under which a recorded decision would have gone the other way."""
    out: dict[str, dict[str, int | str]] = {}
    for program in programs.all().values():
        for difference in program.decisions:
            if not Facts().signs(difference) & ZERO:
                continue
            fixed = _solution(difference)
            if fixed is not None:
                out.setdefault(str(sorted(fixed.items())), fixed)
    return [out[k] for k in sorted(out)]


def _solution(difference: Poly) -> dict[str, int | str] | None:
    """A dimension set to a number or to another dimension so that the difference is 0."""
    terms = {m: c for m, c in difference.items()}
    dims = [a for a in atoms_of(difference) if isinstance(a, Dim)]
    const = terms.get((), 0)
    if len(dims) == 1 and len(terms) - (() in terms) == 1:
        c = terms.get(((dims[0], 1),))
        if c is not None and (-const / c).q == 1:
            return {dims[0].name: int((-const / c).p)}
    if len(dims) == 2 and const == 0 and len(terms) == 2:
        a, b = (terms.get(((d, 1),)) for d in dims)
        if a is not None and b is not None and a == -b:
            return {dims[1].name: dims[0].name}
    return None


def _fixer(fixed: dict[str, int | str]) -> Any:
    from ._jax_internals import DimExpr, dim_poly
    from ._sums import Rewriter
    from ._terms import dimension, number

    def render(dim: Any) -> str:
        if not isinstance(dim, DimExpr):
            return str(dim)
        poly = dim_poly(dim)
        if fixed:
            values = {n: number(v) if isinstance(v, int) else dimension(v) for n, v in fixed.items()}
            poly = Rewriter(replace=lambda a: values.get(a.name) if isinstance(a, Dim) else None)(poly)
        c = poly.constant()
        return str(c) if c is not None else poly.key

    return render


def _renamed(text: str, fixed: dict[str, int | str]) -> str:
    return text
