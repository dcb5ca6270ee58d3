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
    """Return the first error of the traces of a rule's first case, in 64 bits and in 32; None if one succeeds.

    The trace in 32 bits is only tried if the error in 64 bits is about a float dtype.
    """
    first: CertgradError | None = None
    for wide in (True, False):
        outcome = made.make(Spec(0, 0, (), wide))
        if not isinstance(outcome, CertgradError):
            return None
        first = first or outcome
        if "float" not in str(outcome):  # the dtype is not the reason
            return first
    return first


def forward_of(rule: UserRule) -> Program | None:
    """Return the program of the first case's forward, in 64 bits or else in 32; None if it does not trace."""
    instance = family(rule, rule.cases[0]).prove[0]
    for wide in (True, False):
        try:
            return trace_forward(rule.rules(instance.statics), instance.shapes(), len(rule.params), rule.name, wide)
        except (CertgradError, RecursionError) as error:
            if "float" not in str(error):
                return None
    return None


def why_untraced(rule: UserRule, made: Traces | None = None) -> tuple[str, dict[str, Any]]:
    """Return why the rule does not trace ("" if it does), and by argument the cotangents that its backward returned.

    A gradient for an argument that is declared an integer or a boolean counts as a failure, as JAX drops it silently.
    `made` has the traces of the rule that were made already, if any.
    """
    made = made or Traces(rule)
    backward = backward_of(rule.custom)
    if backward is None:
        return untraced(made), {}
    with recorded(*backward) as returned:
        why = untraced(made)
    if rule.kind == "equinox.filter_custom_vjp":  # its backward returns the cotangent of the first argument alone
        first_call, names = returned[:1], rule.dynamic[:1]
    else:
        first_call, names = next((list(c) for c in returned if isinstance(c, (tuple, list))), []), rule.dynamic
    returned.clear()  # the trace of the forward refers to the recorder of the backward, and so keeps this list alive
    cotangents = dict(zip(names, first_call, strict=True)) if len(first_call) == len(names) else {}
    are_whole = [s.dtype in ("int", "bool") for s in rule.signature.inputs]
    for name, is_whole, tree in zip(rule.arg_names, are_whole, of_leaves(rule, cotangents), strict=True):
        if not why and is_whole and any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in jax.tree.leaves(tree)):
            why = f"it returns a gradient for {name}, which is not of integers then"
    return why, cotangents


def of_leaves(rule: UserRule, cotangents: Mapping[str, Any]) -> list[Any]:
    """Return for each array of the arguments the cotangent that was returned for it; None if there is none."""
    return [cotangent for a in rule.arguments for cotangent in a.cotangents(cotangents.get(a.name))]


def array_of(cotangent: Any) -> Any:
    """Return a cotangent that is an array; None for anything else."""
    return cotangent if hasattr(cotangent, "shape") and hasattr(cotangent, "dtype") else None


def misshapen(rule: UserRule, cotangents: Sequence[Any]) -> dict[str, str]:
    """Return in words the shapes of cotangents that are not those of their arrays, by name."""
    wrong_shapes = {}
    for name, spec, cotangent in zip(rule.arg_names, rule.signature.inputs, cotangents, strict=False):
        shape = [d.spaced if isinstance(d, Size) else "" for d in spec.dims]
        if cotangent is not None and [*map(str, cotangent.shape)] != shape:
            returned, expected = (" ".join(map(str, dims)) or "()" for dims in (cotangent.shape, shape))
            wrong_shapes[name] = f"the shape {returned}, and not {expected}"
    return wrong_shapes


def names_no_axis(rule: UserRule) -> bool:
    """Return whether the function treats all axes of its arrays alike, so that its code does not tell their number."""
    program = forward_of(rule)
    return program is not None and all(map(_of_all_axes, equations_of(program.jaxpr)))


def _of_all_axes(equation: Any) -> bool:
    """Return whether an equation treats all axes of its arrays alike: entry by entry, or as a reduction over all."""
    ranks = {len(v.aval.shape) for v in (*equation.invars, *equation.outvars)}
    if equation.primitive.name in CALLS:
        return True  # the equations of the called program are tested themselves
    if "axes" in equation.params:
        return len(equation.params["axes"]) == len(equation.invars[0].aval.shape)
    if equation.primitive.name in BROADCASTS:
        return not equation.invars[0].aval.shape
    return len(ranks) == 1 and not {"dimension_numbers", "axis", "dimension", "permutation"} & equation.params.keys()


def primal_of(one: UserRule, rules: Rules, args: list) -> tuple[Callable[[Any], list], Any]:
    """Return the primal function as one of the active argument alone, and the value of that argument in `args`."""
    k = one.arg_names.index(one.moving[0])
    program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))

    def run(x: Any) -> list:
        return evaluate(program, [*args[:k], x, *args[k + 1 :]])

    return run, args[k]
