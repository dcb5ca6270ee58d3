"""Short ways to write an attack in reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from .attack import Attack
from .example import custom


def reverse(function: Callable[..., Any], pull: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `pull(*arguments, g)` as its backward rule."""

    def bwd(arguments, g):
        found = pull(*arguments, g)
        return found if isinstance(found, tuple) else (found,)

    return custom(function, lambda *arguments: (function(*arguments), arguments), bwd)


def forward(function: Callable[..., Any], push: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `push(*arguments, *tangents)` as its forward rule."""
    rule = jax.custom_jvp(function)
    rule.defjvp(lambda primals, tangents: (function(*primals), push(*primals, *tangents)))
    return rule


def array(value: Any) -> Any:
    """A numpy array: real, or of integers or booleans where all entries are."""
    found = np.asarray(value)
    return found if found.dtype.kind in "ib" else found.astype(np.float64)


def pulled(
    name: str,
    kind: str,
    function: Callable[..., Any],
    pull: Callable[..., Any],
    signature: str,
    *at: Any,
    **more: Any,
) -> Attack:
    """The attack whose backward rule is `pull`."""
    values = tuple(array(v) for v in at)
    return Attack(name, kind, lambda: reverse(function, pull), function, signature, lambda: values, **more)


def sloped(
    name: str, kind: str, function: Callable[..., Any], slope: Callable[..., Any], at: Sequence[float], **more: Any
) -> Attack:
    """The attack on an elementwise function of one variable, whose rule multiplies by `slope(x)`."""
    return pulled(name, kind, function, lambda x, g: g * slope(x), "n -> n", np.array(at, dtype=float), **more)


def sloped2(
    name: str, kind: str, function: Callable[..., Any], slopes: Callable[..., Any], x: Any, y: Any, **more: Any
) -> Attack:
    """The attack on an elementwise function of two variables, whose rule multiplies by both `slopes(x, y)`."""

    def pull(x, y, g):
        a, b = slopes(x, y)
        return g * a, g * b

    return pulled(name, kind, function, pull, "n, n -> n", np.array(x, dtype=float), np.array(y, dtype=float), **more)
