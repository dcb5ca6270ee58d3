"""Shapes over labels: which axes of an operation's operands and results have equal sizes, whatever these are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class NoFamilyError(Exception):
    """The shapes of this operation cannot be generalised; its lemma is then proved at the sizes that it has."""


class Axis:
    """An axis with the size that it has at a node; unified axes have the same size at every node of the family."""

    __slots__ = ("factors", "fixed", "parent", "size")

    def __init__(self, size: Any, factors: Sequence[Axis] | None = None) -> None:
        self.size, self.fixed = size, _is_one(size)
        self.parent: Axis | None = None
        self.factors: list[Axis] | None = list(factors) if factors is not None else None

    def root(self) -> Axis:
        """The axis that stands for all that are unified with this one."""
        axis = self
        while axis.parent is not None:
            axis = axis.parent
        return axis

    def fix(self) -> None:
        """Fix the axis at the number that it has at the node."""
        axis = self.root()
        axis.fixed = True
        for factor in axis.factors or ():
            factor.fix()


Shape = list[Axis]


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def unify(a: Axis, b: Axis) -> Axis:
    """The two are the same axis. Raises NoFamilyError where their sizes differ."""
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
    """Return shapes that must be equal as one."""
    first = shapes[0]
    for other in shapes[1:]:
        if len(other) != len(first):
            raise NoFamilyError
        first = [unify(x, y) for x, y in zip(first, other, strict=True)]
    return first


class Sizes:
    """Chooses a symbol for each axis that is left free."""

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
        if axis.factors is not None and not axis.fixed:
            for factor in axis.factors:
                self._collect(factor.root())
        elif not axis.fixed and id(axis) not in self.known:
            self.known[id(axis)] = None
            self.chosen.append(axis)

    def of(self, axis: Axis) -> Any:
        """The size of an axis in the family: a symbol, a product of symbols, or a number."""
        axis = axis.root()
        if axis.fixed:
            if not isinstance(axis.size, int):
                raise NoFamilyError  # what must be a number is none at this node
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
