"""Sizes among the residuals of a rule: `return table[ids], (table.shape[0], ids)`.

The residuals that a `fwd` hands to its `bwd` are leaves of a tree. Where the rule runs, a size among them is a Python
number still: `jnp.zeros((size, d))` works. While tracing, a symbolic dimension as a leaf would become a traced value,
with which no array can be made. So it is put into the structure of the tree instead.
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
    """A dimension as a part of a tree's structure.

    Two are equal only if they are one object: comparing their dimensions would be recorded as a question of the code.
    """

    dimension: Any


def keeping_sizes(call: Callable[..., Any], here: Callable[[], bool]) -> Callable[..., Any]:
    """Return a `custom_vjp.__call__` by which residuals that are dimensions stay dimensions, while `here()` holds."""

    def kept(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a copy of the function whose `fwd` packs dimensions, and whose `bwd` unpacks them."""
        if not here() or self.fwd is None or self.bwd is None:
            return call(self, *args, **kwargs)
        packing = object.__new__(type(self))
        packing.__dict__.update(self.__dict__)
        packing.fwd, packing.bwd = _packing(self.fwd), _unpacking(self.bwd)
        return call(packing, *args, **kwargs)

    return kept


def _packing(fwd: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `fwd` whose residuals have each dimension inside of the tree's structure."""

    @wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = fwd(*args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            return result  # JAX refuses this, in its own words
        return result[0], jax.tree.map(lambda x: _Size(x) if type(x) is _DimExpr else x, result[1])

    return run


def _unpacking(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `bwd` that takes the residuals of `_packing`, and hands the given one the dimensions as leaves."""

    @wraps(bwd)
    def run(*args: Any) -> Any:
        *fixed, residuals, seeds = args
        plain = jax.tree.map(
            lambda x: x.dimension if isinstance(x, _Size) else x, residuals, is_leaf=lambda x: isinstance(x, _Size)
        )
        return bwd(*fixed, plain, seeds)

    return run
