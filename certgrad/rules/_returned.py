"""What a rule's backward function returns, before JAX fills in zeros: `None` says that there is no gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import wraps
from threading import get_ident
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_internals import own_lines
from certgrad.process.threads import one_at_a_time

from ._layers import backward_of
from ._traced import untraced
from ._user_rule import UserRule


@one_at_a_time
def recorded(owner: Any, attribute: str) -> Iterator[list[Any]]:
    """Collect what the function in `attribute` returns, each time that it is traced."""
    original = getattr(owner, attribute)
    returned: list[Any] = []
    thread = get_ident()

    @wraps(original)  # a library may look at its arguments
    def recording(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        if get_ident() == thread:
            returned.append(found)
        return found

    setattr(owner, attribute, recording)
    try:
        yield returned
    finally:
        setattr(owner, attribute, original)


@one_at_a_time
def with_own_lines(owner: Any, attribute: str) -> Iterator[None]:
    """Have what the function in `attribute` computes come from its own lines when it is traced."""
    original = getattr(owner, attribute)

    @wraps(original)
    def run(*args: Any, **kwargs: Any) -> Any:
        with own_lines():
            return original(*args, **kwargs)

    setattr(owner, attribute, run)
    try:
        yield
    finally:
        setattr(owner, attribute, original)


def absent(cotangent: Any, names: Any) -> set[str]:
    """The names, in a structure like the argument's, for which the cotangent is `None`, there or further up."""
    if cotangent is None:
        return set(jax.tree_util.tree_leaves(names))
    try:
        flags = jax.tree_util.tree_map(
            lambda c, part: jax.tree_util.tree_leaves(part) if c is None else [],
            cotangent,
            names,
            is_leaf=lambda c: c is None,
        )
    except (ValueError, TypeError):  # another structure than the argument's: JAX says so where it is used
        return set()
    return set(jax.tree_util.tree_leaves(flags))


def why_untraced(rule: UserRule) -> tuple[str, dict[str, Any]]:
    """Why the rule does not trace, and by argument what its backward returned; an empty text where it traces.

    An argument of which the rule returns the gradient is not of integers: JAX drops that one unseen, and a verdict
    would say nothing of it.
    """
    backward = backward_of(rule.custom)
    if backward is None:
        return untraced(Traces(rule)), {}
    with recorded(*backward) as returned:
        why = untraced(Traces(rule))
    if rule.kind == "equinox.filter_custom_vjp":  # that of its first argument
        listed, names = returned[:1], rule.dynamic[:1]
    else:
        listed, names = next((list(c) for c in returned if isinstance(c, (tuple, list))), []), rule.dynamic
    returned.clear()  # the trace of the forward holds what stood in the place of the backward, and so this list
    cotangents = dict(zip(names, listed, strict=True)) if len(listed) == len(names) else {}
    whole = [s.dtype in ("int", "bool") for s in rule.signature.inputs]
    for name, is_whole, one in zip(rule.arg_names, whole, of_leaves(rule, cotangents), strict=True):
        if not why and is_whole and any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in jax.tree.leaves(one)):
            why = f"it returns a gradient for {name}, which is not of integers then"
    return why, cotangents


def of_leaves(rule: UserRule, cotangents: Mapping[str, Any]) -> list[Any]:
    """Of each array of the arguments what the rule returns as its cotangent, or None."""
    return [one for a in rule.arguments for one in a.cotangents(cotangents.get(a.name))]


def array_of(cotangent: Any) -> Any:
    """A cotangent that is one array."""
    return cotangent if hasattr(cotangent, "shape") and hasattr(cotangent, "dtype") else None


def other_shape(names: Sequence[str], shapes: Sequence[Sequence[str]], cotangents: Sequence[Any]) -> str:
    """Which cotangent has another shape than its argument, in words."""
    for name, shape, cotangent in zip(names, shapes, cotangents, strict=False):
        if cotangent is not None and [*map(str, cotangent.shape)] != list(shape):
            found, wanted = (" ".join(map(str, one)) or "()" for one in (cotangent.shape, shape))
            return f"the cotangent of {name} has the shape {found}, and not {wanted}"
    return ""
