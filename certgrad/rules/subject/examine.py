"""A first look at a rule, before its proof: its outputs, its mode, and the arguments that get no gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import SignatureError, UsageError
from certgrad.jaxpr.programs import reaches_as_number
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.patterns import sees_zeros
from certgrad.obligations.generality.traces import Spec, Trace, Traces
from certgrad.obligations.tracing.jax_internals import primitives_of, symbols, trace
from certgrad.rules.declared.structure import real_parts

from .layers import backward_of
from .returned import absent, recorded
from .user_rule import REVERSE_ONLY, VALUE_ONLY, UserRule

GENERAL = Spec(0, 0, (), True)
"""The trace of a rule's first case at its general shapes, in 64 bits."""


NUMBERS = (2, 3, 5, 4)
"""Numbers for the sizes at which a rule is called, in turn."""


def assigned_sizes(names: Iterable[str], numbers: Sequence[int] = NUMBERS) -> dict[str, int]:
    """Return a number for each name of a size: the `numbers` in turn, from the start again when they are used up."""
    return dict(zip(names, cycle(numbers), strict=False))


@dataclass(frozen=True)
class Examined:
    """What the first traces of a rule show."""

    without_gradient: tuple[str, ...] = ()
    """Float arrays for which the backward returns `None`."""
    only_compared: tuple[str, ...] = ()
    """The arrays without a gradient that the function only compares with numbers, as a mask: no gradient is lost."""
    reverse_only: bool = False
    """Whether the function calls one with a rule in reverse mode only."""
    outputs: int = 1
    """The number of float outputs."""
    integers: bool = False
    """Whether there are outputs of integers or booleans."""
    strange: str = ""
    """The dtype of an output that is no float, integer or boolean, of which claims cannot speak; "" without such."""
    complex_outputs: bool = False
    """Whether an output is complex."""
    sees_zeros: bool = False
    """Whether a rule that the function calls sees symbolic zeros."""
    traces: Traces | None = None
    """The traces of the rule that were made; None if only the function was traced."""


def examine(rule: UserRule) -> Examined:
    """Return what traces of the function and of its rule show about the outputs and about missing gradients.

    Of a function that does not trace only the missing gradients are looked for; the audit reports the error.

    Raises:
        SignatureError: the function returns other shapes than its signature says.
    """
    instance = replace(family(rule, rule.cases[0]).prove[0], shared=False)  # on symbols that no other trace has
    shapes = instance.shapes()
    try:
        arrays = shapes.structs()
        count = len(arrays)
        arrays += [jax.ShapeDtypeStruct((), "float32", weak_type=True)] * len(rule.params)
        is_complex: list[bool] = []

        def outputs(*xs: Any) -> list[Any]:
            returned = jax.tree_util.tree_leaves(rule.call(xs[:count], rule.choices[0], xs[count:]))
            is_complex[:] = map(jnp.iscomplexobj, returned)  # of a size it can be asked in a trace alone
            return real_parts(returned)

        forward = trace(outputs, arrays)
    except Exception:
        return Examined(without_gradient=_heard_at_numbers(rule))
    _check_outputs(rule, [tuple(v.aval.shape) for v in forward.jaxpr.outvars], instance)
    dtypes = [v.aval.dtype for v in forward.jaxpr.outvars]
    floats = sum(jnp.issubdtype(d, jnp.floating) for d in dtypes)
    are_whole = [jnp.issubdtype(d, jnp.integer) or jnp.issubdtype(d, jnp.bool_) for d in dtypes]
    strange = [str(d) for d, w in zip(dtypes, are_whole, strict=True) if not w and not jnp.issubdtype(d, jnp.floating)]
    if rule.ideal is not None:
        _check_ideal(rule, forward, lambda *xs: rule.call_ideal(xs[:count], rule.choices[0], xs[count:]), arrays)
    examined = Examined(
        outputs=floats,
        integers=any(are_whole),
        strange=strange[0] if strange else "",
        complex_outputs=any(is_complex),
        sees_zeros=sees_zeros(forward.jaxpr),
    )
    reverse = "custom_vjp_call" in primitives_of(forward.jaxpr) and rule.kind != "jax.custom_vjp"
    backward = backward_of(rule.custom)
    if backward is None:
        return replace(examined, reverse_only=reverse)
    traces = Traces(rule)
    with recorded(*backward) as cotangents:  # what the backward returns while the rule is traced
        trace_of_rule = traces.make(GENERAL)
    missing = _without_gradient(rule, cotangents) if isinstance(trace_of_rule, Trace) else ()
    names = [*rule.arg_names, *rule.params]
    cotangents.clear()  # the trace of the forward refers to the recorder of the backward, and so keeps this list alive
    compared = tuple(n for n in missing if not any(reaches_as_number(forward.jaxpr, [n == m for m in names])))
    return replace(examined, reverse_only=reverse, traces=traces, without_gradient=missing, only_compared=compared)


def _check_ideal(rule: UserRule, forward: Any, ideal: Callable[..., Any], arrays: list[Any]) -> None:
    """Raise UsageError or SignatureError unless the ideal function takes and returns what the function does.

    UsageError is raised if the ideal cannot be called with the function's arguments, SignatureError if it returns other
    shapes or kinds of dtypes.

    Args:
        rule: the rule that approximates the ideal.
        forward: the trace of the rule's function.
        ideal: the ideal as a function of arrays and open numbers.
        arrays: the arrays that `forward` was traced with.
    """
    name = f"{rule.derivative_of}, which {rule.name} ({rule.where}) approximates,"
    try:
        traced = trace(lambda *xs: real_parts(jax.tree_util.tree_leaves(ideal(*xs))), arrays)
    except Exception as error:
        raise UsageError(f"{name} cannot be called as that is: {type(error).__name__}: {error}") from None
    avals, expected_avals = ([v.aval for v in p.jaxpr.outvars] for p in (traced, forward))
    # Only kinds of dtypes are compared: a function may compute in 64 bits whatever it is given.
    kinds, expected_kinds = ([(a.shape, a.dtype.kind) for a in outs] for outs in (avals, expected_avals))
    if kinds != expected_kinds:
        shown, expected = (
            ", ".join(f"{a.dtype} ({' '.join(map(str, a.shape))})" for a in outs) for outs in (avals, expected_avals)
        )
        raise SignatureError(f"{name} returns {shown}, and not {expected} as that does.")


def apply_examination(rule: UserRule, found: Examined) -> Traces:
    """Set the rule's claims and cases by what `examine` found, and return traces of the rule.

    The traces that `examine` made are returned if the claims and cases stayed as they were, else new ones.
    """
    before = rule.kinds, rule.cases, rule.ideal
    if found.reverse_only:
        rule.claim(REVERSE_ONLY)
    if not rule.moving:  # there is no derivative to prove, only the value that the fwd returns
        rule.ideal = None
        rule.claim(VALUE_ONLY)
    rule.split(found.outputs, found.sees_zeros)
    rule.complex_outputs = found.complex_outputs
    unchanged = found.traces is not None and found.traces.op is rule and before == (rule.kinds, rule.cases, rule.ideal)
    return found.traces if unchanged and found.traces is not None else Traces(rule)


def _heard_at_numbers(rule: UserRule) -> tuple[str, ...]:
    """Return the arguments that get no gradient, by a trace of the rule at numbers for its sizes.

    It is called for rules that do not trace with open sizes. A rule without a backward of the author's has none.
    """
    backward = backward_of(rule.custom)
    if backward is None:
        return ()
    instance = family(rule, rule.cases[0]).prove[0]
    with recorded(*backward) as cotangents, suppress(Exception):
        arrays = instance.at(assigned_sizes(instance.names)).shapes().structs()
        count = len(arrays)

        def run(*xs: Any) -> Any:
            outs, pull = jax.vjp(lambda *xs: rule.call(xs[:count], rule.choices[0], xs[count:]), *xs)
            return pull(jax.tree.map(jnp.ones_like, outs))

        jax.eval_shape(run, *arrays, *[jax.ShapeDtypeStruct((), "float32")] * len(rule.params))
    return _without_gradient(rule, cotangents)


def _without_gradient(rule: UserRule, returned: list[Any]) -> tuple[str, ...]:
    """Return the arrays that the claim is about for which the backward returned None, in one of its calls.

    `returned` has what it returned at each call.
    """
    missing: set[str] = set()
    names = {a.name: a.made_of(a.leaves, lambda *parts: parts) for a in rule.arguments}
    for cotangents in returned:
        if rule.kind == "equinox.filter_custom_vjp":
            first = rule.arguments[0].name if rule.arguments else ""
            missing |= absent(cotangents, names.get(first))
            continue
        if not isinstance(cotangents, (tuple, list)):
            continue
        for name, cotangent in zip(rule.dynamic, cotangents, strict=False):
            if name in names:
                missing |= absent(cotangent, names[name])
    return tuple(n for n in rule.moving if n in missing)


def _check_outputs(rule: UserRule, found: list[tuple[Any, ...]], instance: Any) -> None:
    """Raise SignatureError if the shapes of the outputs, `found`, are other than the signature says.

    UsageError is raised if the signature names a size of an output that no argument has.
    """
    declared = rule.outputs_declared
    if declared is None:
        return
    table = symbols(instance.names)
    groups = {s: [table[n] for n in axes] for s, axes in instance.groups.items()}
    try:
        expected = [s.shape(table, groups) for s in declared]
    except KeyError as error:
        raise UsageError(f"The size {error} of an output of {rule.name} is unknown.") from None
    if len(found) != len(expected) or not all(map(_fit, found, expected)):
        shown, wanted = (", ".join(f"({' '.join(map(str, s))})" for s in shapes) for shapes in (found, expected))
        raise SignatureError(f"{rule.name} ({rule.where}) returns shapes {shown}, but its signature says {wanted}.")


def _fit(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Return whether a traced shape is the declared one, where JAX may write a declared size n as max(n, 0).

    A window of 3 over an axis of length l has l-2 places, or none where that is negative.
    """
    pairs = zip(map(str, found), map(str, expected), strict=False)
    return len(found) == len(expected) and all(traced in (size, f"max({size}, 0)") for traced, size in pairs)
