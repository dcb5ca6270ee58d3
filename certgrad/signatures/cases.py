"""The forms of a function: a signature, with structural keyword arguments whose values may follow from the shapes.

A value that follows from the shapes is a position of axes, a number of axes or a size.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any

from jax import export

from certgrad.errors import SignatureError
from certgrad.signatures.signature import ArraySpec, Signature, parse
from certgrad.signatures.sizes import NoSizeError, Size, parse_axis


@dataclass(frozen=True)
class AxisOf:
    """The position of named dims in the first argument, or in the output, as the value of a keyword such as `axis`.

    For a star group, the value holds all its axes, any number of adjacent ones.
    """

    names: tuple[str, ...]
    output: bool = False

    def position(self, signature: Signature, ranks: Mapping[str, int]) -> int | tuple[int, ...]:
        """Return the axis when star groups have these ranks; a tuple of axes if several, or a star group, are named."""
        spec = self.array(signature)
        places = [spec.position(name, ranks) for name in self.names]
        axes = tuple(axis for place in places for axis in (place if isinstance(place, tuple) else (place,)))
        return axes[0] if len(axes) == 1 and not self.runs else axes

    @property
    def runs(self) -> bool:
        """Whether star groups are named, so that the value is a tuple of any number of axes."""
        return any(name.startswith("*") for name in self.names)

    def array(self, signature: Signature) -> ArraySpec:
        """Return the array whose axes are counted."""
        return (signature.outputs if self.output else signature.inputs)[0]

    def __str__(self) -> str:
        return f"position of {', '.join(self.names)}"


@dataclass(frozen=True)
class RankOf:
    """The number of axes of a star group, as the value of a keyword such as `batch`."""

    star: str

    def position(self, signature: Signature, ranks: Mapping[str, int]) -> int:
        """Return the number of axes when the star groups have these ranks."""
        return ranks[self.star]

    def __str__(self) -> str:
        return f"rank of *{self.star}"


@dataclass(frozen=True)
class SizeOf:
    """A size made of the signature's dims, as the value of a keyword such as `window` or `start`.

    Its proof holds for every value: the size is a symbol in it, like the lengths of axes.
    """

    dim: Size

    def evaluate(self, sizes: Mapping[str, Any]) -> Any:
        """Return the value when the dims have these sizes."""
        return self.dim.evaluate(sizes)

    def __str__(self) -> str:
        return str(self.dim)

    __repr__ = __str__


def axis_of(*names: str, output: bool = False) -> AxisOf:
    """Return the position of the named dims in the first argument: `case("*a n *c -> *a *c", axis=axis_of("n"))`.

    With `output`, it is their position in the output. `axis_of("*n")` stands for all axes of a star group.
    """
    return AxisOf(names, output)


def rank_of(star: str) -> RankOf:
    """Return the number of axes of a star group: `case("*i *k, *k *j -> *i *j", contracted=rank_of("k"))`."""
    return RankOf(star)


def size_of(text: str) -> SizeOf:
    """Return a size as the value of a keyword: `case("*a n *c -> *a r*n *c", reps=size_of("r"))`.

    Sizes are at least 1, so that a number that may be 0 is written `p-1`. Raises SignatureError for any other text.
    """
    with suppress(NoSizeError):
        if isinstance(dim := parse_axis(text), Size):
            return SizeOf(dim)
    raise SignatureError(f"size_of: '{text}' is no size; write a name, or sums and products of names and integers.")


def is_size(value: Any) -> bool:
    """Return whether the value is an integer (no boolean), or a symbolic dimension of a traced shape."""
    return export.is_symbolic_dim(value) or (isinstance(value, int) and not isinstance(value, bool))


def names_in(value: Any) -> tuple[str, ...]:
    """Return the names of dims in the sizes of a keyword's value; the value may be a nested tuple."""
    if isinstance(value, tuple):
        return tuple(name for part in value for name in names_in(part))
    return value.dim.names if isinstance(value, SizeOf) else ()


def at_sizes(value: Any, sizes: Mapping[str, Any]) -> Any:
    """Return the value of a keyword when dims have these sizes; the value may be a nested tuple."""
    if isinstance(value, tuple):
        return tuple(at_sizes(part, sizes) for part in value)
    return value.evaluate(sizes) if isinstance(value, SizeOf) else value


def resolved(value: Any, signature: Signature, ranks: Mapping[str, int], sizes: Mapping[str, Any]) -> Any:
    """Return the value of a keyword when star groups have these ranks and dims these sizes."""
    return value.position(signature, ranks) if isinstance(value, AxisOf | RankOf) else at_sizes(value, sizes)


@dataclass(frozen=True)
class Case:
    """A signature, and the values of structural keyword arguments (`statics`) for which it is the op's signature."""

    signature: Signature
    statics: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The named dims, including those that only keyword arguments mention."""
        return tuple(dict.fromkeys((*self.signature.names, *names_in(tuple(self.statics.values())))))

    def keywords(self, ranks: Mapping[str, int], sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the structural keyword arguments when the star groups have these ranks and the dims these sizes."""
        return {name: resolved(value, self.signature, ranks, sizes) for name, value in self.statics.items()}

    def __str__(self) -> str:
        return "  ".join([str(self.signature), *(f"{name}={value}" for name, value in self.statics.items())])


def case(signature: str, **statics: Any) -> Case:
    """Return one form of an op: its signature when the keyword arguments have these values."""
    return Case(parse(signature, names_in(tuple(statics.values()))), statics)


@dataclass(frozen=True)
class Shape:
    """Sizes of the named dims, the axes of each star group, and the shapes of the arguments that follow."""

    sizes: Mapping[str, int]
    groups: Mapping[str, tuple[int, ...]]
    inputs: tuple[tuple[int, ...], ...]

    @property
    def ranks(self) -> dict[str, int]:
        """The number of axes of each star group."""
        return {star: len(axes) for star, axes in self.groups.items()}

    @property
    def named(self) -> dict[str, int]:
        """The sizes by name, with that of a star group's only axis under `*name`; -1 if it has not exactly one axis."""
        return {**self.sizes, **{f"*{n}": axes[0] if len(axes) == 1 else -1 for n, axes in self.groups.items()}}

    @property
    def collapsed(self) -> dict[str, int]:
        """The sizes by name, with the number of entries of each star group as the size of one axis."""
        return {**self.sizes, **{star: prod(axes) for star, axes in self.groups.items()}}

    def __str__(self) -> str:
        return ", ".join("×".join(map(str, shape)) or "scalar" for shape in self.inputs)
