"""Semantics of `cond`: each branch under its guard; and of which branch a platform takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from certgrad.language.platform import PLATFORM, number_of
from certgrad.obligations.assume.conditions import Clauses, discharged, merge_clauses
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index_terms import as_index, index_equal
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import branch_programs

from ._index_numbers import index_cases
from ._interpreter import interpret
from ._registry import Context, Params, UnprovedError, control, rule


@control("cond")
def _cond(ctx: Context, eqn: Any, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    index, *operands = inputs
    assert index is not None
    branches = branch_programs(eqn)
    results = [interpret(ctx, branch, operands, use) for branch in branches]
    guards = _guards(index, len(branches))
    return [_chosen(index, guards, [r[k] for r in results]) if used else None for k, used in enumerate(use)]


def _guards(index: Tensor, count: int) -> list[Poly]:
    """For each branch, the 0/1-valued term that says that it runs. An index out of range runs the last branch.

    (JAX clamps the index before, so that this never happens.)
    """
    if index.kind == "b" or index.body * index.body == index.body:
        chosen = [ONE - index.body, index.body][:count]
    else:
        cases = index_cases(index.body)
        chosen = [
            sum((c.guard * index_equal(c.ix.shifted(number(-k))) for c in cases), NOTHING) for k in range(count - 1)
        ]
    left = ONE
    for guard in chosen[: count - 1]:
        left = left - guard
    return [*chosen[: count - 1], *[NOTHING] * (count - 1 - len(chosen)), left]


def _chosen(index: Tensor, guards: list[Poly], branches: list[Tensor | None]) -> Tensor:
    """The output of the branch that runs. A branch's conditions drop only where its guard says that it does not."""
    outs = [_with_conditions_resolved(b) for b in branches if b is not None]
    if any(b.infinite for b in outs):
        raise UnprovedError("a branch that is infinite")
    last = outs[-1]
    body, signs = last.body, last.signs
    for guard, out in zip(guards, outs[:-1], strict=False):
        body = body + guard * (out.body - last.body)
        signs |= out.signs
    defined = tuple(c for c in _either(guards, [o.defined for o in outs]) if not discharged(c, Facts()))
    smooth = _either(guards, [o.smooth for o in outs])
    return Tensor(
        last.shape, body, last.kind, merge_clauses(index.defined, defined), merge_clauses(index.smooth, smooth), signs
    )


def _with_conditions_resolved(x: Tensor) -> Tensor:
    """Return a tensor with index conditions decided that hold in all of it, so that equal branches become equal."""
    return replace(x, body=resolved(x.body, Indices({template(k): n for k, n in enumerate(x.shape)})))


def _either(guards: list[Poly], branches: list[Clauses]) -> Clauses:
    """Each branch's conditions under its guard; a condition that all branches have needs none."""
    common = set.intersection(*({c.key for c in clauses} for clauses in branches))
    shared = tuple(c for c in branches[0] if c.key in common)
    guarded = (
        c.guarded(guard, True)
        for guard, clauses in zip(guards, branches, strict=True)
        for c in clauses
        if c.key not in common
    )
    return (*shared, *guarded)


@rule("platform_index")
def _platform_index(ctx: Context, params: Params, shapes: list[tuple], *args: Tensor) -> list[Tensor]:
    """Return which of several programs runs: that whose list names the platform, else the default.

    The platform is one arbitrary integer, each name another number, so that two lists agree where the names say so.
    """
    platforms = list(params["platforms"])
    chosen = {name: k for k, names in enumerate(platforms) if names is not None for name in names}
    if None not in platforms:
        ctx.note(f"the platform is one of {', '.join(sorted(chosen))}, for which alone a program stands")
    other = platforms.index(None) if None in platforms else chosen[min(chosen)]
    body = number(other)
    for name, k in chosen.items():
        body = body + _is_platform(name).scale(k - other)
    return [Tensor((), body, "i", signs=NONNEG)]


def _is_platform(name: str) -> Poly:
    """Return [the platform has this name]: each name is another number."""
    this = as_index(access(PLATFORM, ()) - number(number_of(name)))
    assert this is not None
    return index_equal(this)
