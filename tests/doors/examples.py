"""Examples: a rule of a module in a function of arrays, with a right twin and a wrong one.

A module of examples has the rules under names, the wrong twin's with `wrong_` before it, and lists them in `VARIANTS`:
first the one of the report, then variants of its kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

import certgrad

Function = Callable[..., Any]
NAME = "example"


def summed(rule: Function) -> Function:
    """A scalar function in which the rule is used."""
    return lambda *xs: jnp.sum(jnp.sin(rule(*xs)))


@dataclass(frozen=True)
class Variant:
    """A rule with a signature, and a scalar function of arrays in which it is used.

    `use` makes the function of any function in the rule's place; `plain` is the rule's own function, without the rule.
    `shapes` are those of the function's arguments, as `certgrad.trace` takes them; each argument is an array of floats.
    """

    rule: str
    signature: str
    plain: Function
    use: Function = summed
    shapes: tuple[str, ...] = ("x: n",)

    @property
    def name(self) -> str:
        return self.rule if self.use is summed else f"{self.rule}, {self.use.__name__}"


@dataclass(frozen=True)
class Example:
    """A variant of a module, with its right or its wrong rule."""

    module: ModuleType
    variant: Variant
    wrong: bool

    @property
    def rule(self) -> str:
        return "wrong_" * self.wrong + self.variant.rule

    @property
    def twin(self) -> Example:
        """The right one."""
        return Example(self.module, self.variant, False)

    @property
    def is_first(self) -> bool:
        """Of its kind: the example of the report."""
        return self.variant == self.module.VARIANTS[0]

    @property
    def custom(self) -> Any:
        return getattr(self.module, self.rule)

    @property
    def signature(self) -> str:
        return self.variant.signature

    @property
    def shapes(self) -> tuple[str, ...]:
        return self.variant.shapes

    @property
    def kind(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    @property
    def file(self) -> str:
        return str(self.module.__file__)

    @property
    def target(self) -> str:
        """The rule, as a target of the commands."""
        return f"{self.file}:{self.rule}"

    @property
    def function(self) -> Function:
        """The function in which the rule is used, with the names of its arguments."""
        return named(self.variant.use(self.custom), self.names)

    @property
    def right(self) -> Function:
        """The same, differentiated by JAX without the rule."""
        return named(self.variant.use(self.variant.plain), self.names)

    @property
    def names(self) -> list[str]:
        return [shape.partition(":")[0] for shape in self.shapes]

    @property
    def points(self) -> list[jax.Array]:
        """An array for each argument of the function; an axis with a name has length 3."""
        axes = [shape.partition(":")[2].split() for shape in self.shapes]
        shapes = [[int(axis) if axis.isdigit() else 3 for axis in names] for names in axes]
        return [jnp.linspace(0.5, 2.0 + k, prod(shape)).reshape(shape) for k, shape in enumerate(shapes)]

    @property
    def case(self) -> str:
        """The signature of the function."""
        return ", ".join(shape.partition(":")[2].strip() for shape in self.shapes) + " -> "


def named(function: Function, names: Sequence[str]) -> Function:
    """The function with these names of its arguments."""

    def run(*values: Any) -> Any:
        return function(*values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    run.__name__ = NAME
    return run


def twins(signature: str, function: Function, *backwards: Function) -> tuple[Any, ...]:
    """The function with each of these VJPs, of its arguments and the cotangent."""
    return tuple(ruled(signature, function, backward) for backward in backwards)


def ruled(signature: str, function: Function, backward: Function) -> Any:
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *xs: (function(*xs), xs), lambda xs, g: backward(*xs, g))
    return certgrad.declare(signature)(rule)
