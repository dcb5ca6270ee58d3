"""Running an op under JAX's transforms with its declared rules: forward mode the JVP, reverse mode the VJP.

The op becomes a `jax.custom_jvp` whose tangent is one linear primitive; the transpose of that primitive is the declared
VJP, so that JAX never transposes the JVP. Second derivatives differentiate the rules themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from certgrad.errors import RuleError
from certgrad.jaxpr.linear import Arrays, Linear, call_linear

if TYPE_CHECKING:
    from certgrad.ops._declare import Op

Statics = dict[str, Any]


def execute(op: Op, args: Sequence[Any], statics: Statics) -> Any:
    """Return the op's value at these arrays, differentiable by its rules.

    The JVP runs the `fwd`, then applies one linear map from tangents to tangents. Arguments whose tangent is a symbolic
    zero are no inputs of that map, so that its transpose returns no cotangent for them.
    """

    def primal(*args: Any) -> Any:
        return op.call_rule(op.forward, *args, statics=statics)

    def rule(primals: Arrays, tangents: Arrays) -> tuple[Any, Any]:
        out, residuals = _run_forward(op, primals, statics)
        moving = tuple(i for i, t in enumerate(tangents) if not isinstance(t, SymbolicZero))
        leaves, tree = jax.tree.flatten(residuals)
        linear = _tangent_map(op, primals, out, tree, moving, statics)
        tangent = call_linear(linear, [jnp.asarray(x) for x in leaves], [tangents[i] for i in moving])
        return out, tuple(tangent) if isinstance(out, tuple) else tangent[0]

    primal.__name__ = primal.__qualname__ = op.name
    run = jax.custom_jvp(primal)
    run.defjvp(rule, symbolic_zeros=True)
    return run(*args)


def _run_forward(op: Op, args: Arrays, statics: Statics) -> tuple[Any, Any]:
    """Return the op's value and the residuals: those of its `fwd`, else the arguments. Raises RuleError."""
    if op.fwd_rule is None:
        return op.call_rule(op.forward, *args, statics=statics), args
    pair = op.call_rule(op.fwd_rule, *args, statics=statics)
    if not (isinstance(pair, tuple) and len(pair) == 2):
        what = f"a tuple of {len(pair)}" if isinstance(pair, tuple) else "one value"
        raise RuleError(f"The fwd of op '{op.name}' ({op.where}) returned {what}; it must return (out, residuals).")
    return pair


def _tangent_map(op: Op, primals: Arrays, out: Any, tree: Any, moving: tuple[int, ...], statics: Statics) -> Linear:
    """Return the linear map from tangents of arguments to those of outputs, with the declared VJP as its transpose.

    `moving` are the positions of the arguments that have a tangent, and `tree` is the structure of the residuals.
    """
    floats = [i for i, x in enumerate(primals) if jnp.issubdtype(x.dtype, jnp.floating)]
    inputs = {i: _aval(primals[i]) for i in floats}
    outputs = [_aval(y) for y in (out if isinstance(out, tuple) else (out,))]

    def leading_arguments(leaves: Arrays) -> Arrays:
        """Return what the rules take before tangents or seeds: the residuals of `fwd`, else the arguments."""
        residuals = jax.tree.unflatten(tree, leaves)
        return residuals if op.fwd_rule is None else (residuals,)

    def apply(leaves: Arrays, tangents: Arrays) -> Arrays:
        # a declared JVP takes a tangent for each float argument, those without one being 0
        full = {i: jnp.zeros(a.shape, a.dtype) for i, a in inputs.items() if i not in moving}
        full.update(zip(moving, tangents, strict=True))
        result = op.call_rule(op.jvp_rule, *leading_arguments(leaves), *(full[i] for i in floats), statics=statics)
        return _checked(op, "jvp", "tangent", result, outputs, [""] * len(outputs))

    def transpose(leaves: Arrays, seeds: Arrays) -> Arrays:
        result = op.call_rule(op.vjp_rule, *leading_arguments(leaves), *seeds, statics=statics)
        names = [f" of {op.arg_names[i]}" for i in floats]
        full = dict(zip(floats, _checked(op, "vjp", "cotangent", result, list(inputs.values()), names), strict=True))
        return tuple(full[i] for i in moving)

    return Linear(apply, transpose, tuple(inputs[i] for i in moving), tuple(outputs))


def _aval(x: Any) -> Any:
    """Return the type of an array as a traced rule sees it: never weak."""
    return jax.typeof(x).strip_weak_type()


def _checked(op: Op, rule: str, what: str, result: Any, expected: list[Any], names: list[str]) -> Arrays:
    """Return the arrays that a rule returned. Raises RuleError unless their number, shapes and dtypes are the expected.

    `rule`, `what` and `names` are for messages: the rule's name, "tangent" or "cotangent", and of which argument.
    """
    arrays = tuple(result) if isinstance(result, tuple | list) else (result,)
    if len(arrays) != len(expected):
        raise RuleError(
            f"The {rule} of op '{op.name}' ({op.where}) returned {_count(len(arrays), what)}; "
            f"it must return {len(expected)}, one for each {'output' if rule == 'jvp' else 'float argument'}, in order."
        )
    checked = []
    for array, want, name in zip(arrays, expected, names, strict=True):
        array = array if hasattr(array, "dtype") else jnp.asarray(array, want.dtype)
        if array.shape != want.shape or array.dtype != want.dtype:
            raise RuleError(
                f"The {rule} of op '{op.name}' ({op.where}) returned a {what}{name} of shape {_text(array)}; "
                f"it must be {_text(want)}, like the {'output' if rule == 'jvp' else 'argument'}."
            )
        checked.append(array)
    return tuple(checked)


def _text(array: Any) -> str:
    return f"({', '.join(map(str, array.shape))}) {array.dtype}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
