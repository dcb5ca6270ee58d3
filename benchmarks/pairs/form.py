"""The form of a pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax


@dataclass(frozen=True)
class Pair:
    """Two rules of one function, of which the second has a mistake.

    Attributes:
        phrase: the words of the issue that the pair stands for.
        make: returns the right and the wrong rule, and perhaps a function with the same derivative that JAX can
            differentiate by itself.
        signature: that of `certgrad.check`, as is `options`.
        sample: draws arguments in float64, at which the right rule is right.
        seam: arguments at which the wrong rule is wrong, if it is right elsewhere.
    """

    name: str
    phrase: str
    make: Callable[[], tuple[Any, ...]]
    signature: Any
    sample: Callable[[Any], tuple[Any, ...]]
    seam: Callable[[], tuple[Any, ...]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Pairs(list[Pair]):
    """The pairs of a class, each declared by `@pairs(phrase, signature, sample, …)` on what makes its rules."""

    def __call__(
        self, phrase: str, signature: Any, sample: Callable, seam: Callable | None = None, **options: Any
    ) -> Callable[[Callable], Callable]:
        def add(make: Callable) -> Callable:
            self.append(Pair(make.__name__, phrase, make, signature, sample, seam, options))
            return make

        return add


def vjp(function: Callable, fwd: Callable, bwd: Callable) -> Any:
    """`jax.custom_vjp` with its two rules."""
    rule = jax.custom_vjp(function)
    rule.defvjp(fwd, bwd)
    return rule


def vjps(function: Callable, fwd: Callable, right: Callable, wrong: Callable) -> tuple[Any, Any]:
    """Two rules in reverse mode that differ in their `bwd`."""
    return vjp(function, fwd, right), vjp(function, fwd, wrong)


def jvp(function: Callable, rule: Callable, **options: Any) -> Any:
    """`jax.custom_jvp` with its rule."""
    made = jax.custom_jvp(function)
    made.defjvp(rule, **options)
    return made


def jvps(function: Callable, right: Callable, wrong: Callable, **options: Any) -> tuple[Any, Any]:
    """Two rules in forward mode."""
    return jvp(function, right, **options), jvp(function, wrong, **options)


def reals(*shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Callable[[Any], tuple[Any, ...]]:
    """Draws arrays of these shapes between two numbers."""
    return lambda rng: tuple(rng.uniform(low, high, size=shape) for shape in shapes)
