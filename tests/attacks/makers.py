"""Shapes of wrong rules that many attacks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .attack import Attack
from .example import custom

LATE = 150
"""Calls at which a rule with a state is right, before it is wrong."""


def square(x):
    return x * x


def asked_in_bwd(question: Callable[[Any], Any]) -> Callable[[], Callable[..., Any]]:
    """x², whose backward rule doubles the gradient where the question about x is answered with yes."""

    def bwd(x, g):
        return ((4 if question(x) else 2) * x * g,)

    return lambda: custom(square, lambda x: (x * x, x), bwd)


def asked_in_fwd(question: Callable[[Any], Any]) -> Callable[[], Callable[..., Any]]:
    """x², whose forward rule keeps twice the residual where the question about x is answered with yes."""

    def fwd(x):
        return x * x, (2 * x if question(x) else x)

    return lambda: custom(square, fwd, lambda x, g: (2 * x * g,))


def asked_in_jvp(question: Callable[[Any], Any]) -> Callable[[], Callable[..., Any]]:
    """x² in forward mode, whose tangent is doubled where the question about x is answered with yes."""

    def make():
        rule = jax.custom_jvp(lambda x: x * x)

        @rule.defjvp
        def _(primals, tangents):
            (x,), (t,) = primals, tangents
            return x * x, (4 if question(x) else 2) * x * t

        return rule

    return make


def saved(value: Callable[..., Any], bwd: Callable[[Any, Any], tuple[Any, ...]]) -> Callable[[], Callable[..., Any]]:
    """A rule that keeps its arguments: the one, or the tuple of them, is what `bwd` gets beside the cotangent."""

    def fwd(*args):
        return value(*args), args[0] if len(args) == 1 else args

    return lambda: custom(value, fwd, bwd)


def ones(*shape: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: (np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape),)


def about_sizes(
    kind: str, questions: dict[str, Callable[[Any], Any]], size: int = 4, where: str = "bwd"
) -> list[Attack]:
    """Attacks of one argument `n`, that are wrong at one size."""
    excluded = (f"not n = {size} (", f"n ≠ {size}")
    make = {"bwd": asked_in_bwd, "fwd": asked_in_fwd, "jvp": asked_in_jvp}[where]
    return [
        Attack(f"{name}_in_{where}", kind, make(question), square, "n -> n", ones(size), excluded_by=excluded)
        for name, question in questions.items()
    ]
