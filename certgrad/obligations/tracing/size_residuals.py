"""Sizes among the residuals of a rule: `return table[ids], (table.shape[0], ids)`.

What a `fwd` hands to its `bwd` are leaves of a tree, and where the rule runs a size among them is a Python number
still: `jnp.zeros((size, d))` works. A symbolic dimension as a leaf would become a traced value, with which no array can
be made. So, while tracing, it travels in the structure of the tree instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import jax
from jax._src.export import shape_poly as _shape_poly

_DimExpr: Any = _shape_poly._DimExpr


@jax.tree_util.register_static
@dataclass(frozen=True, eq=False)
class _Size:
    """A dimension as a part of a tree's structure. Two are the same where they are one object: dimensions are compared
    by nobody but the code that is traced, as every comparison is recorded."""

    dimension: Any


def keeping_sizes(call: Callable[..., Any], here: Callable[[], bool]) -> Callable[..., Any]:
    """`custom_vjp.__call__` by which residuals that are dimensions stay dimensions, wherever `here()`."""

    def kept(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not here() or self.fwd is None or self.bwd is None:
            return call(self, *args, **kwargs)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.fwd, other.bwd = _packing(self.fwd), _unpacking(self.bwd)
        return call(other, *args, **kwargs)

    return kept


def _packing(fwd: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = fwd(*args, **kwargs)
        if not isinstance(found, tuple) or len(found) != 2:
            return found  # which JAX refuses, in its own words
        return found[0], jax.tree.map(lambda x: _Size(x) if type(x) is _DimExpr else x, found[1])

    return run


def _unpacking(bwd: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(bwd)
    def run(*args: Any) -> Any:
        *fixed, residuals, seeds = args
        plain = jax.tree.map(
            lambda x: x.dimension if isinstance(x, _Size) else x, residuals, is_leaf=lambda x: isinstance(x, _Size)
        )
        return bwd(*fixed, plain, seeds)

    return run
