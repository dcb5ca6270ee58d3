"""Programs in which functions are read as those that they approximate.

A rule that is the derivative of an ideal function is made of others: K₀' = −K₁, where the K₁ that runs is a table of
coefficients as well. What is claimed of the ideal function is claimed with these read as what they approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from certgrad.errors import RuleError
from certgrad.obligations.tracing.jax_internals import (
    Program,
    identity,
    inner_program,
    is_literal,
    primal_body,
    program_of,
)


@dataclass(eq=False)
class Ideal:
    """A function that computes an approximation, and the one that it approximates, both of the same arrays."""

    function: Callable[..., Any]
    exact: Callable[..., Any]
    said: str
    """What a certificate says of reading the one as the other."""
    met: bool = False
    """It was met in a program."""
    _bodies: dict[tuple[str, ...], str] = field(default_factory=dict)

    def computes(self, body: Program, eqn: Any) -> bool:
        """What an equation calls is what the function runs on its operands."""
        key = tuple(f"{v.aval} {getattr(v.aval, 'weak_type', False)}" for v in eqn.invars)
        if key not in self._bodies:
            self._bodies[key] = self._body([v.aval for v in eqn.invars])
        return bool(self._bodies[key]) and identity(body) == self._bodies[key]

    def _body(self, avals: Sequence[Any]) -> str:
        args = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in avals]
        try:
            own = program_of(jax.make_jaxpr(lambda *xs: jax.tree.leaves(self.function(*xs)))(*args))
        except Exception:  # it is no function of such arrays
            return ""
        inner = primal_body(own)
        return identity(inner) if inner is not own else ""  # a function of JAX's own operations is no call


def reading(function: Callable[..., list[Any]], ideals: Sequence[Ideal]) -> Callable[..., list[Any]]:
    """The function of flat lists of arrays, with each call of an approximation made one of the ideal function.

    Not inside the bodies of loops and branches, which stay as they are.
    """

    def read(*lists: Sequence[Any]) -> list[Any]:
        closed = jax.make_jaxpr(function)(*map(list, lists))
        found: Found = {}
        if not _met(closed.jaxpr, ideals, found):
            return function(*lists)
        return _run(closed.jaxpr, closed.consts, [x for one in lists for x in one], found)

    return read


Found = dict[int, Ideal | Program]
"""By the identity of an equation that is a call: what is called instead, or the program inside that has such calls."""


def _met(jaxpr: Any, ideals: Sequence[Ideal], found: Found) -> bool:
    """Whether a program calls approximations, which are `found` then."""
    for eqn in jaxpr.eqns:
        inner = inner_program(eqn)
        if inner is None or len(inner.jaxpr.invars) != len(eqn.invars):
            continue
        body = primal_body(inner)
        ideal = next((one for one in ideals if one.computes(body, eqn)), None)
        if ideal is not None:
            found[id(eqn)] = ideal
            ideal.met = True
        elif _met(inner.jaxpr, ideals, found):
            found[id(eqn)] = inner
    return any(id(eqn) in found for eqn in jaxpr.eqns)


def _run(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], found: Found) -> list[Any]:
    values: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
    for eqn in jaxpr.eqns:
        operands = [v.val if is_literal(v) else values[v] for v in eqn.invars]
        instead = found.get(id(eqn))
        if isinstance(instead, Ideal):
            outs = _fitting(jax.tree.leaves(instead.exact(*operands)), [v.aval for v in eqn.outvars], instead)
        elif instead is not None:
            outs = _run(instead.jaxpr, instead.consts, operands, found)
        else:
            out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            outs = list(out) if eqn.primitive.multiple_results else [out]
        values |= dict(zip(eqn.outvars, outs, strict=True))
    return [v.val if is_literal(v) else values[v] for v in jaxpr.outvars]


def _fitting(outs: list[Any], avals: Sequence[Any], ideal: Ideal) -> list[Any]:
    """What the ideal function gives, in the dtypes of what it stands for. Raises RuleError for other shapes."""
    if [x.shape for x in outs] != [a.shape for a in avals]:
        shown, wanted = (", ".join(str(tuple(x.shape)) for x in xs) for xs in (outs, avals))
        raise RuleError(f"{ideal.said}, but returns arrays of {shown}, not {wanted}")
    return [x.astype(a.dtype) for x, a in zip(outs, avals, strict=True)]
