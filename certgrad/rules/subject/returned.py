"""The results of a rule's backward function, before JAX fills in zeros: `None` says that there is no gradient."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from threading import get_ident
from typing import Any

import jax

from certgrad.obligations.tracing.jax_internals import own_lines
from certgrad.process.threads import one_at_a_time


@one_at_a_time
def recorded(owner: Any, attribute: str) -> Iterator[list[Any]]:
    """Yield a list to which each call of the function in `owner.attribute` adds what it returns, in the context.

    Calls by other threads are not recorded.
    """
    original = getattr(owner, attribute)
    returned: list[Any] = []
    thread = get_ident()

    @wraps(original)  # a library may look at its arguments
    def recording(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if get_ident() == thread:
            returned.append(result)
        return result

    setattr(owner, attribute, recording)
    try:
        yield returned
    finally:
        setattr(owner, attribute, original)


@one_at_a_time
def with_own_lines(owner: Any, attribute: str) -> Iterator[None]:
    """Attribute what the function in `owner.attribute` computes to its own lines, when it is traced in the context."""
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
    """Return the names of the arrays of an argument whose cotangent, or that of a container around them, is None.

    `names` has the structure of the argument, with the name of each array in its place.
    """
    if cotangent is None:
        return set(jax.tree_util.tree_leaves(names))
    try:
        flags = jax.tree_util.tree_map(
            lambda c, part: jax.tree_util.tree_leaves(part) if c is None else [],
            cotangent,
            names,
            is_leaf=lambda c: c is None,
        )
    except (ValueError, TypeError):  # the cotangent has another structure: JAX raises where it is used
        return set()
    return set(jax.tree_util.tree_leaves(flags))
