"""What an example is: a small program that runs one primitive, its arguments, and the parameters it is drawn with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Argument:
    """An input of a program. `dims` are names, or numbers; entries lie between `low` and `high`."""

    name: str
    dims: tuple[str, ...]
    kind: str = "float"
    low: float = -3
    high: float = 3

    def shape(self, sizes: Mapping[str, Any]) -> tuple[Any, ...]:
        """The shape with the names' sizes, which may be symbolic."""
        return tuple(int(d) if d.isdigit() else sizes[d] for d in self.dims)

    @property
    def names(self) -> list[str]:
        """The dimensions that are names."""
        return [d for d in self.dims if not d.isdigit()]


DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}


def real(name: str, dims: str, low: float = -3, high: float = 3) -> Argument:
    """An array of reals."""
    return Argument(name, tuple(dims.split()), "float", low, high)


def whole(name: str, dims: str, low: int = -3, high: int = 3) -> Argument:
    """An array of integers."""
    return Argument(name, tuple(dims.split()), "int", low, high)


def truth(name: str, dims: str) -> Argument:
    """An array of booleans."""
    return Argument(name, tuple(dims.split()), "bool", 0, 1)


@dataclass(frozen=True)
class Example:
    """One program of one primitive. `program(*arrays, **parameters)`; each parameter is drawn from its choices.

    `largest` bounds the drawn sizes and `smallest` says where they begin. `refused` says that the calculus may decline;
    if it does not, it must be right all the same. `derivative` is False where JAX or the calculus has none.
    """

    primitive: str
    program: Callable[..., Any]
    arguments: tuple[Argument, ...]
    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    name: str = ""
    smallest: int = 1
    largest: int = 3
    refused: bool = False
    derivative: bool = True

    @property
    def id(self) -> str:
        """The primitive, and what is special."""
        return f"{self.primitive}: {self.name}" if self.name else self.primitive

    @property
    def dims(self) -> list[str]:
        """The named dimensions, in order of appearance."""
        return list(dict.fromkeys(d for a in self.arguments for d in a.names))

    def first(self) -> dict[str, Any]:
        """The first choice of every parameter."""
        return {k: v[0] for k, v in self.choices.items()}


def example(primitive: str, program: Callable[..., Any], *arguments: Argument, **options: Any) -> Example:
    """An example; options that are no fields of `Example` are choices of parameters."""
    own = {k: options.pop(k) for k in list(options) if k in Example.__dataclass_fields__}
    return Example(primitive, program, arguments, choices=options, **own)
