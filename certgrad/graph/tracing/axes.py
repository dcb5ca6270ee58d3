"""Shapes whose axes can be unified: which axes of an operation's operands and results always have equal sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class NoFamilyError(Exception):
    """The error for an operation whose shapes cannot be generalised: its lemma is proved at the sizes that it has."""


class Axis:
    """An axis with its size at a node. Unified axes have the same size at every node of the family (union-find).

    `factors` are the axes whose sizes multiply to its own, if it is a product; a `fixed` axis stays a number.
    """

    __slots__ = ("factors", "fixed", "parent", "size")

    def __init__(self, size: Any, factors: Sequence[Axis] | None = None) -> None:
        self.size, self.fixed = size, _is_one(size)
        self.parent: Axis | None = None
        self.factors: list[Axis] | None = list(factors) if factors is not None else None

    def root(self) -> Axis:
        """Return the axis that stands for all those that are unified with this one."""
        axis = self
        while axis.parent is not None:
            axis = axis.parent
        return axis

    def fix(self) -> None:
        """Fix the axis, and the axes that it is a product of, at the numbers that they have at the node."""
        axis = self.root()
        axis.fixed = True
        for factor in axis.factors or ():
            factor.fix()


Shape = list[Axis]


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def unify(a: Axis, b: Axis) -> Axis:
    """Make two axes one, and return it. Raises NoFamilyError where their sizes at the node differ."""
    a, b = a.root(), b.root()
    if a is b:
        return a
    if a.size is not b.size and a.size != b.size:
        raise NoFamilyError
    if a.factors is not None and b.factors is not None:
        if len(a.factors) != len(b.factors):
            raise NoFamilyError
        for x, y in zip(a.factors, b.factors, strict=True):
            unify(x, y)
    b.parent = a
    a.factors = a.factors if a.factors is not None else b.factors
    if a.fixed or b.fixed:
        a.fix()
    return a


def unified(shapes: Sequence[Shape]) -> Shape:
    """Return the one shape of several that must be equal: their axes are unified. Raises NoFamilyError."""
    first = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(first):
            raise NoFamilyError
        first = [unify(x, y) for x, y in zip(first, shape, strict=True)]
    return first


class Sizes:
    """The sizes of axes in a family: a symbol for each axis that is neither fixed nor a product."""

    def __init__(self, name: Callable[[int], str], symbols: Callable[[Sequence[str]], Mapping[str, Any]]) -> None:
        self.name, self.symbols = name, symbols
        self.known: dict[int, Any] = {}
        self.chosen: list[Axis] = []

    def settle(self, shapes: Sequence[Shape]) -> dict[str, Any]:
        """Give every free axis of these shapes a symbol; return each symbol's value at the node."""
        for shape in shapes:
            for axis in shape:
                self._collect(axis.root())
        names = [self.name(k) for k in range(len(self.chosen))]
        table = self.symbols(names)
        for axis, name in zip(self.chosen, names, strict=True):
            self.known[id(axis)] = table[name]
        return {name: axis.size for axis, name in zip(self.chosen, names, strict=True)}

    def _collect(self, axis: Axis) -> None:
        """Note the free axes behind an axis, each once: a product is replaced by its factors."""
        if axis.factors is not None and not axis.fixed:
            for factor in axis.factors:
                self._collect(factor.root())
        elif not axis.fixed and id(axis) not in self.known:
            self.known[id(axis)] = None
            self.chosen.append(axis)

    def of(self, axis: Axis) -> Any:
        """Return the size of an axis in the family: a symbol, a product, or a number. Raises NoFamilyError."""
        axis = axis.root()
        if axis.fixed:
            if not isinstance(axis.size, int):
                raise NoFamilyError  # a fixed axis must be a number, and is symbolic at this node
            return axis.size
        if axis.factors is not None:
            product: Any = 1
            for factor in axis.factors:
                product = product * self.of(factor)
            return product
        if id(axis) not in self.known:
            raise NoFamilyError  # an axis of a result that no operand has
        return self.known[id(axis)]

    def shape(self, shape: Shape) -> tuple[Any, ...]:
        return tuple(self.of(axis) for axis in shape)
