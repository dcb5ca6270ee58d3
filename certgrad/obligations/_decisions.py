"""Decisions on dimensions that tracing took without proof, and the cases that contradict them.

While tracing, JAX answers `n == 1` and `n == d` with False. Where the op's own code asked, each contrary case is traced
again on its own, and so are the cases that those traces leave undecided. Where only JAX's library code asked (it does
so in every broadcast), all dimensions equal to 1 and all dimensions equal to each other are traced. Where a program is
then the same, its proof covers the case; where it is another program, that one is proved too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from certgrad.errors import CertgradError

from ._facts import ZERO, Facts
from ._instances import Instance
from ._jax_internals import DimExpr, dim_poly, serialised
from ._problem import Programs, rules_of, trace_rules
from ._sums import Rewriter
from ._terms import Dim, Poly, atoms_of, dimension, number

Fixed = dict[str, int | str]
MAX_CASES = 40


def contrary_cases(
    op: Any, instance: Instance, programs: Programs
) -> Iterator[tuple[Fixed, Programs | CertgradError]]:
    """(what the dimensions are set to, the programs there) for each contrary case that traces to another program.

    In place of the programs stands the error where the functions do not trace in that case.
    """
    names = instance.names
    if not names or not any(program.decisions for program in programs.all().values()):
        return
    combined: list[Fixed] = [dict.fromkeys(names, 1)]
    if len(names) > 1:
        combined.append({n: names[0] for n in names[1:]})
    suspicious = False
    for fixed in combined:
        other = _traced(op, instance, fixed)
        if isinstance(other, CertgradError) or _differs(programs, other, fixed):
            suspicious = True
            yield fixed, other
    queue = contrary(programs, {}, everything=suspicious)
    seen = {str(sorted(f.items())) for f in combined}
    while queue:
        fixed = queue.pop(0)
        key = str(sorted(fixed.items()))
        if key in seen:
            continue
        seen.add(key)
        other = _traced(op, instance, fixed)
        if len(seen) > MAX_CASES:
            yield fixed, CertgradError("too many undecided comparisons of dimensions")
            return
        if isinstance(other, CertgradError):
            yield fixed, other
            continue
        queue += contrary(other, fixed, everything=False)
        if _differs(programs, other, fixed):
            yield fixed, other


def _traced(op: Any, instance: Instance, fixed: Fixed) -> Programs | CertgradError:
    try:
        return trace_rules(rules_of(op, instance.statics), instance.shapes(fixed), len(op.params), f"'{op.name}'")
    except CertgradError as error:
        return error


def _differs(general: Programs, special: Programs, fixed: Fixed) -> bool:
    """The special trace is not the general one with its dimensions set."""
    return any(
        serialised(special.all()[name], dims=_render({})) != serialised(program, dims=_render(fixed))
        for name, program in general.all().items()
    )


def contrary(programs: Programs, fixed: Fixed, everything: bool) -> list[Fixed]:
    """Assignments, beyond `fixed`, under which a recorded decision would have gone the other way.

    Without `everything`, only decisions that the op's own code asked for.
    """
    out: dict[str, Fixed] = {}
    for program in programs.all().values():
        for difference, by_jax in program.decisions:
            if (by_jax and not everything) or not Facts().signs(difference) & ZERO:
                continue
            solution = _solution(difference)
            if solution is not None:
                more = {**{k: solution.get(v, v) if isinstance(v, str) else v for k, v in fixed.items()}, **solution}
                out.setdefault(str(sorted(more.items())), more)
    return [out[k] for k in sorted(out)]


def _solution(difference: Poly) -> Fixed | None:
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


def _render(fixed: Fixed) -> Callable[[Any], str]:
    """Writes a dimension after setting some."""
    values = {n: number(v) if isinstance(v, int) else dimension(v) for n, v in fixed.items()}

    def render(dim: Any) -> str:
        if not isinstance(dim, DimExpr):
            return str(dim)
        poly = dim_poly(dim)
        if values:
            poly = Rewriter(replace=lambda a: values.get(a.name) if isinstance(a, Dim) else None)(poly)
        c = poly.constant()
        return str(c) if c is not None else poly.key

    return render
