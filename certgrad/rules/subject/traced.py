"""Whether a rule traces, what its backward returns then, and the program of its function, in 64 bits or in 32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.errors import CertgradError
from certgrad.jaxpr.kinds import BROADCASTS, CALLS
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.traces import Spec, Traces
from certgrad.obligations.prove.problem import trace_forward
from certgrad.obligations.tracing.jax_internals import Program, equations_of, evaluate, primal_body
from certgrad.signatures.sizes import Size

from .layers import backward_of
from .returned import recorded
from .user_rule import UserRule


def traces(made: Traces) -> bool:
    """Return whether the first case of a rule traces, in 64 bits or in 32."""
    return not untraced(made)


def untraced(made: Traces) -> str:
    """Return why the first case of a rule traces neither in 64 bits nor in 32, or ""."""
    return str(failed(made) or "")


def failed(made: Traces) -> CertgradError | None:
    """Return the first error where the first case of a rule traces neither in 64 bits nor in 32."""
    first: CertgradError | None = None
    for wide in (True, False):
        found = made.make(Spec(0, 0, (), wide))
        if not isinstance(found, CertgradError):
            return None
        first = first or found
        if "float" not in str(found):  # it does not fail for its dtype
            return first
    return first


def forward_of(rule: UserRule) -> Program | None:
    """Return the forward of the rule's first case, in 64 bits or in 32; None where it does not trace."""
    instance = family(rule, rule.cases[0]).prove[0]
    for wide in (True, False):
        try:
            return trace_forward(rule.rules(instance.statics), instance.shapes(), len(rule.params), rule.name, wide)
        except (CertgradError, RecursionError) as error:
            if "float" not in str(error):
                return None
    return None


def why_untraced(rule: UserRule, made: Traces | None = None) -> tuple[str, dict[str, Any]]:
    """Return why the rule does not trace ("" where it does), and by argument what its backward returned.

    An argument that is declared an integer and gets a gradient counts as a failure: JAX drops that gradient unseen.
    `made` has traces of the rule, where some were made already.
    """
    made = made or Traces(rule)
    backward = backward_of(rule.custom)
    if backward is None:
        return untraced(made), {}
    with recorded(*backward) as returned:
        why = untraced(made)
    if rule.kind == "equinox.filter_custom_vjp":  # that of its first argument
        first_call, names = returned[:1], rule.dynamic[:1]
    else:
        first_call, names = next((list(c) for c in returned if isinstance(c, (tuple, list))), []), rule.dynamic
    returned.clear()  # the trace of the forward refers to the recorder of the backward, and so keeps this list alive
    cotangents = dict(zip(names, first_call, strict=True)) if len(first_call) == len(names) else {}
    are_whole = [s.dtype in ("int", "bool") for s in rule.signature.inputs]
    for name, is_whole, one in zip(rule.arg_names, are_whole, of_leaves(rule, cotangents), strict=True):
        if not why and is_whole and any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in jax.tree.leaves(one)):
            why = f"it returns a gradient for {name}, which is not of integers then"
    return why, cotangents


def of_leaves(rule: UserRule, cotangents: Mapping[str, Any]) -> list[Any]:
    """Return, for each array of the arguments, its returned cotangent, or None."""
    return [one for a in rule.arguments for one in a.cotangents(cotangents.get(a.name))]


def array_of(cotangent: Any) -> Any:
    """Return a cotangent that is one array."""
    return cotangent if hasattr(cotangent, "shape") and hasattr(cotangent, "dtype") else None


def misshapen(rule: UserRule, cotangents: Sequence[Any]) -> dict[str, str]:
    """Return the arrays whose cotangents have other shapes than they have, and which, in words."""
    found = {}
    for name, spec, cotangent in zip(rule.arg_names, rule.signature.inputs, cotangents, strict=False):
        shape = [d.spaced if isinstance(d, Size) else "" for d in spec.dims]
        if cotangent is not None and [*map(str, cotangent.shape)] != shape:
            other, own = (" ".join(map(str, one)) or "()" for one in (cotangent.shape, shape))
            found[name] = f"the shape {other}, and not {own}"
    return found


def names_no_axis(rule: UserRule) -> bool:
    """Return whether the function treats all axes of its arrays alike, so that it does not say how many there are."""
    program = forward_of(rule)
    return program is not None and all(map(_of_all_axes, equations_of(program.jaxpr)))


def _of_all_axes(equation: Any) -> bool:
    """Return whether it is an equation between arrays of one shape, or over all axes of one."""
    ranks = {len(v.aval.shape) for v in (*equation.invars, *equation.outvars)}
    if equation.primitive.name in CALLS:
        return True  # what it calls is looked at
    if "axes" in equation.params:
        return len(equation.params["axes"]) == len(equation.invars[0].aval.shape)
    if equation.primitive.name in BROADCASTS:
        return not equation.invars[0].aval.shape
    return len(ranks) == 1 and not {"dimension_numbers", "axis", "dimension", "permutation"} & equation.params.keys()


def primal_of(one: UserRule, rules: Rules, args: list) -> tuple[Callable[[Any], list], Any]:
    """Return the primal function of the active argument, the others held, and the argument's value."""
    k = one.arg_names.index(one.moving[0])
    program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))

    def run(x: Any) -> list:
        return evaluate(program, [*args[:k], x, *args[k + 1 :]])

    return run, args[k]
