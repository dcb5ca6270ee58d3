"""Functions with a custom derivative rule, on pairs: the rule is kept, and is called with complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax

from certgrad.errors import TraceError

from ._pair import Pair, flat

Outputs = Callable[[Sequence[Any]], list[Any]]
KINDS = ("custom_jvp_call", "custom_vjp_call")


def ruled(eqn: Any, operands: Sequence[Any], run: Outputs, bind: Outputs) -> list[Any]:
    """Return the outputs of a function with a custom rule, called on pairs; their derivative is by that rule.

    `run` computes the function on pairs; `bind` calls the function with its rule on complex numbers. So the result is a
    custom function of the parts, whose rule puts the parts together, differentiates `bind`, and takes the results
    apart. For a rule that sees symbolic zeros, differentiation raises TraceError: a pair has only one zero for its two
    parts.
    """
    widths = [2 if isinstance(x, Pair) else 1 for x in operands]
    outputs: list[bool] = []

    def grouped(given: Sequence[Any]) -> list[Any]:
        """Return the operands with their parts in pairs."""
        rest = iter(given)
        return [Pair(next(rest), next(rest)) if width == 2 else next(rest) for width in widths]

    def on_parts(*given: Any) -> list[Any]:
        outputs_of_call = run(grouped(given))
        outputs[:] = [isinstance(y, Pair) for y in outputs_of_call]
        return flat(outputs_of_call)

    def by_rule(*given: Any) -> list[Any]:
        if eqn.params.get("symbolic_zeros"):
            raise TraceError(f"{on_parts.__name__} has a rule that sees symbolic zeros, and is of complex numbers")
        outputs_of_call = bind([lax.complex(*x) if isinstance(x, Pair) else x for x in grouped(given)])
        pairs = zip(outputs_of_call, outputs, strict=True)
        return [part for y, pair in pairs for part in ((lax.real(y), lax.imag(y)) if pair else (y,))]

    on_parts.__name__ = on_parts.__qualname__ = _name(eqn)
    if eqn.primitive.name == "custom_jvp_call":
        pushed = jax.custom_jvp(on_parts)
        pushed.defjvp(lambda at, tangents: jax.jvp(by_rule, at, tangents))
        results = pushed(*flat(operands))
    else:
        pulled = jax.custom_vjp(on_parts)
        pulled.defvjp(lambda *at: jax.vjp(by_rule, *at), lambda pull, cotangents: pull(cotangents))
        results = pulled(*flat(operands))
    rest = iter(results)
    return [Pair(next(rest), next(rest)) if pair else next(rest) for pair in outputs]


def _name(eqn: Any) -> str:
    """Return the name of the function that an equation calls, for messages."""
    info = getattr(getattr(eqn.params["call_jaxpr"], "jaxpr", None), "debug_info", None)
    return str(getattr(info, "func_name", "") or "function").split(" ")[0]
